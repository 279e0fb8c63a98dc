"""How it is said what differs between two definitions: which place says what, once."""

import pytest
from elt_llm_consumer.glossary.difference import Told, difference
from hypothesis import given
from hypothesis import strategies as st

_MONTHS = "A pitch that was tested within {} months and is on the list."


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (_MONTHS.format(36), _MONTHS.format(24), "book.pdf, page 9 says 36, code.md says 24."),
        (_MONTHS.format("two"), _MONTHS.format("six"), 'book.pdf, page 9 says "two", code.md says "six".'),
        (
            "The months from 1 August to 31 July.",
            "the months from 1 July to 30 June",
            'book.pdf, page 9 says "August to 31 July", code.md says "July to 30 June".',
        ),
        (
            "Any day of the week other than Sunday.",
            "Any day from Monday to Friday other than a public holiday.",
            'book.pdf, page 9 says "of the week" and "Sunday", '
            'code.md says "from Monday to Friday" and "a public holiday".',
        ),
        (
            "Grain whose moisture is not more than 15 per cent.",
            "Grain with a moisture of not more than 14 per cent.",
            "book.pdf, page 9 says 15, code.md says 14.",
        ),
        ("Goods kept here.", "Goods not kept here.", 'code.md says "not", book.pdf, page 9 does not.'),
        (
            "harm that keeps a player away for twenty-eight days",
            "an injury for which an ambulance is called",
            'book.pdf, page 9 says "twenty-eight", code.md does not.',
        ),
        ("the head of a ward", "whoever owns it", "book.pdf, page 9 and code.md say different things."),
    ],
)
def test_a_difference_names_both_places_and_what_they_say(one: str, other: str, said: str) -> None:
    assert difference(Told(one, ("book.pdf, page 9",)), Told(other, ("code.md",))) == said


def test_places_that_say_the_same_are_named_together_and_once() -> None:
    one = Told(_MONTHS.format(36), ("a.md", "b.md", "a.md"))
    assert difference(one, Told(_MONTHS.format(24), ("c.md",))) == "a.md and b.md say 36, c.md says 24."


def test_one_place_may_say_both() -> None:
    one, other = (Told(_MONTHS.format(months), ("a.md, page 2",)) for months in (36, 24))
    assert difference(one, other) == "a.md, page 2 says 36 and also 24."


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_give_one_sentence(one: str, other: str) -> None:
    said = difference(Told(one, ("a.md",)), Told(other, ("b.md",)))
    assert said.endswith(".")
    assert said == difference(Told(one, ("a.md",)), Told(other, ("b.md",)))
