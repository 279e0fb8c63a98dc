"""DataHub's business glossary YAML (metadata-ingestion, business_glossary.yml)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elt_llm_consumer.evidence import JobResult
from elt_llm_consumer.export.glossary_terms import GlossaryTerm, glossary_terms, names_by_title
from elt_llm_consumer.export.text import write_atomically

_VERSION = "1"
_OWNER = "datahub"


def write_datahub(result: JobResult, path: Path, glossary: str) -> list[Path]:
    """Write one node with the glossary's name and its terms nested by path.

    References are dotted paths, so dots in names are removed.
    """
    import yaml

    terms = glossary_terms(result, _clean_name)
    places = names_by_title(terms, lambda term: dotted_path((glossary, *term.path, term.name)))
    tree = _GlossaryNode(glossary)
    for term in terms:
        tree.at(term.path).terms.append(_term(term, places))
    value = {
        "version": _VERSION,
        "source": "elt-llm",
        "owners": {"users": [_OWNER]},
        "nodes": [tree.to_yaml(result.description)],
    }
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)
    write_atomically(path, text.encode())
    return [path]


def dotted_path(path: tuple[str, ...]) -> str:
    """The dotted path by which DataHub refers to a term."""
    return ".".join(map(_clean_name, path))


def _clean_name(name: str) -> str:
    return name.replace(".", "")


class _GlossaryNode:
    """A mutable node of the glossary tree."""

    def __init__(self, name: str) -> None:
        self._name = _clean_name(name)
        self._nodes: dict[str, _GlossaryNode] = {}
        self.terms: list[dict[str, Any]] = []

    def at(self, path: tuple[str, ...]) -> "_GlossaryNode":
        node = self
        for part in path:
            node = node._nodes.setdefault(part, _GlossaryNode(part))
        return node

    def to_yaml(self, description: str = "") -> dict[str, Any]:
        value: dict[str, Any] = {"name": self._name, "description": description or self._name}
        if self._nodes:
            value["nodes"] = [node.to_yaml() for node in self._nodes.values()]
        if self.terms:
            value["terms"] = self.terms
        return value


def _term(term: GlossaryTerm, places: Mapping[str, str]) -> dict[str, Any]:
    related = [places[one.casefold()] for one in term.related if one.casefold() in places]
    properties = {
        "key": term.key,
        "verdict": term.verdict,
        "review_status": term.status,
        "reviewer": term.reviewer,
        "abbreviation": term.abbreviation,
        "synonyms": "; ".join(term.synonyms),
    }
    value: dict[str, Any] = {
        "name": term.name,
        "description": term.definition or "No definition was found.",
        "term_source": "INTERNAL",
        "source_ref": term.source.removeprefix("Source: "),
        "related_terms": related,
        "custom_properties": {name: text for name, text in properties.items() if text},
    }
    return {name: part for name, part in value.items() if part}
