"""The documents for batch jobs match their gold files: gold texts are on the given pages, all patterns occur."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
import yaml
from optional import needs
from selectolax.lexbor import LexborHTMLParser

SAMPLES = Path(__file__).parents[2] / "samples"
JOBS = SAMPLES / "jobs"
GOLD = JOBS / "gold"
PATTERNS = (
    *("table", "means", "defined_as", "shall_have_meaning", "in_these", "glossary_list", "bold", "abbreviation"),
    *("cross_reference", "nested", "variant", "conflict"),
)


def read_gold(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLD / name).read_text(encoding="utf-8").splitlines()]


def folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text)).casefold()


def pages_of(path: Path) -> dict[int | None, str]:
    """The text by page number, in lower case without punctuation; the key None has the whole text of the file."""
    if path.suffix == ".pdf":
        document = pypdfium2.PdfDocument(path)
        try:
            texts = [folded(page.get_textpage().get_text_range()) for page in document]
        finally:
            document.close()
        return {None: " ".join(texts), **dict(enumerate(texts, start=1))}
    if path.suffix == ".docx":
        xml = zipfile.ZipFile(path).read("word/document.xml").decode("utf-8").replace("</w:p>", " ")
        return {None: folded(LexborHTMLParser(xml).text())}
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        body = LexborHTMLParser(text).body
        assert body is not None
        return {None: folded(body.text(separator=" "))}
    return {None: folded(text)}


@pytest.fixture(scope="module")
def pages() -> dict[str, dict[int | None, str]]:
    files = [*(SAMPLES / "documents").iterdir(), *(JOBS / "documents").iterdir()]
    return {path.name: pages_of(path) for path in sorted(files)}


def without_numbers(text: str) -> str:
    """The text in lower case without list numbers, since the source of a web page does not contain them."""
    return " ".join(word for word in folded(text).split() if not re.fullmatch(r"\d|[abc]", word))


def stands(text: str, document: str, page: int | None, pages: dict[str, dict[int | None, str]]) -> bool:
    whole = pages[document].get(page)
    return whole is not None and f" {without_numbers(text)} " in f" {without_numbers(whole)} "


def test_every_gold_definition_is_on_the_page_that_it_names(pages: dict[str, dict[int | None, str]]) -> None:
    for gold in read_gold("glossary.jsonl"):
        assert (gold["page"] is not None) == gold["document"].endswith(".pdf"), gold
        assert stands(gold["definition"], gold["document"], gold["page"], pages), gold


def test_every_distractor_in_the_gold_file_is_on_the_page_that_it_names_and_is_not_a_definition(
    pages: dict[str, dict[int | None, str]],
) -> None:
    distractors = read_gold("glossary_distractors.jsonl")
    definitions = [(one["document"], folded(one["definition"])) for one in read_gold("glossary.jsonl")]
    assert len(distractors) >= 30
    for gold in distractors:
        assert stands(gold["sentence"], gold["document"], gold["page"], pages), gold
        sentence = folded(gold["sentence"])
        assert not any(text in sentence and len(text) > 40 for name, text in definitions if name == gold["document"])


def test_each_definition_pattern_occurs_at_least_five_times_in_the_samples() -> None:
    required = [gold for gold in read_gold("glossary.jsonl") if not gold["optional"]]
    counts = Counter(pattern for gold in required for pattern in (gold["pattern"], *gold["also"]))
    assert {pattern: counts[pattern] for pattern in PATTERNS if counts[pattern] < 5} == {}


def test_each_contradictory_or_differently_worded_definition_is_in_two_sample_documents() -> None:
    places: dict[tuple[str, str], set[str]] = defaultdict(set)
    for gold in read_gold("glossary.jsonl"):
        for kind in {"conflict", "variant"} & set(gold["also"]):
            places[kind, gold["term"]].add(gold["document"])
        assert gold["conflict"] == ("conflict" in gold["also"])
    assert all(len(documents) == 2 for documents in places.values()), places
    assert sum(kind == "conflict" for kind, _ in places) >= 5


def test_every_data_object_of_the_sample_model_is_matched_exactly_once_in_the_gold_file() -> None:
    model = json.loads((SAMPLES / "enterprise" / "expected_model.json").read_text(encoding="utf-8"))
    drawn = sorted(entity["name"] for entity in model["entities"] if entity["type"] == "DataObject")
    matched = read_gold("entities.jsonl")
    assert sorted(one["entity"] for one in matched if one["entity"]) == drawn
    assert sorted(one["name"] for one in read_gold("gaps.jsonl") if one["gap"] != "HANDBOOK_ONLY") == drawn
    terms = {gold["term"] for gold in read_gold("glossary.jsonl")}
    assert {one["term"] for one in matched if one["term"]} <= terms
    assert len({one["term"] for one in matched if one["term"]}) == sum(one["term"] is not None for one in matched)


def test_sample_names_that_can_be_joined_only_by_an_alias_are_in_the_alias_file() -> None:
    aliases = yaml.safe_load((JOBS / "aliases.yaml").read_text(encoding="utf-8"))["aliases"]
    by_alias = {one["entity"]: [one["term"]] for one in read_gold("entities.jsonl") if one["term_join"] == "alias"}
    assert by_alias == aliases


def test_the_gold_file_has_eight_fields_with_correct_locations_for_twenty_entities(
    pages: dict[str, dict[int | None, str]],
) -> None:
    fields = read_gold("fields.jsonl")
    assert Counter(Counter(one["entity"] for one in fields).values()) == {8: 20}
    assert sum(one["verdict"] != "either" for one in fields) >= 120
    for one in fields:
        assert bool(one["any_of"]) == (one["verdict"] == "found"), one
        for words in one["any_of"]:
            for place in words["places"]:
                inventory = place["document"] == "inventory.xlsx"
                assert inventory or stands(words["words"], place["document"], place["page"], pages), (one, words)


def test_the_gold_file_has_an_expected_coverage_class_for_at_least_forty_sample_entities() -> None:
    classes = {one["entity"]: one["coverage"] for one in read_gold("coverage.jsonl")}
    assert len(classes) >= 40
    assert set(classes.values()) == {"STRONG", "MODERATE", "THIN", "ABSENT"}
    gaps = {one["name"]: one["gap"] for one in read_gold("gaps.jsonl")}
    for entity, coverage in classes.items():
        assert gaps[entity] == ("MODEL_ONLY" if coverage == "ABSENT" else "MATCHED"), entity


def test_the_sample_documents_equal_the_output_rendered_from_their_sources() -> None:
    script = (
        "import render_jobs as it\n"
        "assert it.render_pdf(it.PDF_SOURCE.read_text('utf-8')) == it.PDF_TARGET.read_bytes()\n"
        "assert it.render_word(it.WORD_SOURCE.read_text('utf-8')) == it.WORD_TARGET.read_bytes()\n"
    )
    needs("fpdf")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=SAMPLES, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
