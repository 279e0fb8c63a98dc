"""A number of two words is read as one number, with a hyphen or with a space."""

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.grounding.grounding import ground_answer
from elt_llm_query.grounding.rules import find_numbers
from retrieval.chunks import make_chunk


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("within twenty-one days", [21]),
        ("Ninety nine balloons", [99]),
        ("forty-five thousand readers", [45_000]),
        ("twenty, four", [20, 4]),
        ("twenty and 4", [20, 4]),
    ],
)
def test_a_number_written_in_two_words_is_read_as_one_number(text: str, values: list[float]) -> None:
    assert [set(number.values) for number in find_numbers(text)] == [{value} for value in values]


@pytest.mark.parametrize(
    ("days", "verdict"),
    [("21", "supported"), ("twenty-one", "supported"), ("20", "unsupported"), ("24", "unsupported")],
)
def test_a_number_in_a_claim_is_compared_with_the_whole_number_in_the_source(days: str, verdict: str) -> None:
    source = [make_chunk("An appeal is lodged within twenty-one days of the written decision.")]
    claim = f"An appeal is lodged within {days} days of the written decision."
    assert ground_answer(claim, source, FakeEmbedding(256), KeywordTokeniser()).sentences[0].verdict == verdict
