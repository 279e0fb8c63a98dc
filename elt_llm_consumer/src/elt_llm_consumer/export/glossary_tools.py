"""Write business glossaries for import by Microsoft Purview, OpenMetadata and DataHub."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from elt_llm_consumer.evidence import JobResult, ReviewStatus, Row
from elt_llm_consumer.export.csv import csv_bytes
from elt_llm_consumer.export.text import evidence_places, one_line, printable, safe_name, value_text, write_atomically

_MAX_NAME_LENGTH = 200  # maximum characters of a name; the tools allow 256, and a number may be appended
_TABLES = ("terms", "abbreviations", "entities")
_DEFINITIONS = ("definition", "formal_definition", "inventory_description", "description")


@dataclass(frozen=True)
class GlossaryTerm:
    """A glossary entry. `path` lists its ancestors' names, outermost first, then its own; `title` is the full name.

    `synonyms` and `related` are names from the documents. `stale_status` is that of a review of an earlier text.
    """

    key: str
    title: str
    path: tuple[str, ...]
    definition: str
    source: str
    abbreviation: str
    synonyms: tuple[str, ...]
    related: tuple[str, ...]
    status: ReviewStatus
    stale_status: str
    reviewer: str
    verdict: str


def _glossary_terms(result: JobResult, fit: Callable[[str], str]) -> list[GlossaryTerm]:
    """Return the terms, abbreviations and entities of the result as glossary entries, in order.

    `fit` removes characters that the tool does not allow in names. If two names with the same ancestors are then equal,
    the second gets a number.
    """
    taken: set[tuple[str, ...]] = set()
    terms = []
    for row in (row for table in result.tables if table.name in _TABLES for row in table.rows if _plain(row.name)):
        groups = [name for name in map(safe_name, row.group) if name]
        path = numbered = tuple(_fitted_name(name, fit) for name in (*groups, safe_name(row.name)))
        number = 1
        while numbered in taken:
            number += 1
            numbered = (*path[:-1], f"{path[-1]} ({number})")
        taken.add(numbered)
        terms.append(_term(row, numbered))
    return terms


def _names_by_title(terms: list[GlossaryTerm], name_of: Callable[[tuple[str, ...]], str]) -> Mapping[str, str]:
    """Map the lower-case title of each term to the name of the term in the tool, which `name_of` makes from its path.

    If two terms have equal titles, the first is used.
    """
    return {term.title.casefold(): name_of(term.path) for term in reversed(terms)}


def _parent_paths(terms: list[GlossaryTerm]) -> list[tuple[str, ...]]:
    """Return all distinct ancestor paths of the terms, outermost first."""
    return list(dict.fromkeys(term.path[:depth] for term in terms for depth in range(1, len(term.path))))


def _fitted_name(name: str, fit: Callable[[str], str]) -> str:
    fitted = safe_name(fit(name)) or "Unnamed"
    return fitted if len(fitted) <= _MAX_NAME_LENGTH else f"{fitted[:_MAX_NAME_LENGTH].rstrip()}…"


def _term(row: Row, path: tuple[str, ...]) -> GlossaryTerm:
    cell = next((cell for cell in map(row.cells.get, _DEFINITIONS) if cell and cell.verdict != "absent"), None)
    return GlossaryTerm(
        key=row.key,
        title=_plain(row.name),
        path=path,
        definition=printable(value_text(cell.value, " / ")) if cell else "",
        source=printable(evidence_places(cell)) if cell else "",
        abbreviation="; ".join(_list_values(row, "abbreviation")),
        synonyms=_list_values(row, "synonyms"),
        related=_list_values(row, "see_also"),
        status=row.review.current_status,
        stale_status=row.review.status if row.review.stale else "",
        reviewer=_plain(row.review.reviewer),
        verdict=cell.verdict if cell else "absent",
    )


def _list_values(row: Row, name: str) -> tuple[str, ...]:
    value = row.cells[name].value if name in row.cells else None
    found = value if isinstance(value, tuple) else () if value is None else (str(value),)
    return tuple(dict.fromkeys(filter(None, map(_plain, found))))


def _plain(text: str) -> str:
    return one_line(printable(text))


# The columns are documented in "Create, import, export, and manage glossary terms" on Microsoft Learn.
_PURVIEW_HEADER = (
    "Name,Nick Name,Status,Definition,Acronym,Resources,Related Terms,Synonyms,Stewards,Experts,Parent Term Name"
)
_PURVIEW_STATUS: Mapping[ReviewStatus, str] = {
    "PENDING": "Draft",
    "NEEDS_CLARIFICATION": "Alert",
    "APPROVED": "Approved",
    "REJECTED": "Expired",
}


def write_purview(result: JobResult, path: Path) -> list[Path]:
    """Write the terms as a glossary CSV for Microsoft Purview, whose import needs parents before their terms.

    A term's name is its path joined by `_`, and lists are joined by `;`, so these characters are replaced in names.
    Related terms and synonyms are listed only if they are terms of the file. Other synonyms appear in the definition.
    """
    terms = _glossary_terms(result, lambda name: name.replace("_", " ").replace(";", ","))
    names = _names_by_title(terms, "_".join)
    return _write_terms(path, _PURVIEW_HEADER, terms, _purview_parent, lambda term: _purview_term(term, names))


def _purview_parent(path: tuple[str, ...]) -> dict[str, str]:
    parent = "_".join(path[:-1])
    return {"Name": "_".join(path), "Nick Name": path[-1], "Status": "Draft", "Parent Term Name": parent}


def _purview_term(term: GlossaryTerm, names: Mapping[str, str]) -> dict[str, str]:
    other = [one for one in term.synonyms if one.casefold() not in names]
    texts = [
        term.definition,
        f"Also: {', '.join(other)}." if other else "",
        f"Source: {term.source}." if term.source else "",
    ]
    disputed = term.verdict == "conflict" and term.status == "PENDING"
    return _purview_parent(term.path) | {
        "Status": "Alert" if disputed else _PURVIEW_STATUS[term.status],
        "Definition": "\n".join(filter(None, texts)),
        "Acronym": term.abbreviation,
        "Related Terms": _joined(_known_names(term.related, names)),
        "Synonyms": _joined(_known_names(term.synonyms, names)),
    }


# The columns are documented in OpenMetadata's glossaryCsvDocumentation.json.
_OPENMETADATA_HEADER = (
    "parent,name*,displayName,description,synonyms,relatedTerms,references,tags,reviewers,owner,glossaryStatus,color,"
    "iconURL,extension"
)
_OPENMETADATA_STATUS: Mapping[ReviewStatus, str] = {
    "PENDING": "Draft",
    "NEEDS_CLARIFICATION": "Draft",
    "APPROVED": "Approved",
    "REJECTED": "Deprecated",
}
_REPLACED_SIGNS = str.maketrans({'"': "'", ">": " ", "<": " ", ";": ",", ":": " "})


def write_openmetadata(result: JobResult, path: Path, glossary: str) -> list[Path]:
    """Write the terms as a glossary CSV for OpenMetadata, parents first. On import, the glossary must already exist."""
    terms = _glossary_terms(result, _openmetadata_name)
    names = _names_by_title(terms, partial(qualified_name, glossary))
    parent_line = partial(_openmetadata_parent, glossary)
    return _write_terms(
        path, _OPENMETADATA_HEADER, terms, parent_line, lambda term: _openmetadata_term(glossary, term, names)
    )


def qualified_name(glossary: str, path: Iterable[str]) -> str:
    """Return the fully qualified name: the parts joined by dots. A part that contains a dot is in quotation marks."""
    parts = [_openmetadata_name(part) for part in (glossary, *path)]
    return ".".join(f'"{part}"' if "." in part else part for part in parts)


def _openmetadata_parent(glossary: str, path: tuple[str, ...]) -> dict[str, str]:
    parent = qualified_name(glossary, path[:-1]) if len(path) > 1 else ""
    return {"parent": parent, "name*": path[-1], "displayName": path[-1], "glossaryStatus": "Draft"}


def _openmetadata_term(glossary: str, term: GlossaryTerm, names: Mapping[str, str]) -> dict[str, str]:
    synonyms = map(_openmetadata_name, filter(None, (*term.synonyms, term.abbreviation)))
    source = f"Source: {term.source}" if term.source else ""
    return _openmetadata_parent(glossary, term.path) | {
        "displayName": term.title,
        "description": "\n\n".join(filter(None, (term.definition, source))),
        "synonyms": _joined(synonyms),
        "relatedTerms": _joined(f"relatedTo:{one}" for one in _known_names(term.related, names)),
        "glossaryStatus": _OPENMETADATA_STATUS[term.status],
    }


def _openmetadata_name(name: str) -> str:
    return " ".join(name.translate(_REPLACED_SIGNS).split())


def write_datahub(result: JobResult, path: Path, glossary: str) -> list[Path]:
    """Write DataHub's business glossary YAML: a root node named `glossary`, in which the terms are nested by path.

    References are dotted paths, so dots in names are removed.
    """
    import yaml

    terms = _glossary_terms(result, _datahub_name)
    root = _datahub_name(glossary)
    places = _names_by_title(terms, lambda path: ".".join((root, *path)))
    nodes: dict[tuple[str, ...], dict[str, Any]] = {(): {"name": root, "description": result.description or root}}
    for parent in _parent_paths(terms):
        nodes[parent] = {"name": parent[-1], "description": parent[-1]}
        nodes[parent[:-1]].setdefault("nodes", []).append(nodes[parent])
    for term in terms:
        nodes[term.path[:-1]].setdefault("terms", []).append(_datahub_term(term, places))
    value = {"version": "1", "source": "elt-llm", "owners": {"users": ["datahub"]}, "nodes": [nodes[()]]}
    write_atomically(path, yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120).encode())
    return [path]


def _datahub_name(name: str) -> str:
    return name.replace(".", "")


def _datahub_term(term: GlossaryTerm, places: Mapping[str, str]) -> dict[str, Any]:
    properties = {
        "key": term.key,
        "verdict": term.verdict,
        "review_status": term.status,
        "stale_review_status": term.stale_status,
        "reviewer": term.reviewer,
        "abbreviation": term.abbreviation,
        "synonyms": "; ".join(term.synonyms),
    }
    value: dict[str, Any] = {
        "name": term.path[-1],
        "description": term.definition or "No definition was found.",
        "term_source": "INTERNAL",
        "source_ref": term.source,
        "related_terms": _known_names(term.related, places),
        "custom_properties": {name: text for name, text in properties.items() if text},
    }
    return {name: part for name, part in value.items() if part}


def _known_names(wanted: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return [names[one.casefold()] for one in wanted if one.casefold() in names]


def _joined(names: Iterable[str]) -> str:
    return ";".join(dict.fromkeys(names))


def _write_terms(
    path: Path,
    header: str,
    terms: list[GlossaryTerm],
    parent_line: Callable[[tuple[str, ...]], Mapping[str, str]],
    term_line: Callable[[GlossaryTerm], Mapping[str, str]],
) -> list[Path]:
    """Write a CSV file with one line for each parent, then one for each term. A term may itself be a parent."""
    lines = {parent: parent_line(parent) for parent in _parent_paths(terms)}
    lines |= {term.path: term_line(term) for term in terms}
    columns = tuple(header.split(","))
    rows = (tuple(line.get(name, "") for name in columns) for line in lines.values())
    write_atomically(path, csv_bytes([columns, *rows]))
    return [path]
