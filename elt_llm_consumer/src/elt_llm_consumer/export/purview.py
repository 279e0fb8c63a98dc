"""Microsoft Purview's classic glossary CSV ("Create, import, export, and manage glossary terms", Microsoft Learn)."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from elt_llm_consumer.evidence import JobResult, ReviewStatus
from elt_llm_consumer.export.csv import csv_bytes
from elt_llm_consumer.export.glossary_terms import GlossaryTerm, glossary_terms, names_by_title, parent_paths
from elt_llm_consumer.export.text import write_atomically

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
    """Write the terms, parents first, since a parent must exist before its terms.

    A term's name is its path joined by `_`, and lists are joined by `;`, so these characters are replaced in names.
    Related terms and synonyms are listed only if they are terms of the file; others appear in the definition.
    """
    terms = glossary_terms(result, _clean_name)
    names = names_by_title(terms, lambda term: _joined((*term.path, term.name)))
    lines = {
        parent: _line(_joined(parent), parent[-1], "Draft", parent=_joined(parent[:-1]))
        for parent in parent_paths(terms)
    }
    lines |= {(*term.path, term.name): _term(term, names) for term in terms}
    write_atomically(path, csv_bytes([COLUMNS, *lines.values()]))
    return [path]


def _term(term: GlossaryTerm, names: Mapping[str, str]) -> tuple[str, ...]:
    synonyms, other = _known_names(term.synonyms, names)
    related, _ = _known_names(term.related, names)
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


def _known_names(wanted: Iterable[str], names: Mapping[str, str]) -> tuple[list[str], list[str]]:
    listed = list(wanted)
    return (
        [names[one.casefold()] for one in listed if one.casefold() in names],
        [one for one in listed if one.casefold() not in names],
    )


def _joined(path: Iterable[str]) -> str:
    return "_".join(path)


def _clean_name(name: str) -> str:
    return name.replace("_", " ").replace(";", ",")


def _list(names: Iterable[str]) -> str:
    return ";".join(dict.fromkeys(names))
