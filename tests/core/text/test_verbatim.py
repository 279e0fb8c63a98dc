"""Quotes are found word for word, whatever the white space, and what is merely near is never taken for the quote."""

import re

import pytest
from elt_llm_core.text.verbatim import Difference, differences, nearest_span, places_of, words_with_places
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.lists(st.sampled_from(["a", "b", "ab", "Grade", "é", "-", "30."]), min_size=1, max_size=8)
SPACES = st.sampled_from([" ", "\n", "  \t", "\u00a0", "\r\n  ", "\u2003"])


def spaced(words: list[str], spaces: list[str]) -> str:
    return "".join(f"{word}{spaces[number % len(spaces)]}" for number, word in enumerate(words))


@given(WORDS, WORDS, WORDS, st.lists(SPACES, min_size=1), st.lists(SPACES, min_size=1))
def test_a_quote_is_found_whatever_the_white_space(
    before: list[str], quoted: list[str], after: list[str], in_text: list[str], in_quote: list[str]
) -> None:
    text = spaced([*before, *quoted, *after], in_text)
    quote = spaced(quoted, in_quote)
    found = list(places_of(quote, text))
    assert found
    assert all(text[start:end].split() == text[start:end].strip().split() for start, end in found)
    assert {" ".join(text[start:end].split()) for start, end in found} == {" ".join(quoted)}


@given(st.text(alphabet="ab \n", max_size=30), st.text(alphabet="ab \n", max_size=6))
def test_what_is_found_is_what_a_plain_search_finds(text: str, quote: str) -> None:
    wanted = quote.split()
    pattern = r"\s+".join(map(re.escape, wanted))
    expected = [(one.start(1), one.end(1)) for one in re.finditer(f"(?=({pattern}))", text)] if wanted else []
    assert list(places_of(quote, text)) == expected


@given(st.text(max_size=60), st.integers(0, 20), st.integers(0, 60))
def test_every_word_stands_where_it_is_said_to(text: str, start: int, end: int) -> None:
    words = list(words_with_places(text, start, end))
    assert [word.text for word in words] == text[start:end].split()
    assert all(text[word.start : word.end] == word.text for word in words)


@given(st.text(alphabet="abc .\n", max_size=40), st.text(alphabet="abc .\n", max_size=40))
def test_the_nearest_span_lies_within_and_has_as_many_of_the_words_as_it_says(quote: str, text: str) -> None:
    near = nearest_span(quote, text)
    if near is None:
        return
    start, end, shared = near
    assert 0 <= start < end <= len(text)
    assert 0 < shared <= 1
    wanted = [word.folded for word in words_with_places(quote)]
    here = [word.folded for word in words_with_places(text, start, end)]
    common = sum(min(wanted.count(word), here.count(word)) for word in set(wanted) if word)
    assert common / len([word for word in wanted if word]) == pytest.approx(shared)


def test_nothing_is_near_a_text_without_a_word_of_it() -> None:
    assert nearest_span("lamps and lux", "A club may appeal.") is None
    assert nearest_span(" . ", "A club may appeal.") is None
    assert nearest_span("lamps", "") is None


def test_one_other_word_is_no_quote_and_is_named() -> None:
    text = "For Grade B the lamps should give an average of 100 lux."
    quote = "For Grade B the lamps must give an average of 100 lux."
    assert list(places_of(quote, text)) == []
    assert differences(quote, text) == [Difference("other words", "must", "should")]
    near = nearest_span(quote, f"First. {text} Last.")
    assert near is not None
    assert f"First. {text} Last."[near[0] : near[1]] == text


def test_capitals_quotes_and_dashes_are_other_signs() -> None:
    assert differences("the ground's end – Here", "The ground’s end - here") == [  # noqa: RUF001
        Difference("other signs", "the ground's", "The ground’s"),  # noqa: RUF001
        Difference("other signs", "– Here", "- here"),  # noqa: RUF001
    ]


def test_what_is_left_out_and_what_is_put_in_are_told_apart() -> None:
    assert differences("a club may appeal", "a club may not appeal") == [Difference("left out", "", "not")]
    assert differences("a club may not appeal", "a club may appeal") == [Difference("not in the document", "not", "")]


def test_a_long_text_of_one_word_is_searched_in_no_time() -> None:
    text, quote = "a " * 200_000, "a " * 1_900 + "b"
    assert list(places_of(quote, text)) == []
    assert nearest_span(quote, text) is not None


def test_signs_around_the_whole_quote_are_not_held_against_it() -> None:
    text = 'He said: "the lamps give 100 lux," and left.'
    near = nearest_span("the lamps give 90 lux", text)
    assert near is not None
    assert text[near[0] : near[1]] == "the lamps give 100 lux"
