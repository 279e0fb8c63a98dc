"""Two definitions agree if only their wording differs, but not if a number or a negation differs."""

import pytest
from elt_llm_consumer.glossary.comparison import DefinitionComparer
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.text.stems import KeywordTokeniser

_MONTHS = "A pitch that was tested within the previous {} months and is on the list"


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("The person on call.", "the person on call", True),
        ("The letter given to a ground under Part K.", "The letter given to a ground under Part K of the Book.", True),
        (_MONTHS.format("twenty-four"), _MONTHS.format("thirty-six"), False),
        (_MONTHS.format("24"), _MONTHS.format("twenty-four"), True),
        ("Goods that are kept in the shop.", "Goods that are not kept in the shop.", False),
        ("An injury for which an ambulance is called.", "Harm that keeps a player away for 28 days.", False),
    ],
)
def test_definitions_are_compared_by_their_meaning_and_not_by_their_wording(one: str, other: str, agree: bool) -> None:
    agreements = DefinitionComparer(FakeEmbedding(), KeywordTokeniser("en"))
    assert agreements.agree(one, other) is agree
    assert agreements.agree(other, one) is agree


@pytest.mark.parametrize(
    ("written", "is_copy"),
    [
        ("The person who keeps the registered books of the shop.", True),
        ("A person.", False),
        ("The person who keeps the registered books of the shop, the money and the keys.", False),
        ("", False),
    ],
)
def test_a_copy_has_nearly_all_words_of_its_source_and_hardly_any_other_words(written: str, is_copy: bool) -> None:
    agreements = DefinitionComparer(FakeEmbedding(), KeywordTokeniser())
    assert agreements.is_copy(written, "The person who keeps the regis-\ntered books of the shop") is is_copy


def test_one_word_in_common_does_not_support_a_short_text() -> None:
    agreements = DefinitionComparer(FakeEmbedding(), KeywordTokeniser())
    assert not agreements.supports("Pay the person.", "The person who keeps the books of the shop")
