from collections.abc import Sequence

import pytest
from elt_llm_query.grounding.citations import strip_citation_marks
from elt_llm_query.synthesis.model_answerer import UnmarkedStream, normalise_marks
from hypothesis import given
from hypothesis import strategies as st


def passed_on(pieces: Sequence[str]) -> str:
    heard: list[str] = []
    filtered = UnmarkedStream(heard.append)
    for piece in pieces:
        filtered(piece)
    filtered.end()
    return "".join(heard)


@pytest.mark.parametrize("mark", ["[1]", "[2][13]", "(Source 1)", "\u30101\u2020rules\u3011", "[1, 2]"])
def test_a_citation_mark_that_arrives_in_several_pieces_is_removed(mark: str) -> None:
    text = f"A loan lasts four weeks {mark}. It is renewed (twice) {mark}."
    assert passed_on(list(text)) == passed_on([text]) == "A loan lasts four weeks. It is renewed (twice)."


def test_text_that_looks_like_the_start_of_a_citation_mark_is_passed_on_at_the_end_of_the_stream() -> None:
    assert passed_on(["See [the", " rules"]) == "See [the rules"


@given(st.lists(st.text(alphabet="ab 1[]().\n", max_size=6), max_size=20))
def test_all_words_except_citation_marks_are_passed_on_in_order(pieces: list[str]) -> None:
    text = "".join(pieces)
    kept = "".join(sign for sign in passed_on(pieces) if sign.isalpha())
    assert kept == "".join(sign for sign in strip_citation_marks(normalise_marks(text)) if sign.isalpha())
