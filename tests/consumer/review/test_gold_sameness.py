"""Terms and texts are compared with gold by normal form and shared words."""

import pytest
from elt_llm_consumer.review.gold import gold_term_key, quote_holds, text_says, word_share
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.text(max_size=200)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Working Day", "working days"),
        ("the Council", "Council"),
        ("A Member's Card", "member card"),
        ("Cup-tied", "cup tied"),
        ("Policies", "policy"),
        ("Matches", "match"),
        ("Loss", "loss"),
    ],
)
def test_case_number_article_and_hyphen_do_not_distinguish_terms(one: str, other: str) -> None:
    assert gold_term_key(one) == gold_term_key(other)


@pytest.mark.parametrize(("one", "other"), [("Data Owner", "Data Steward"), ("Loan", "Loan Fee"), ("Bus", "Bu")])
def test_different_words_are_different_terms(one: str, other: str) -> None:
    assert gold_term_key(one) != gold_term_key(other)


def test_an_article_is_kept_in_a_term_that_consists_only_of_the_article() -> None:
    assert gold_term_key("The") == ("the",)


@given(TEXTS, TEXTS)
def test_the_similarity_of_two_texts_is_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    assert word_share(one, other) == word_share(other, one)
    assert 0 <= word_share(one, other) <= 1


@given(TEXTS)
def test_a_text_that_contains_words_is_equal_to_itself(text: str) -> None:
    assert word_share(text, text) in (0, 1)
    assert quote_holds(text, f"It is written that {text} and more besides") == (word_share(text, text) == 1)


def test_the_word_share_of_two_texts_is_the_share_of_words_they_have_in_common() -> None:
    assert word_share("one two three four five", "one two three four six") == pytest.approx(0.8)
    assert word_share("one two three four five", "one two three seven six") == pytest.approx(0.6)


def test_a_definition_with_a_long_addition_is_a_different_text() -> None:
    assert word_share("a card for members", "a card for members who paid in full before June") < 0.8


def test_a_quote_contains_a_gold_text_only_if_the_words_are_in_one_continuous_part() -> None:
    wanted = "money paid back before the day on which it falls due"
    assert quote_holds(wanted, f"Early Payment means {wanted}. Nothing is charged.")
    scattered = "money was lent; it was paid; she came back one day long before; which falls are due?" + " word" * 40
    assert not quote_holds("money back day falls before which due paid", "money" + " word" * 40 + " " + scattered[::-1])


def test_a_text_contains_the_gold_words_only_if_they_are_consecutive() -> None:
    assert text_says("It is kept for three years, or longer.", "THREE years or")
    assert not text_says("It is kept for three long years.", "three years")
    assert not text_says("anything", "")
