"""OpenMetadata's glossary CSV, imported into a glossary that exists (glossaryCsvDocumentation.json)."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from elt_llm_consumer.export.atomic import write_whole
from elt_llm_consumer.export.csv import as_csv
from elt_llm_consumer.export.glossary_terms import GlossaryTerm, by_title, glossary_terms, parents
from elt_llm_consumer.rows import JobResult, ReviewStatus

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
_UNFIT = str.maketrans({'"': "'", ">": " ", "<": " ", ";": ",", ":": " "})


def write_openmetadata(result: JobResult, path: Path, glossary: str) -> list[Path]:
    """Write the terms for the glossary of that name, what they stand under before them."""
    terms = glossary_terms(result, _fit)
    names = by_title(terms, lambda term: qualified(glossary, (*term.path, term.name)))
    lines = {parent: _line(glossary, parent[:-1], parent[-1], status="Draft") for parent in parents(terms)}
    lines |= {(*term.path, term.name): _term(glossary, term, names) for term in terms}
    write_whole(path, as_csv([COLUMNS, *lines.values()]))
    return [path]


def qualified(glossary: str, path: Iterable[str]) -> str:
    """The fully qualified name: parts joined by dots, a part with a dot in quotes."""
    parts = [_fit(part) for part in (glossary, *path)]
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
        synonyms=";".join(dict.fromkeys(_fit(one) for one in synonyms)),
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
    parent = qualified(glossary, path) if path else ""
    return (parent, name, title or name, description, synonyms, related, "", "", "", "", status, "", "", "")


def _fit(name: str) -> str:
    """A name without the signs that names and lists there cannot hold."""
    return " ".join(name.translate(_UNFIT).split())
