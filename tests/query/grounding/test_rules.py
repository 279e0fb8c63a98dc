"""Paraphrased rules are supported, and contradictions of rules are marked."""

from collections.abc import Sequence

import pytest
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.grounding.grounding import GroundedSentence, ground_answer
from grounding_data.rule_pairs import DEVELOPMENT, RulePair
from grounding_data.rule_pairs_held_out import HELD_OUT
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieval.chunks import make_chunk
from sampling import generated


@pytest.fixture(scope="module")
def embedding() -> EmbeddingModel:
    """The shipped embedding model."""
    return create_embedding(Settings())


def _judge(source: str, claim: str, embedding: EmbeddingModel, language: str) -> GroundedSentence:
    return ground_answer(claim, [make_chunk(source)], embedding, KeywordTokeniser(language)).sentences[0]


def _is_marked(source: str, claim: str, embedding: EmbeddingModel) -> bool:
    language = (
        "de" if set("äöüß") & set(source + claim) or {"der", "die", "das"} & set(source.lower().split()) else "en"
    )
    return _judge(source, claim, embedding, language).verdict in {"partly", "unsupported"}


@pytest.mark.parametrize("pairs", [DEVELOPMENT, HELD_OUT], ids=["development", "held out"])
def test_nine_of_ten_contradicting_sentences_are_marked_but_at_most_8_percent_of_reworded_sentences_are(
    pairs: Sequence[RulePair], embedding: EmbeddingModel
) -> None:
    honest = [pair.honest for pair in pairs if _is_marked(pair.source, pair.honest, embedding)]
    unnoticed = [pair.false for pair in pairs if not _is_marked(pair.source, pair.false, embedding)]
    assert len(honest) <= 0.08 * len(pairs), honest
    assert len(unnoticed) <= 0.1 * len(pairs), unnoticed


def test_a_permission_turned_into_a_requirement_is_partly_supported_with_a_reason(embedding: EmbeddingModel) -> None:
    source = "Every member may bring two guests to the summer regatta."
    found = _judge(source, "Every member must bring two guests to the summer regatta.", embedding, "en")
    assert found.verdict == "partly"
    assert "Allowed is not the same as required" in " ".join(found.reasons)


def test_at_least_in_an_answer_in_place_of_at_most_is_named_in_the_reasons(embedding: EmbeddingModel) -> None:
    source = "No club may change its name more than once in any five years."
    found = _judge(source, "A club may change its name at least once in any five years.", embedding, "en")
    assert "at least" in " ".join(found.reasons)


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("The trip takes a fortnight.", "The trip takes 14 days."),
        ("The fund holds £5m.", "The fund holds £5,000,000."),
        ("The permit is valid for two years.", "The permit is valid for 24 months."),
        ("The Harbour Club meets once a week.", "The Harbour Club meets one time a week."),
    ],
)
def test_equal_amounts_in_different_units_do_not_contradict_each_other(
    source: str, claim: str, embedding: EmbeddingModel
) -> None:
    assert _judge(source, claim, embedding, "en").verdict == "supported"


WORDS = "no not may must only unless more than less at least most two 5 once before after members row , ; ."


@settings(max_examples=generated(25))
@given(st.lists(st.sampled_from(WORDS.split()), min_size=3, max_size=25))
def test_a_sentence_with_a_rule_never_contradicts_itself(words: list[str]) -> None:
    text = "Members " + " ".join(words)
    found = ground_answer(text, [make_chunk(text)], FakeEmbedding(64), KeywordTokeniser()).sentences
    assert not any("contrary" in reason for reason in found[0].reasons)
