"""Two definitions agree if only their wording differs, but not if a number or a negation differs."""

import pytest
from elt_llm_consumer.definitions.comparison import DefinitionComparer
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
    ("one", "other"),
    [
        ("A charge of £40 per year.", "A charge of £40 per month."),
        ("The person who owns the card.", "The person who carries the card."),
        ("A license to fish.", "A permit to fish."),
        ("The person who decides.", "The person who pays."),
        ("A note in any form.", "A note on paper."),
        ("A building.", "A building or land."),
        ("The firm named in the contract as employer.", "The firm named in the contract as employee."),
        ("Eine Person, die Waren kauft.", "Eine Person, die Waren verkauft."),
        ("Eine Vereinbarung mit einem Lieferanten.", "Eine Vereinbarung mit einem Lieferanten oder Kunden."),
    ],
)
def test_definitions_disagree_if_one_has_another_word_in_the_same_place_or_one_more_alternative(
    one: str, other: str
) -> None:
    agreements = DefinitionComparer(FakeEmbedding(), KeywordTokeniser("en"))
    assert not agreements.agree(one, other)
    assert not agreements.agree(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A building or land.", "Land or a building."),
        ("A person who buys goods from the shop.", "Anyone who buys goods from the shop."),
        ("Any person who holds a licence.", "A person holding a licence."),
        ("An organisation registered in the list.", "An organization registered on the list."),
        ("A person with a licence of the Board.", "Any person with a license of the Board."),
        ("An entry in the catalogue of the library.", "An entry in the catalog of the library."),
        ("The programme that the members see.", "The program that the members see."),
        ("The centre for the storage of goods.", "The center for the storage of goods."),
        ("A share of five per cent of the rent.", "A share of five percent of the rent."),
        ("A clerk authorised by the Board.", "A clerk authorized by the Board."),
        ("A licence of the Board.", "A license of the Board for a year, given on paper."),
        ("The lending of a book for four weeks.", "Lending a book for 4 weeks"),
        ("A notice in writing, sent by post.", "A written notice sent by post."),
        ("Information in any form.", "Information in any form, kept by the Office."),
        ("The person who keeps the register.", "The person who keeps the reg-\nister."),
        ("Alle Unterlagen zu einem Vorgang.", "Sämtliche Unterlagen zu einem Vorgang."),
    ],
)
def test_definitions_agree_despite_another_order_spelling_or_article_or_a_longer_text(one: str, other: str) -> None:
    agreements = DefinitionComparer(FakeEmbedding(), KeywordTokeniser("en"))
    assert agreements.agree(one, other)
    assert agreements.agree(other, one)


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
