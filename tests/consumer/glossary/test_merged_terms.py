"""The definitions of a term are merged from all places, in any spelling and order."""

from elt_llm_consumer.definitions.find import find_definitions
from elt_llm_consumer.glossary.terms import MergedTerm, merge_definitions
from hypothesis import given
from hypothesis import strategies as st
from row_jobs.contexts import corpus_of
from row_jobs.definitions import definitions_in

_TEXT = """\
# Glossary

Data owner: the person who decides.
Data-Owners: the persons who decide.
Store: a place of goods.
Depot: see Store

# Rules

"Site" (also called the "Premises") means the land. The Yearly General Meeting (YGM) opens.

The YGM (Yearly General Meeting) means a lot. "YGM" means the meeting of all members in June.
"""


def _terms(text: str) -> dict[str, MergedTerm]:
    return {term.name: term for term in merge_definitions(definitions_in(text))}


def test_the_spellings_of_a_term_are_merged_with_all_their_definitions() -> None:
    owner = _terms(_TEXT)["Data owner"]
    assert [one.term for one in owner.all] == ["Data owner", "Data-Owners"]
    assert list(owner.variants) == ["Data-Owners"]


def test_the_definitions_of_an_abbreviation_belong_to_its_long_form() -> None:
    (term,) = [one for one in merge_definitions(definitions_in(_TEXT)) if one.short_forms]
    assert "YGM" in (term.name, *term.abbreviations)
    assert [one.text for one in term.definitions] == ["the meeting of all members in June."]


def test_an_abbreviation_that_two_terms_share_is_a_separate_term() -> None:
    text = 'The Service Level (SL) is high. The Safety Lead (SL) is here.\n\n"SL" means a list of shops.\n'
    assert sorted(_terms(text)) == ["SL", "Safety Lead", "Service Level"]


def test_a_merged_term_keeps_its_references_and_alternative_names() -> None:
    terms = _terms(_TEXT)
    assert [one.refers_to for one in terms["Depot"].references] == ["Store"]
    assert list(terms["Site"].synonyms) == ["Premises"]


@given(st.data())
def test_the_order_of_definitions_does_not_change_the_merged_terms(data: st.DataObject) -> None:
    found = find_definitions(corpus_of({"one.md": _TEXT, "two.md": _TEXT.replace("decides", "rules")}))
    shuffled = data.draw(st.permutations(found))
    assert merge_definitions(shuffled) == merge_definitions(found)
    assert sum(len(term.all) for term in merge_definitions(found)) == len(found)
