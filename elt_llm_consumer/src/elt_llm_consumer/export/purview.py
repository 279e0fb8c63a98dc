"""Microsoft Purview's classic glossary CSV ("Create, import, export, and manage glossary terms", Microsoft Learn)."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from elt_llm_consumer.export.atomic import write_whole
from elt_llm_consumer.export.csv import as_csv
from elt_llm_consumer.export.glossary_terms import GlossaryTerm, by_title, glossary_terms, parents
from elt_llm_consumer.rows import JobResult, ReviewStatus

COLUMNS = (
    "Name",
    "Nick Name",
    "Status",
    "Definition",
    "Acronym",
    "Resources",
    "Related Terms",
    "Synonyms",
    "Stewards",
    "Experts",
    "Parent Term Name",
)
_STATUS: Mapping[ReviewStatus, str] = {
    "PENDING": "Draft",
    "NEEDS_CLARIFICATION": "Alert",
    "APPROVED": "Approved",
    "REJECTED": "Expired",
}


def write_purview(result: JobResult, path: Path) -> list[Path]:
    """Write the terms with what they stand under before them, for a parent must be there when its terms arrive.

    A term's name is its whole path joined by `_` and lists are joined by `;`, so these signs in a name become others;
    related terms and synonyms are named only where they are terms of the same file, others are told in the definition.
    """
    terms = glossary_terms(result, _fit)
    names = by_title(terms, lambda term: _joined((*term.path, term.name)))
    lines = {
        parent: _line(_joined(parent), parent[-1], "Draft", parent=_joined(parent[:-1])) for parent in parents(terms)
    }
    lines |= {(*term.path, term.name): _term(term, names) for term in terms}
    write_whole(path, as_csv([COLUMNS, *lines.values()]))
    return [path]


def _term(term: GlossaryTerm, names: Mapping[str, str]) -> tuple[str, ...]:
    synonyms, other = _known(term.synonyms, names)
    related, _ = _known(term.related, names)
    status = "Alert" if term.disputed and term.status == "PENDING" else _STATUS[term.status]
    told = [term.definition, f"Also: {', '.join(other)}." if other else "", f"{term.source}." if term.source else ""]
    return _line(
        _joined((*term.path, term.name)),
        term.name,
        status,
        definition="\n".join(filter(None, told)),
        acronym=term.abbreviation,
        related=_list(related),
        synonyms=_list(synonyms),
        parent=_joined(term.path),
    )


def _line(  # noqa: PLR0913 - the columns of the format
    name: str,
    nick: str,
    status: str,
    *,
    definition: str = "",
    acronym: str = "",
    related: str = "",
    synonyms: str = "",
    parent: str = "",
) -> tuple[str, ...]:
    return (name, nick, status, definition, acronym, "", related, synonyms, "", "", parent)


def _known(wanted: Iterable[str], names: Mapping[str, str]) -> tuple[list[str], list[str]]:
    listed = list(wanted)
    return (
        [names[one.casefold()] for one in listed if one.casefold() in names],
        [one for one in listed if one.casefold() not in names],
    )


def _joined(path: Iterable[str]) -> str:
    return "_".join(path)


def _fit(name: str) -> str:
    return name.replace("_", " ").replace(";", ",")


def _list(names: Iterable[str]) -> str:
    return ";".join(dict.fromkeys(names))
