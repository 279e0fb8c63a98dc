"""Foreign questions: shipped ones, and those made from collections that are about other things."""

from pathlib import Path

import pytest
from elt_llm_core.collection import open_generation
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentProgress
from elt_llm_core.settings import Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.texts import GivenText, ingest_texts
from elt_llm_query.evaluate.foreign_questions import foreign_questions, questions_of_others
from elt_llm_query.evaluate.own_questions import own_questions

TEXTS = {
    "harbour": ["A berth means a place where one ship lies alone."],
    "kitchen": ["A roux means flour and butter stirred over a low fire."],
    "copy": ["A berth means a place where one ship lies alone.", "A sloop means a boat with one mast."],
    "plain": ["Nobody comes on Sundays."],
}


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_there_are_shipped_questions_for_every_language_none_twice(language: str) -> None:
    questions = foreign_questions(language)
    assert len(questions) == len(set(questions)) >= 25
    assert all(question.endswith("?") for question in questions)
    assert (questions[0].startswith("Wie")) is (language == "de")


def test_only_collections_about_other_things_are_asked_for_foreign_questions(
    tmp_path: Path, embedding: FakeEmbedding
) -> None:
    with open_store(tmp_path, for_writing=True) as store:
        for name, texts in TEXTS.items():
            given = [GivenText(f"{number}", "", text) for number, text in enumerate(texts)]
            ingest_texts(name, given, Settings(), embedding, store, SilentProgress())
        with open_generation(store, "harbour") as generation:
            own = own_questions(generation)
            assert [question.text for question in own] == ["What is berth?"]
            assert questions_of_others(store, generation, own, seed=1) == ["What is roux?"]
