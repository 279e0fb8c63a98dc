"""Count the problems of a file, and list the names of the affected entities."""

from elt_llm_ingest.parsing.diagram import list_names


class FileProblems:
    """Collect the problems of a file in the order of first occurrence, each with the names of the affected entities."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def add(self, problem: str, name: str) -> None:
        """Add a problem, a plural noun such as "fact sheets without an id", and the name of the thing concerned."""
        self._found.setdefault(problem, []).append(name)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return one line per problem: the problem, its count and the first few names."""
        return tuple(f"{problem}: {len(names)} ({list_names(names)})" for problem, names in self._found.items())
