"""Questions about foreign subjects: shipped ones, and ones generated from collections about other subjects."""

from pathlib import Path

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import TextDocument, ingest_texts
from elt_llm_query.evaluate.generated_questions import (
    foreign_questions,
    generate_questions,
    questions_of_other_collections,
)

TEXTS = {
    "harbour": ["A berth means a place where one ship lies alone."],
    "kitchen": ["A roux means flour and butter stirred over a low fire."],
    "copy": ["A berth means a place where one ship lies alone.", "A sloop means a boat with one mast."],
    "plain": ["Nobody comes on Sundays."],
}


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_the_shipped_questions_about_foreign_subjects_are_distinct_for_every_language(language: str) -> None:
    questions = foreign_questions(language)
    assert len(questions) == len(set(questions)) >= 25
    assert all(question.endswith("?") for question in questions)
    assert (questions[0].startswith("Wie")) is (language == "de")


def test_questions_about_foreign_subjects_come_only_from_collections_about_other_subjects(
    tmp_path: Path, embedding: FakeEmbedding
) -> None:
    with open_store(tmp_path, for_writing=True) as store:
        for name, texts in TEXTS.items():
            given = [TextDocument(f"{number}", "", text) for number, text in enumerate(texts)]
            ingest_texts(name, given, Settings(), embedding, store, SilentListener())
        with open_generation(store, "harbour") as generation:
            own = generate_questions(generation)
            assert [question.text for question in own] == ["What is berth?"]
            assert questions_of_other_collections(store, generation, own, seed=1) == ["What is roux?"]
