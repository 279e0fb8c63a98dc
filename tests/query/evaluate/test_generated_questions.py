"""Questions generated from documents: their origins, their repeatability, and their spans."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.errors import UsageError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sources.request import IngestRequest
from elt_llm_query.evaluate.generated_questions import (
    AnswerSpan,
    evaluation_questions,
    generate_questions,
    rank_answer_spans,
)
from elt_llm_query.evaluate.runner import measure_profiles

Ingested = Callable[..., Generation]
FILLER = "The keel of oak was laid in the yard by the river and tarred before the frost came in winter. " * 2
HARBOUR = f"""# 1. Harbour dues

{FILLER}

A berth means a place where one ship lies alone.

## Empty

## 1.1 Who pays the pilot

{FILLER}

| Vessel | Highest fee | Pilot |
|---|---|---|
| Sloop | 12 pounds | no |
| Barque | 40 pounds | yes |
"""


@pytest.fixture
def ingested(tmp_path: Path, embedding: FakeEmbedding) -> Iterator[Ingested]:
    """A function that ingests texts, given by file name, and opens the resulting collection."""
    with ExitStack() as opened:

        def make(**texts: str) -> Generation:
            folder = tmp_path / "documents"
            folder.mkdir()
            for name, text in texts.items():
                (folder / f"{name}.md").write_text(text, encoding="utf-8")
            store = opened.enter_context(open_store(tmp_path / "data", for_writing=True))
            request = IngestRequest("harbour", (folder,))
            ingest(request, Settings(), embedding, store, SilentListener(), DirectParser())
            return opened.enter_context(open_generation(store, "harbour", embedding.fingerprint))

        yield make


def chunk(node_id: str, document: str, start: int, end: int, *others: tuple[str, int, int]) -> RetrievedChunk:
    alternates = [{"source_id": other, "span": [first, last]} for other, first, last in others]
    return RetrievedChunk(
        node_id=node_id, collection="c", source_id=document, source_title="t", source="s", document_hash="0" * 64,
        text="x", context="", span=(start, end), page=None, section=None, score=0.5,
        metadata={"alternates": alternates} if alternates else {},
    )  # fmt: skip


def test_questions_are_generated_from_headings_definitions_and_rows_with_their_spans(ingested: Ingested) -> None:
    generation = ingested(dues=HARBOUR)
    (document,) = generation.documents()
    text = generation.document(document.source).text
    found = {
        question.text: (question.kind, [text[one.start : one.end] for one in question.spans])
        for question in generate_questions(generation)
    }
    assert found.keys() == {
        'What about "Harbour dues"?',
        "Who pays the pilot?",
        "What is berth?",
        'What is "highest fee" for Sloop?',
        'What is "highest fee" for Barque?',
        'What is "pilot" for Sloop?',
        'What is "pilot" for Barque?',
    }
    assert found["What is berth?"] == (
        "definition", ["A berth means a place where one ship lies alone."]
    )  # fmt: skip
    kind, (row,) = found['What is "highest fee" for Barque?']
    assert kind == "table row"
    assert "Barque" in row
    assert "40 pounds" in row
    assert "Sloop" not in row
    kind, (section,) = found["Who pays the pilot?"]
    assert kind == "heading"
    assert "The keel of oak" in section


def test_a_generated_question_never_contains_its_answer(ingested: Ingested) -> None:
    for question in generate_questions(ingested(dues=HARBOUR)):
        for answer in ("pounds", "where one ship", "keel", "tarred", "yes"):
            assert answer not in question.text


def test_the_number_of_generated_questions_is_divided_among_the_kinds_of_question(ingested: Ingested) -> None:
    generation = ingested(dues=HARBOUR)
    chosen = generate_questions(generation, 4)
    assert [question.kind for question in chosen] == ["heading", "definition", "table row", "table row"]
    assert generate_questions(generation, 4) == chosen
    assert {question.text for question in generate_questions(generation, 7)} >= {question.text for question in chosen}


def test_another_random_seed_selects_other_questions(ingested: Ingested) -> None:
    sections = "\n\n".join(f"# Quay {chr(65 + number)}{chr(97 + number)}\n\n{FILLER}" for number in range(20))
    generation = ingested(quays=sections)
    drawn = {seed: {question.text for question in generate_questions(generation, 5, seed)} for seed in (1, 2)}
    assert drawn[1] != drawn[2]
    assert all(len(texts) == 5 for texts in drawn.values())


def test_a_generated_question_may_have_answer_spans_in_several_documents_but_not_in_all(
    ingested: Ingested,
) -> None:
    shared, common = f"# Tolls of the bridge\n\n{FILLER}", f"# Introduction\n\n{FILLER}"
    documents = {f"n{number}": f"{common}\n\nNumber {number}.\n" for number in range(6)}
    generation = ingested(one=f"{shared} One.", two=f"{shared} Two.", **documents)
    (question,) = generate_questions(generation)
    assert question.text == 'What about "Tolls of the bridge"?'
    assert len({place.document_id for place in question.spans}) == 2


def test_documents_from_which_no_question_can_be_generated_raise_an_error(ingested: Ingested) -> None:
    with pytest.raises(UsageError, match="'harbour' has no headings") as refused:
        generate_questions(ingested(plain="Nobody comes on Sundays."))
    assert "--answers" in str(refused.value.hint)


def test_a_chunk_covers_an_answer_span_if_it_contains_most_of_the_span_or_lies_within_the_span() -> None:
    place = AnswerSpan("d", 100, 200)
    assert place.is_in("d", 0, 160)
    assert place.is_in("d", 120, 130)
    assert not place.is_in("d", 0, 140)
    assert not place.is_in("other", 100, 200)
    assert not place.is_in("d", 200, 300)


def test_a_retrieved_chunk_covers_answer_spans_in_every_document_that_contains_its_text() -> None:
    first, second = AnswerSpan("a", 0, 10), AnswerSpan("b", 0, 10)
    chunks = [chunk("n1", "x", 0, 9), chunk("n2", "y", 0, 9, ("a", 0, 10)), chunk("n3", "a", 0, 10),
              chunk("n4", "b", 0, 10)]  # fmt: skip
    assert rank_answer_spans(chunks, [first, second]) == ["n1", "a[0:10]", "b[0:10]"]


def test_profiles_are_measured_on_generated_questions(ingested: Ingested, embedding: FakeEmbedding) -> None:
    generation = ingested(dues=HARBOUR)
    asked = evaluation_questions(generate_questions(generation))
    (report,) = measure_profiles("harbour", asked, generation, embedding, {"default": Settings()})
    assert report.queries == 7
    assert report.figures["recall@100"] == 1
    assert {result.kind for result in report.results} == {"heading", "definition", "table row"}
    assert len({result.identity for result in report.results}) == 7
