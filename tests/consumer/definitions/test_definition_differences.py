"""Two definitions of a term are described by the words in which they differ and their documents, each named once."""

import pytest
from elt_llm_consumer.definitions.comparison import DefinitionText, describe_difference
from hypothesis import given
from hypothesis import strategies as st

_MONTHS = "A pitch that was tested within {} months and is on the list."


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (_MONTHS.format(36), _MONTHS.format(24), "book.pdf, page 9 has 36, code.md has 24."),
        (_MONTHS.format("two"), _MONTHS.format("six"), 'book.pdf, page 9 has "two", code.md has "six".'),
        (
            "The months from 1 August to 31 July.",
            "the months from 1 July to 30 June",
            'book.pdf, page 9 has "August to 31 July", code.md has "July to 30 June".',
        ),
        (
            "Any day of the week other than Sunday.",
            "Any day from Monday to Friday other than a public holiday.",
            'book.pdf, page 9 has "of the week" and "Sunday", '
            'code.md has "from Monday to Friday" and "a public holiday".',
        ),
        (
            "Grain whose moisture is not more than 15 per cent.",
            "Grain with a moisture of not more than 14 per cent.",
            "book.pdf, page 9 has 15, code.md has 14.",
        ),
        ("Goods kept here.", "Goods not kept here.", 'code.md has "not", book.pdf, page 9 does not.'),
        (
            "harm that keeps a player away for twenty-eight days",
            "an injury for which an ambulance is called",
            'book.pdf, page 9 has "twenty-eight", code.md does not.',
        ),
        ("the head of a ward", "whoever owns it", "book.pdf, page 9 and code.md have different definitions."),
    ],
)
def test_the_description_of_a_difference_between_definitions_names_both_documents_and_the_differing_words(
    one: str, other: str, expected: str
) -> None:
    assert (
        describe_difference(DefinitionText(one, ("book.pdf, page 9",)), DefinitionText(other, ("code.md",))) == expected
    )


def test_documents_with_the_same_definition_are_described_together() -> None:
    one = DefinitionText(_MONTHS.format(36), ("a.md", "b.md", "a.md"))
    assert (
        describe_difference(one, DefinitionText(_MONTHS.format(24), ("c.md",))) == "a.md and b.md have 36, c.md has 24."
    )


def test_a_page_that_contains_both_definitions_is_named_once() -> None:
    one, other = (DefinitionText(_MONTHS.format(months), ("a.md, page 2",)) for months in (36, 24))
    assert describe_difference(one, other) == "a.md, page 2 has 36 and also 24."
    kept, not_kept = (DefinitionText(text, ("a.md",)) for text in ("Goods kept here.", "Goods not kept here."))
    assert describe_difference(kept, not_kept) == 'a.md has a definition with "not" and another without.'


@given(st.text(max_size=80), st.text(max_size=80))
def test_the_difference_of_any_two_texts_is_described_in_one_sentence(one: str, other: str) -> None:
    expected = describe_difference(DefinitionText(one, ("a.md",)), DefinitionText(other, ("b.md",)))
    assert expected.endswith(".")
    assert expected == describe_difference(DefinitionText(one, ("a.md",)), DefinitionText(other, ("b.md",)))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (_MONTHS.format(36), _MONTHS.format(24), "One definition in a.md has 36, another in b.md and a.md has 24."),
        (
            "Goods not kept here.",
            "Goods kept here.",
            'One definition in a.md has "not", another in b.md and a.md does not.',
        ),
        (
            "Goods kept here.",
            "Goods not kept here.",
            'One definition in b.md and a.md has "not", another in a.md does not.',
        ),
        ("the head of a ward", "whoever owns it", "a.md and b.md have different definitions."),
    ],
)
def test_a_document_with_both_definitions_does_not_seem_to_contradict_itself(
    one: str, other: str, expected: str
) -> None:
    assert describe_difference(DefinitionText(one, ("a.md",)), DefinitionText(other, ("b.md", "a.md"))) == expected
