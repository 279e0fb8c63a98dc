"""OpenMetadata's glossary CSV, imported into a glossary that exists (glossaryCsvDocumentation.json)."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from elt_llm_consumer.evidence import JobResult, ReviewStatus
from elt_llm_consumer.export.csv import csv_bytes
from elt_llm_consumer.export.glossary_terms import GlossaryTerm, glossary_terms, names_by_title, parent_paths
from elt_llm_consumer.export.text import write_atomically

COLUMNS = (
    "parent",
    "name*",
    "displayName",
    "description",
    "synonyms",
    "relatedTerms",
    "references",
    "tags",
    "reviewers",
    "owner",
    "glossaryStatus",
    "color",
    "iconURL",
    "extension",
)
_STATUS: Mapping[ReviewStatus, str] = {
    "PENDING": "Draft",
    "NEEDS_CLARIFICATION": "Draft",
    "APPROVED": "Approved",
    "REJECTED": "Deprecated",
}
_REPLACED_SIGNS = str.maketrans({'"': "'", ">": " ", "<": " ", ";": ",", ":": " "})


def write_openmetadata(result: JobResult, path: Path, glossary: str) -> list[Path]:
    """Write the terms for the glossary of this name, parents first."""
    terms = glossary_terms(result, _clean_name)
    names = names_by_title(terms, lambda term: qualified_name(glossary, (*term.path, term.name)))
    lines = {parent: _line(glossary, parent[:-1], parent[-1], status="Draft") for parent in parent_paths(terms)}
    lines |= {(*term.path, term.name): _term(glossary, term, names) for term in terms}
    write_atomically(path, csv_bytes([COLUMNS, *lines.values()]))
    return [path]


def qualified_name(glossary: str, path: Iterable[str]) -> str:
    """The fully qualified name: parts joined by dots, a part with a dot in quotes."""
    parts = [_clean_name(part) for part in (glossary, *path)]
    return ".".join(f'"{part}"' if "." in part else part for part in parts)


def _term(glossary: str, term: GlossaryTerm, names: Mapping[str, str]) -> tuple[str, ...]:
    known = [names[one.casefold()] for one in term.related if one.casefold() in names]
    synonyms = [*term.synonyms, *([term.abbreviation] if term.abbreviation else [])]
    return _line(
        glossary,
        term.path,
        term.name,
        status=_STATUS[term.status],
        title=term.title,
        description="\n\n".join(filter(None, (term.definition, term.source))),
        synonyms=";".join(dict.fromkeys(_clean_name(one) for one in synonyms)),
        related=";".join(dict.fromkeys(f"relatedTo:{one}" for one in known)),
    )


def _line(  # noqa: PLR0913 - the columns of the format
    glossary: str,
    path: tuple[str, ...],
    name: str,
    *,
    status: str,
    title: str = "",
    description: str = "",
    synonyms: str = "",
    related: str = "",
) -> tuple[str, ...]:
    parent = qualified_name(glossary, path) if path else ""
    return (parent, name, title or name, description, synonyms, related, "", "", "", "", status, "", "", "")


def _clean_name(name: str) -> str:
    """A name without characters that OpenMetadata does not allow in names and lists."""
    return " ".join(name.translate(_REPLACED_SIGNS).split())
