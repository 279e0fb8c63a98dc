"""A text that is tokenised in slices has the tokens of the whole text."""

import pytest
from elt_llm_core.models.embedded import EmbeddedMiniLm
from elt_llm_ingest.chunkers import pieces
from elt_llm_ingest.chunkers.pieces import TokenIndex
from hypothesis import given
from hypothesis import strategies as st

MODEL = EmbeddedMiniLm()
WORDS = st.sampled_from(
    [
        *(
            "goal",
            "unbelievably",
            "Dr.",
            "3.5",
            "naïve",
            "Ünïcödé",
            "日本語",
            "ΟΔΟΣ",
            "🎉",
            "a\u0301",
            "\u0301b",
            "\xa0",
        ),
        *("x" * 150, "it's", "\x1c", "\u2028", "[MASK]", "[SEP]", "\ufffd", "C++", "\t", "\r"),
    ]
)
TEXTS = st.lists(st.tuples(WORDS, st.sampled_from([" ", "\n", " \n", ""])), max_size=60).map(
    lambda pairs: "".join(word + space for word, space in pairs)
)


class SmallSlices(TokenIndex):
    """A token index with slices of 16 characters."""

    slice_size = 16


@given(text=TEXTS)
def test_tokenising_in_slices_gives_the_tokens_of_the_whole_text(text: str) -> None:
    whole, sliced = TokenIndex(text, MODEL), SmallSlices(text, MODEL)
    assert sliced.exact == whole.exact
    for place in range(len(text) + 1):
        assert sliced.first(place) == whole.first(place)
        assert sliced.last(place) == whole.last(place)


@given(text=TEXTS, data=st.data())
def test_a_span_between_white_space_has_the_same_tokens_when_it_is_tokenised_alone(
    text: str, data: st.DataObject
) -> None:
    spaces = [-1, *(place for place, letter in enumerate(text) if letter in " \n\t\r"), len(text)]
    start = data.draw(st.sampled_from(spaces)) + 1
    end = data.draw(st.sampled_from([place for place in spaces if place >= start] or [len(text)]))
    index = TokenIndex(text, MODEL)
    assert index.count(start, end) == len(TokenIndex(text[start:end], MODEL))
    assert not index.exact or index.count(start, end) == len(MODEL.token_spans(text[start:end]))


def test_a_text_without_white_space_is_tokenised_in_slices() -> None:
    text = "x" * (pieces.MAX_SLICE_LENGTH + 10)
    index = TokenIndex(text, MODEL)
    assert not index.exact
    assert index.count(0, len(text)) == pytest.approx(len(text) / 4, rel=0.01)
