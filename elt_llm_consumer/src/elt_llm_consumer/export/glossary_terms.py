"""A result as the entries of a business glossary, as other tools import them."""

from collections.abc import Iterator
from dataclasses import dataclass

from elt_llm_consumer.export.texts import one_line, printable, shown, source_note
from elt_llm_consumer.rows import Cell, JobResult, ReviewStatus, Row, Table

_TABLES = ("terms", "entities")
_DEFINITIONS = ("definition", "formal_definition", "inventory_description", "description")


@dataclass(frozen=True)
class GlossaryTerm:
    """One entry. `path` are the names above it, outermost first; `name` is unique among those with the same path.

    `synonyms` and `related` are names as written in the documents; `disputed` if its definitions contradict each other.
    """

    key: str
    name: str
    path: tuple[str, ...]
    definition: str
    source: str
    abbreviation: str
    synonyms: tuple[str, ...]
    related: tuple[str, ...]
    status: ReviewStatus
    disputed: bool
    reviewer: str
    verdict: str


def glossary_terms(result: JobResult) -> list[GlossaryTerm]:
    """The rows of the result's terms, or of its entities, in their order; none if it has neither.

    Of two with the same name in the same place the second is numbered, for the tools keep one of a name.
    """
    taken: dict[tuple[str, ...], int] = {}
    return [
        _term(row, _unique((*map(_plain, row.group), _plain(row.name)), taken))
        for table in result.tables
        if table.name in _TABLES
        for row in _named(table)
    ]


def parents(terms: list[GlossaryTerm]) -> list[tuple[str, ...]]:
    """Every path that a term stands under, and those above it, outermost first, each once."""
    found: dict[tuple[str, ...], None] = {}
    for term in terms:
        for depth in range(1, len(term.path) + 1):
            found.setdefault(term.path[:depth])
    return list(found)


def _named(table: Table) -> Iterator[Row]:
    return (row for row in table.rows if _plain(row.name))


def _unique(path: tuple[str, ...], taken: dict[tuple[str, ...], int]) -> tuple[str, ...]:
    path = tuple(part for part in path if part)
    taken[path] = taken.get(path, 0) + 1
    return path if taken[path] == 1 else (*path[:-1], f"{path[-1]} ({taken[path]})")


def _term(row: Row, path: tuple[str, ...]) -> GlossaryTerm:
    cell = next((row.cells[name] for name in _DEFINITIONS if _has_value(row.cells.get(name))), None)
    return GlossaryTerm(
        key=row.key,
        name=path[-1],
        path=path[:-1],
        definition=printable(shown(cell.value, " / ")) if cell else "",
        source=printable(source_note(cell.evidence)) if cell else "",
        abbreviation=_plain(shown(_value(row, "abbreviation"), "; ")),
        synonyms=_listed(row, "synonyms"),
        related=_listed(row, "see_also"),
        status=row.review.status,
        disputed=cell is not None and cell.verdict == "conflict",
        reviewer=_plain(row.review.reviewer),
        verdict=cell.verdict if cell else "absent",
    )


def _has_value(cell: Cell | None) -> bool:
    return cell is not None and cell.verdict != "absent"


def _value(row: Row, name: str) -> str | int | float | tuple[str, ...] | None:
    cell = row.cells.get(name)
    return cell.value if cell else None


def _listed(row: Row, name: str) -> tuple[str, ...]:
    value = _value(row, name)
    found = value if isinstance(value, tuple) else () if value is None else (str(value),)
    return tuple(dict.fromkeys(filter(None, map(_plain, found))))


def _plain(text: str) -> str:
    return one_line(printable(text))
