"""A quote is found in a text if all words are equal; only white space may differ."""

import re

import pytest
from elt_llm_core.text.verbatim import QuoteDifference, find_quote, locate_words, nearest_span, quote_differences
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.lists(st.sampled_from(["a", "b", "ab", "Grade", "é", "-", "30."]), min_size=1, max_size=8)
SPACES = st.sampled_from([" ", "\n", "  \t", "\u00a0", "\r\n  ", "\u2003"])


def spaced(words: list[str], spaces: list[str]) -> str:
    return "".join(f"{word}{spaces[number % len(spaces)]}" for number, word in enumerate(words))


@given(WORDS, WORDS, WORDS, st.lists(SPACES, min_size=1), st.lists(SPACES, min_size=1))
def test_a_quote_is_found_whatever_its_white_space(
    before: list[str], quoted: list[str], after: list[str], in_text: list[str], in_quote: list[str]
) -> None:
    text = spaced([*before, *quoted, *after], in_text)
    quote = spaced(quoted, in_quote)
    found = list(find_quote(quote, text))
    assert found
    assert all(text[start:end].split() == text[start:end].strip().split() for start, end in found)
    assert {" ".join(text[start:end].split()) for start, end in found} == {" ".join(quoted)}


@given(st.text(alphabet="ab \n", max_size=30), st.text(alphabet="ab \n", max_size=6))
def test_the_function_find_quote_returns_the_same_spans_as_a_plain_search(text: str, quote: str) -> None:
    wanted = quote.split()
    pattern = r"\s+".join(map(re.escape, wanted))
    expected = [(one.start(1), one.end(1)) for one in re.finditer(f"(?=({pattern}))", text)] if wanted else []
    assert list(find_quote(quote, text)) == expected


@given(st.text(max_size=60), st.integers(0, 20), st.integers(0, 60))
def test_the_function_locate_words_returns_the_offsets_of_every_word(text: str, start: int, end: int) -> None:
    words = list(locate_words(text, start, end))
    assert [word.text for word in words] == text[start:end].split()
    assert all(text[word.start : word.end] == word.text for word in words)


@given(st.text(alphabet="abc .\n", max_size=40), st.text(alphabet="abc .\n", max_size=40))
def test_the_share_returned_with_the_nearest_span_is_the_share_of_quote_words_in_it(quote: str, text: str) -> None:
    near = nearest_span(quote, text)
    if near is None:
        return
    start, end, shared = near
    assert 0 <= start < end <= len(text)
    assert 0 < shared <= 1
    wanted = [word.folded for word in locate_words(quote)]
    here = [word.folded for word in locate_words(text, start, end)]
    common = sum(min(wanted.count(word), here.count(word)) for word in set(wanted) if word)
    assert common / len([word for word in wanted if word]) == pytest.approx(shared)


def test_there_is_no_nearest_span_in_a_text_that_shares_no_words_with_the_quote() -> None:
    assert nearest_span("lamps and lux", "A club may appeal.") is None
    assert nearest_span(" . ", "A club may appeal.") is None
    assert nearest_span("lamps", "") is None


def test_a_changed_word_in_a_quote_is_reported_as_a_difference() -> None:
    text = "For Grade B the lamps should give an average of 100 lux."
    quote = "For Grade B the lamps must give an average of 100 lux."
    assert list(find_quote(quote, text)) == []
    assert quote_differences(quote, text) == [QuoteDifference("other words", "must", "should")]
    near = nearest_span(quote, f"First. {text} Last.")
    assert near is not None
    assert f"First. {text} Last."[near[0] : near[1]] == text


def test_differences_only_in_capitals_quotation_marks_and_dashes_have_a_kind_of_their_own() -> None:
    assert quote_differences("the ground's end – Here", "The ground’s end - here") == [  # noqa: RUF001
        QuoteDifference("other signs", "the ground's", "The ground’s"),  # noqa: RUF001
        QuoteDifference("other signs", "– Here", "- here"),  # noqa: RUF001
    ]


def test_left_out_words_and_added_words_are_reported_as_different_kinds_of_difference() -> None:
    assert quote_differences("a club may appeal", "a club may not appeal") == [QuoteDifference("left out", "", "not")]
    assert quote_differences("a club may not appeal", "a club may appeal") == [
        QuoteDifference("not in the document", "not", "")
    ]


def test_the_nearest_span_in_a_long_text_of_one_repeated_word_is_found_in_linear_time() -> None:
    text, quote = "a " * 200_000, "a " * 1_900 + "b"
    assert list(find_quote(quote, text)) == []
    assert nearest_span(quote, text) is not None


def test_the_nearest_span_ignores_punctuation_around_a_quote() -> None:
    text = 'He said: "the lamps give 100 lux," and left.'
    near = nearest_span("the lamps give 90 lux", text)
    assert near is not None
    assert text[near[0] : near[1]] == "the lamps give 100 lux"
