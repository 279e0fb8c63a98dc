"""A result as the entries of a business glossary, as other tools import them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from elt_llm_consumer.export.texts import nameable, one_line, printable, shown, source_note
from elt_llm_consumer.rows import Cell, JobResult, ReviewStatus, Row, Table

_LONGEST_NAME = 200  # characters; the tools take 256, and a number may come behind it
_TABLES = ("terms", "entities")
_DEFINITIONS = ("definition", "formal_definition", "inventory_description", "description")


@dataclass(frozen=True)
class GlossaryTerm:
    """One entry. `path` are the names above it, outermost first; `name` is unique among those with the same path.

    `title` is the name as it is written, and need not be unique.

    `synonyms` and `related` are names as written in the documents; `disputed` if its definitions contradict each other.
    """

    key: str
    title: str
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


def glossary_terms(result: JobResult, fit: Callable[[str], str]) -> list[GlossaryTerm]:
    """The rows of the result's terms, or of its entities, in their order; none if it has neither.

    `fit` leaves out of a name what the tool cannot hold. Of two names that are the same then, in the same place, the
    second is numbered, for the tools keep one of a name.
    """
    taken: set[tuple[str, ...]] = set()
    return [
        _term(row, _unique(_path(row, fit), taken))
        for table in result.tables
        if table.name in _TABLES
        for row in _named(table)
    ]


def by_title(terms: list[GlossaryTerm], name_of: Callable[[GlossaryTerm], str]) -> Mapping[str, str]:
    """What a tool calls a term, by its title in small letters; of two of one title the first."""
    return {term.title.casefold(): name_of(term) for term in reversed(terms)}


def parents(terms: list[GlossaryTerm]) -> list[tuple[str, ...]]:
    """Every path that a term stands under, and those above it, outermost first, each once."""
    found: dict[tuple[str, ...], None] = {}
    for term in terms:
        for depth in range(1, len(term.path) + 1):
            found.setdefault(term.path[:depth])
    return list(found)


def _named(table: Table) -> Iterator[Row]:
    return (row for row in table.rows if _plain(row.name))


def _path(row: Row, fit: Callable[[str], str]) -> tuple[str, ...]:
    groups = [name for name in map(nameable, row.group) if name]
    return tuple(_fitted(name, fit) for name in (*groups, nameable(row.name)))


def _fitted(name: str, fit: Callable[[str], str]) -> str:
    """The name as `fit` leaves it; where nothing is left the tool still needs one."""
    fitted = nameable(fit(name)) or "Unnamed"
    return fitted if len(fitted) <= _LONGEST_NAME else f"{fitted[:_LONGEST_NAME].rstrip()}…"


def _unique(path: tuple[str, ...], taken: set[tuple[str, ...]]) -> tuple[str, ...]:
    numbered, number = path, 1
    while numbered in taken:
        number += 1
        numbered = (*path[:-1], f"{path[-1]} ({number})")
    taken.add(numbered)
    return numbered


def _term(row: Row, path: tuple[str, ...]) -> GlossaryTerm:
    cell = next((row.cells[name] for name in _DEFINITIONS if _has_value(row.cells.get(name))), None)
    return GlossaryTerm(
        key=row.key,
        title=_plain(row.name),
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
