"""The entries of a business glossary, for import by other tools."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from elt_llm_consumer.evidence import Cell, JobResult, ReviewStatus, Row, Table
from elt_llm_consumer.export.text import one_line, printable, safe_name, source_note, value_text

_MAX_NAME_LENGTH = 200  # characters; the tools allow 256, including an appended number
_TABLES = ("terms", "entities")
_DEFINITIONS = ("definition", "formal_definition", "inventory_description", "description")


@dataclass(frozen=True)
class GlossaryTerm:
    """One entry. `path` are its ancestors, outermost first; `name` is unique below it; `title` is the original name.

    `synonyms` and `related` are names from the documents; `disputed` means that its definitions contradict each other.
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
    """The terms, or else the entities, of the result in order; empty if it has neither.

    `fit` removes what the tool does not allow in names. A name that then repeats below its path gets a number.
    """
    taken: set[tuple[str, ...]] = set()
    return [
        _term(row, _unique(_path(row, fit), taken))
        for table in result.tables
        if table.name in _TABLES
        for row in _named_rows(table)
    ]


def names_by_title(terms: list[GlossaryTerm], name_of: Callable[[GlossaryTerm], str]) -> Mapping[str, str]:
    """Fitted names by lower-case title; the first of two equal titles wins."""
    return {term.title.casefold(): name_of(term) for term in reversed(terms)}


def parent_paths(terms: list[GlossaryTerm]) -> list[tuple[str, ...]]:
    """All distinct ancestor paths of the terms, outermost first."""
    found: dict[tuple[str, ...], None] = {}
    for term in terms:
        for depth in range(1, len(term.path) + 1):
            found.setdefault(term.path[:depth])
    return list(found)


def _named_rows(table: Table) -> Iterator[Row]:
    return (row for row in table.rows if _plain(row.name))


def _path(row: Row, fit: Callable[[str], str]) -> tuple[str, ...]:
    groups = [name for name in map(safe_name, row.group) if name]
    return tuple(_fitted_name(name, fit) for name in (*groups, safe_name(row.name)))


def _fitted_name(name: str, fit: Callable[[str], str]) -> str:
    """The fitted name, or a substitute if nothing remains."""
    fitted = safe_name(fit(name)) or "Unnamed"
    return fitted if len(fitted) <= _MAX_NAME_LENGTH else f"{fitted[:_MAX_NAME_LENGTH].rstrip()}…"


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
        definition=printable(value_text(cell.value, " / ")) if cell else "",
        source=printable(source_note(cell.evidence)) if cell else "",
        abbreviation=_plain(value_text(_value(row, "abbreviation"), "; ")),
        synonyms=_list_values(row, "synonyms"),
        related=_list_values(row, "see_also"),
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


def _list_values(row: Row, name: str) -> tuple[str, ...]:
    value = _value(row, name)
    found = value if isinstance(value, tuple) else () if value is None else (str(value),)
    return tuple(dict.fromkeys(filter(None, map(_plain, found))))


def _plain(text: str) -> str:
    return one_line(printable(text))
