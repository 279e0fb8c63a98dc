"""What was wrong with a file, counted and named."""

from elt_llm_ingest.readers.drawio_cells import listed


class Findings:
    """Problems in the order in which they were met first, each with the names it concerns."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def add(self, problem: str, name: str) -> None:
        """`problem` is a noun in the plural, such as "fact sheets without an id"; `name` says which."""
        self._found.setdefault(problem, []).append(name)

    @property
    def notes(self) -> tuple[str, ...]:
        """One line a problem: what, how often, and the first few names."""
        return tuple(f"{problem}: {len(names)} ({listed(names)})" for problem, names in self._found.items())
