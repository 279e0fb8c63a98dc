"""When a term is the term that was meant, and a text the text."""

import pytest
from elt_llm_consumer.gold.sameness import holds, says, share, term_key
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
def test_case_number_article_and_hyphen_make_no_other_term(one: str, other: str) -> None:
    assert term_key(one) == term_key(other)


@pytest.mark.parametrize(("one", "other"), [("Data Owner", "Data Steward"), ("Loan", "Loan Fee"), ("Bus", "Bu")])
def test_other_words_are_another_term(one: str, other: str) -> None:
    assert term_key(one) != term_key(other)


def test_a_term_that_is_an_article_is_still_one() -> None:
    assert term_key("The") == ("the",)


@given(TEXTS, TEXTS)
def test_a_share_is_the_same_both_ways_and_between_nothing_and_all(one: str, other: str) -> None:
    assert share(one, other) == share(other, one)
    assert 0 <= share(one, other) <= 1


@given(TEXTS)
def test_a_text_that_has_words_is_its_own(text: str) -> None:
    assert share(text, text) in (0, 1)
    assert holds(text, f"It is written that {text} and more besides") == (share(text, text) == 1)


def test_one_word_of_five_may_differ_and_two_may_not() -> None:
    assert share("one two three four five", "one two three four six") == pytest.approx(0.8)
    assert share("one two three four five", "one two three seven six") == pytest.approx(0.6)


def test_a_definition_with_a_tail_twice_as_long_is_another_text() -> None:
    assert share("a card for members", "a card for members who paid in full before June") < 0.8


def test_a_quote_holds_a_text_in_one_stretch_only() -> None:
    wanted = "money paid back before the day on which it falls due"
    assert holds(wanted, f"Early Payment means {wanted}. Nothing is charged.")
    scattered = "money was lent; it was paid; she came back one day long before; which falls are due?" + " word" * 40
    assert not holds("money back day falls before which due paid", "money" + " word" * 40 + " " + scattered[::-1])


def test_words_are_said_only_one_after_the_other() -> None:
    assert says("It is kept for three years, or longer.", "THREE years or")
    assert not says("It is kept for three long years.", "three years")
    assert not says("anything", "")
