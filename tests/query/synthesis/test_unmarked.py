from collections.abc import Sequence

import pytest
from elt_llm_query.synthesis.finishing import without_marks
from elt_llm_query.synthesis.marks import as_marks
from elt_llm_query.synthesis.unmarked import PiecesWithoutMarks
from hypothesis import given
from hypothesis import strategies as st


def passed_on(pieces: Sequence[str]) -> str:
    heard: list[str] = []
    filtered = PiecesWithoutMarks(heard.append)
    for piece in pieces:
        filtered(piece)
    filtered.end()
    return "".join(heard)


@pytest.mark.parametrize("mark", ["[1]", "[2][13]", "(Source 1)", "\u30101\u2020rules\u3011", "[1, 2]"])
def test_a_mark_that_comes_in_pieces_is_left_out(mark: str) -> None:
    text = f"A loan lasts four weeks {mark}. It is renewed (twice) {mark}."
    assert passed_on(list(text)) == passed_on([text]) == "A loan lasts four weeks. It is renewed (twice)."


def test_what_only_looks_like_the_beginning_of_a_mark_is_passed_on_at_the_end() -> None:
    assert passed_on(["See [the", " rules"]) == "See [the rules"


@given(st.lists(st.text(alphabet="ab 1[]().\n", max_size=6), max_size=20))
def test_without_marks_every_word_comes_through_in_order(pieces: list[str]) -> None:
    text = "".join(pieces)
    kept = "".join(sign for sign in passed_on(pieces) if sign.isalpha())
    assert kept == "".join(sign for sign in without_marks(as_marks(text)) if sign.isalpha())
