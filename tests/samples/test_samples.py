"""The sample documents and questions are consistent: gold sentences are found, and page numbers are current."""

from __future__ import annotations

import importlib.util
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

import pypdfium2
import pytest
from elt_llm_core.text.stems import KeywordTokeniser
from markdown_it import MarkdownIt
from optional import needs
from selectolax.lexbor import LexborHTMLParser

SAMPLES = Path(__file__).parents[2] / "samples"
DOCUMENTS = SAMPLES / "documents"
HANDBOOK = DOCUMENTS / "handbook.pdf"
UNANSWERABLE = ("absent-entity", "absent-number", "absent-relation", "false-premise")
CONTENTS_PAGES = (2, 3, 4)


def fold(text: str) -> str:
    return " ".join(text.split())


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.fixture(scope="module")
def questions() -> list[dict[str, Any]]:
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def answerable(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [question for question in questions if question["kind"] == "answerable"]


@pytest.fixture(scope="module")
def pages() -> list[str]:
    document = pypdfium2.PdfDocument(HANDBOOK)
    try:
        return [page.get_textpage().get_text_range() for page in document]
    finally:
        document.close()


@pytest.fixture(scope="module")
def texts(pages: list[str]) -> dict[str, str]:
    found = {HANDBOOK.name: fold(" ".join(pages))}
    for path in sorted(DOCUMENTS.iterdir()):
        if path.suffix == ".html":
            body = LexborHTMLParser(path.read_text(encoding="utf-8")).body
            assert body is not None
            found[path.name] = fold(body.text(separator=" "))
        elif path.suffix != ".pdf":
            found[path.name] = fold(path.read_text(encoding="utf-8"))
    return found


def test_the_sample_handbook_has_thirty_to_sixty_pages_and_a_small_file_size(pages: list[str]) -> None:
    assert 30 <= len(pages) <= 60
    assert HANDBOOK.stat().st_size < 1_000_000


def test_every_sample_handbook_page_after_the_cover_has_a_running_header_and_its_number(pages: list[str]) -> None:
    for number, text in enumerate(pages[1:], start=2):
        assert text.startswith("Brackenshire Football Association"), number
        assert f"Handbook 2026/27 Page {number}" in fold(text)


def source_words_and_table_headings() -> tuple[list[str], set[str]]:
    """Return the words of the Markdown source in order, and the header row of each table as one normalised string."""
    source = (SAMPLES / "source" / "handbook.md").read_text(encoding="utf-8")
    found: list[str] = []
    headings: set[str] = set()
    row: list[str] = []
    in_heading = False
    for token in MarkdownIt("commonmark").enable("table").parse(source):
        if token.type == "thead_open":
            row, in_heading = [], True
        elif token.type == "thead_close":
            headings.add(" ".join(words(" ".join(row))))
            in_heading = False
        elif token.type == "inline":
            text = "".join(" " if child.type == "softbreak" else child.content for child in token.children or [])
            found.extend(words(text))
            row.extend([text] if in_heading else [])
    return found, headings


def body_words(pages: list[str], table_headings: set[str]) -> Iterator[str]:
    """Yield the words of the pages without tables of contents, page headers, footers and repeated table headings."""
    for number, text in enumerate(pages, start=1):
        if number in CONTENTS_PAGES:
            continue
        lines = text.splitlines()
        found = words(" ".join(lines if number == 1 else lines[1:-1]))
        repeated = [heading for heading in table_headings if found[: len(heading.split())] == heading.split()]
        yield from found[len(max(repeated, key=len).split()) :] if repeated else found


def test_the_sample_handbook_was_rendered_after_the_last_change_of_its_source(pages: list[str]) -> None:
    expected, table_headings = source_words_and_table_headings()
    found = list(body_words(pages, table_headings))
    first = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(expected, found, strict=False)))
    assert found == expected, f"source: {expected[first : first + 8]}, PDF: {found[first : first + 8]}; render anew"


def load_script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"samples_{name}", SAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name while the class is being made.
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_rendering_the_sample_handbook_twice_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    needs("fpdf")
    render = load_script("render", monkeypatch).render
    markdown = (
        "# Book\n\n---\n\n# Part\n\n## A1 Rule\n\n**A1.1** Text:\n\n- (a) one\n\n| A | B |\n|---|---|\n| 1 | 2 |\n"
    )
    assert render(markdown) == render(markdown)


def test_every_gold_sentence_is_on_the_page_that_its_question_names(
    answerable: list[dict[str, Any]], pages: list[str], texts: dict[str, str]
) -> None:
    for question in answerable:
        assert question["gold"], question["id"]
        for passage in question["gold"]:
            page = passage["page"]
            assert (page is None) == (passage["document"] != HANDBOOK.name), question["id"]
            text = texts[passage["document"]] if page is None else fold(pages[page - 1])
            assert fold(passage["sentence"]) in text, (question["id"], passage)


def test_the_samples_have_enough_questions_of_every_kind(questions: list[dict[str, Any]]) -> None:
    counts = Counter(question["kind"] for question in questions)
    assert set(counts) == {"answerable", *UNANSWERABLE}
    assert counts["answerable"] >= 66
    assert all(counts[kind] >= 6 for kind in UNANSWERABLE)
    assert sum(len(question["gold"]) > 1 for question in questions) >= 12


def test_sample_questions_differ_in_text_and_in_id(questions: list[dict[str, Any]]) -> None:
    assert len({question["id"] for question in questions}) == len(questions)
    assert len({question["question"].casefold() for question in questions}) == len(questions)


def test_only_answerable_sample_questions_have_an_answer(questions: list[dict[str, Any]]) -> None:
    for question in questions:
        assert (question["answer"] is not None) == (question["kind"] == "answerable"), question["id"]


def test_an_unanswerable_sample_question_names_a_subject_that_the_documents_mention(
    questions: list[dict[str, Any]], texts: dict[str, str]
) -> None:
    corpus = " ".join(texts.values()).casefold()
    for question in questions:
        if question["kind"] != "answerable":
            assert question["gold"] == [], question["id"]
            assert question["about"].casefold() in corpus, question["id"]
            assert question["about"].casefold() in question["question"].casefold(), question["id"]


def test_sample_questions_use_other_words_than_the_text_that_answers_them(answerable: list[dict[str, Any]]) -> None:
    tokeniser = KeywordTokeniser()
    shares: list[float] = []
    for question in answerable:
        asked = set(tokeniser.stems(question["question"]))
        gold = set(tokeniser.stems(" ".join(passage["sentence"] for passage in question["gold"])))
        shares.append(len(asked & gold) / len(asked))
    assert statistics.median(shares) <= 0.5


def test_the_script_that_corrects_gold_pages_does_not_change_correct_pages(
    answerable: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_script("gold_pages", monkeypatch)
    pages = {HANDBOOK.name: script.page_texts(HANDBOOK)}
    assert [script.repage(question, pages) for question in answerable] == answerable
