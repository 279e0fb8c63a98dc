"""What was wrong with a file, counted and named."""

from elt_llm_ingest.readers.drawio_cells import listed


class Findings:
    """Problems in the order in which they were met first, each with the names it concerns."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def add(self, problem: str, name: str) -> None:
        """`problem` reads after a count, as in "3 fact sheets have no id"; `name` says which."""
        self._found.setdefault(problem, []).append(name)

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence a problem: how often, what, and the first few names."""
        return tuple(f"{len(names)} {problem}: {listed(names)}" for problem, names in self._found.items())
