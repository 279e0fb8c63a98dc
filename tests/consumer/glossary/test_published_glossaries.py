"""Most definitions of published glossaries are found, every quote is verbatim, and larger gaps are reported."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from elt_llm_consumer.definitions.definition import Definition
from elt_llm_consumer.definitions.find import definitions_in_document, missed_entries
from elt_llm_consumer.glossary.terms import MergedTerm, merge_definitions
from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_core.text.outline import MARKED_TERMS_ARTEFACT, MarkedTerms, Outline
from elt_llm_ingest.parsing.document_reader import DocumentReader
from elt_llm_ingest.readers.html import HtmlReader
from elt_llm_ingest.readers.markdown import MarkdownReader
from elt_llm_ingest.readers.plain import PlainTextReader

TEXTS: tuple[tuple[str, str, type[DocumentReader]], ...] = (
    ("gsa-tts", "glossary.md", MarkdownReader),
    ("ai-act", "AI_Act.html", HtmlReader),
    ("ai-act", "EU_AI_Act.md", MarkdownReader),
    ("rfc4949", "rfc4949.txt", PlainTextReader),
)
# Definitions in this text that are missing from its gold file.
LEFT_OUT = {"ai-act": ("serious incident", "widespread infringement", "law enforcement authority")}


def _document(reader: type[DocumentReader], path: Path) -> CorpusDocument:
    read = reader().read(path)
    outline = Outline(read.pages, read.sections)
    marked = MarkedTerms.from_json(read.artefacts.get(MARKED_TERMS_ARTEFACT, {}), len(read.text))
    return CorpusDocument("texts", path.name, path.name, read.title, "hash", read.text, outline, marked)


def _folded(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _names(gold: str) -> set[str]:
    """Return the names of a gold term: "access list (ACL)" has itself, "access list" and "acl"."""
    parts = re.fullmatch(r"(.+?)\s*\(([^()]+)\)", gold)
    return {" ".join(_folded(name)) for name in (gold, *(parts.groups() if parts else ()))} - {""}


def _meanings(term: MergedTerm) -> list[set[str]]:
    defining: list[Definition] = [*term.definitions, *(one for one in term.short_forms if one.listed)]
    return [set(_folded(one.text)) for one in defining]


def _found_terms(gold: Mapping[str, str], terms: list[MergedTerm]) -> dict[str, list[MergedTerm]]:
    by_name: dict[str, list[MergedTerm]] = {}
    for term in terms:
        for form in term.forms:
            by_name.setdefault(" ".join(_folded(form)), []).append(term)
    return {name: [one for key in _names(name) for one in by_name.get(key, [])] for name in gold}


def _has_first_sentence(meaning: str, terms: list[MergedTerm]) -> bool:
    """Whether a term's definition has 80 % of the words of the first sentence of its gold definition."""
    meaning = re.sub(r"^\d+[a-z]?\.\s*|\([INOD]\)\s*|/[^/]{2,60}/", "", meaning)
    head = re.split(r"(?<=[.])\s+(?=[A-Z1-9])", re.split(r"\b(Tutorial|Usage|Example|See|Compare)\b", meaning)[0])[0]
    words = _folded(head)
    return any(sum(word in own for word in words) >= 0.8 * len(words) for term in terms for own in _meanings(term))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("folder", "name", "reader"), TEXTS)
def test_most_definitions_of_published_glossaries_are_found_with_verbatim_quotes(
    datasets: Path, folder: str, name: str, reader: type[DocumentReader]
) -> None:
    document = _document(reader, datasets / "glossaries" / folder / name)
    definitions = definitions_in_document(document)
    corpus = Corpus([document])
    assert all(corpus.holds(one.evidence) for one in definitions)
    gold = json.loads((datasets / "glossaries" / folder / "gold.json").read_text(encoding="utf-8"))
    terms = merge_definitions(definitions)
    found = _found_terms(gold, terms)
    rows = {term.key for term in terms if term.has_meaning}
    right = {term.key for one in found.values() for term in one} | set(LEFT_OUT.get(folder, ()))
    assert len(rows & right) >= 0.92 * len(rows)
    assert sum(map(bool, found.values())) >= 0.95 * len(gold)
    defined = [
        term for term, text in gold.items() if not re.match(r"(\d\.\s*)?(\([INOD]\)\s*)?(/[^/]+/\s*)?See\b", text)
    ]
    assert sum(_has_first_sentence(gold[term], found[term]) for term in defined) >= 0.9 * len(defined)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("folder", "name", "reader"), TEXTS)
def test_missed_entries_of_a_published_glossary_are_reported_if_only_abbreviations_are_read(
    datasets: Path, folder: str, name: str, reader: type[DocumentReader]
) -> None:
    document = _document(reader, datasets / "glossaries" / folder / name)
    section = GlossarySection(patterns=("abbreviation",))
    found = missed_entries(document, definitions_in_document(document, section), section)
    assert found
    assert len(found.missed) >= 0.8 * found.entries
