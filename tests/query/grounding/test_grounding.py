"""Written answers compared with their sources: which sentences are supported, and by which words."""

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.grounding.grounding import GroundedAnswer, Verdict, ground_answer
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieval.chunks import make_chunk
from sampling import generated

LIBRARY = (
    "The Harbour Library was founded by Anna Berg in 1874. It lends 3,000 atlases to readers in Oldtown. "
    "Children may borrow seven books for 28 days. Atlases must not be taken abroad. "
    "The reading room was closed before the flood because the roof leaked. Tom Reed sold the old map to Clara Wood."
)
MILL = "The Blue Mill stands on the River Ash. In 1901 the mill burnt down. About 40 percent of the grain was lost."
GERMAN = (
    "Die Bibliothek wurde 1874 von Anna Berg gegründet. Kinder dürfen sieben Bücher ausleihen. "
    "Atlanten dürfen nicht ins Ausland mitgenommen werden."
)
SOURCES = [make_chunk(LIBRARY, "library"), make_chunk(MILL, "mill")]


def _ground(answer: str, *, strict: bool = False) -> GroundedAnswer:
    return ground_answer(answer, SOURCES, FakeEmbedding(256), KeywordTokeniser(), strict=strict)


def _verdict(answer: str) -> Verdict:
    return _ground(answer).sentences[0].verdict


@pytest.mark.parametrize(
    "honest",
    [
        "The Harbour Library was founded by Anna Berg in 1874.",
        "Anna Berg founded the Harbour Library in 1874.",
        "In 1874, the Harbour Library was founded by Anna Berg.",
        "According to the documents, children may borrow 7 books for 28 days.",
        "The Harbour Library lends 3000 atlases to readers in Oldtown.",
        "Atlases mustn't be taken abroad.",
        "In 1901 the mill burnt down and about 40% of the grain was lost.",
        "The old map was sold to Clara Wood by Tom Reed.",
        "Children may borrow seven books for 28 days, and atlases must not be taken abroad.",
        "The Blue Mill burnt down in 1901.",
    ],
)
def test_a_paraphrase_of_a_source_is_supported(honest: str) -> None:
    assert _verdict(honest) == "supported"


@pytest.mark.parametrize(
    ("untrue", "reason"),
    [
        ("The Harbour Library was founded by Anna Berg in 1847.", "1847"),
        ("Children may borrow nine books for 28 days.", "nine"),
        ("The Harbour Library was founded by Clara Wood in 1874.", "Clara Wood"),
        ("The Harbour Library was founded by Peter Stein in 1874.", "missing from the closest sentences: Peter, Stein"),
        ("Atlases must be taken abroad.", "Denied"),
        ("Children may not borrow seven books for 28 days.", "Denied"),
        ("The reading room was closed after the flood because the roof leaked.", "opposite words"),
        ("Clara Wood sold the old map to Tom Reed.", "changed places"),
        ("The mill burnt down in 1874.", "1874"),
        ("About 60 percent of the grain was lost.", "60"),
        ("Children may borrow 28 books for seven days.", "changed places"),
    ],
)
def test_a_sentence_that_differs_from_the_source_in_one_fact_is_marked_with_a_reason(untrue: str, reason: str) -> None:
    sentence = _ground(untrue).sentences[0]
    assert sentence.verdict in {"partly", "unsupported"}
    assert reason in " ".join(sentence.reasons)


LEASE = (
    "The tenant pays the rent on the third day of each month. The tenant may end the lease with a notice of 60 days. "
    "The landlord may end the lease with a notice of 90 days. The tenant may keep one cat. Dogs are not allowed. "
    "The landlord returns the deposit within 28 days after the tenant has left."
)


@pytest.mark.parametrize(
    ("text", "supported"),
    [
        ("The landlord pays the rent on the third day of each month.", False),
        ("The tenant may end the lease with a notice of 90 days.", False),
        ("The landlord may end the lease with a notice of 60 days.", False),
        ("The tenant may keep one dog.", False),
        ("The tenant returns the deposit within 28 days after the landlord has left.", False),
        ("On the third day of each month, the tenant pays the rent.", True),
        ("The tenant may end the lease with a notice of 60 days, and the landlord with a notice of 90 days.", True),
        ("The landlord hands back the deposit within 28 days after the tenant has left.", True),
    ],
)
def test_a_sentence_with_another_word_of_the_chunks_in_the_place_of_one_is_not_supported(
    text: str, supported: bool
) -> None:
    grounded = ground_answer(text, [make_chunk(LEASE)], FakeEmbedding(256), KeywordTokeniser())
    assert (grounded.sentences[0].verdict == "supported") is supported, grounded.sentences[0]


def test_a_claim_that_no_source_mentions_is_unsupported() -> None:
    assert _verdict("The gardener plants tulips every spring near the gate.") == "unsupported"
    assert ground_answer("Anything.", [], FakeEmbedding(64), KeywordTokeniser()).sentences[0].verdict == "unsupported"


@pytest.mark.parametrize(
    "text",
    [
        "Hello!",
        "Here is what the documents say:",
        "I hope this helps.",
        "The documents do not say when the hall opens.",
        "Would you like to know more?",
        "## Atlases",
        "Yes.",
    ],
)
def test_a_sentence_without_a_claim_has_the_verdict_no_claim(text: str) -> None:
    assert _verdict(text) == "no claim"


def test_the_best_supporting_span_is_cited_whichever_source_the_language_model_cites() -> None:
    found = _ground("Anna Berg founded the Harbour Library in 1874 [2]. The mill burnt down in 1901.")
    assert [citation.source_id for citation in found.citations] == ["library", "mill"]
    assert found.citations[0].excerpt == "The Harbour Library was founded by Anna Berg in 1874."
    assert found.text == "Anna Berg founded the Harbour Library in 1874. [1] The mill burnt down in 1901. [2]"


def test_a_second_citation_that_does_not_support_its_sentence_is_reported_and_removed() -> None:
    found = _ground("Anna Berg founded the Harbour Library in 1874 [1][2].")
    assert found.sentences[0].verdict == "supported"
    assert found.sentences[0].unsupporting == (2,)
    assert found.text == "Anna Berg founded the Harbour Library in 1874. [1]"
    assert "1 citation of the answer does not support the cited sentence: removed." in found.notes


def test_two_citations_that_each_support_one_clause_together_support_the_sentence() -> None:
    found = _ground("Atlases must not be taken abroad, and in 1901 the mill burnt down [1][2].")
    assert found.sentences[0].unsupporting == ()


@pytest.mark.parametrize("number", ["1. ", "2) ", "(3) ", "Step 4: ", "17. "])
def test_the_number_of_a_list_item_is_not_checked_as_a_claim(number: str) -> None:
    found = _ground(f"{number}Children may borrow seven books for 28 days.")
    assert {one.verdict for one in found.sentences} <= {"supported", "no claim"}
    assert "supported" in {one.verdict for one in found.sentences}


def test_a_false_number_within_a_list_item_is_not_supported() -> None:
    assert "unsupported" in {one.verdict for one in _ground("1. Children may borrow 9 books for 28 days.").sentences}


@pytest.mark.parametrize(
    "framing", ["The passage describes the Harbour Library.", "The text explains the rules of a library."]
)
def test_a_sentence_that_only_introduces_the_answer_makes_no_claim(framing: str) -> None:
    assert _verdict(framing) == "no claim"


def test_a_sentence_that_starts_with_the_text_explains_that_is_checked_as_a_claim() -> None:
    assert _verdict("The text explains that the mill burnt down in 1950.") == "unsupported"


def test_citation_numbers_without_a_source_are_removed_with_a_note() -> None:
    found = _ground("The mill burnt down in 1901. [2][7] Atlases must not be taken abroad [1, 9].")
    assert "[7]" not in found.text
    assert any("[7], [9]" in note for note in found.notes)


def test_in_strict_mode_the_answer_leaves_out_unsupported_sentences() -> None:
    answer = "The mill burnt down in 1901. The gardener plants tulips every spring. Atlases must not be taken abroad."
    assert "tulips" in _ground(answer).text
    strict = _ground(answer, strict=True)
    assert strict.text == "The mill burnt down in 1901. [1] Atlases must not be taken abroad. [2]"
    assert any("left out" in note for note in strict.notes)


def test_a_claim_that_combines_two_source_sentences_cites_both_sentences() -> None:
    found = _ground("Children may borrow seven books for 28 days, but atlases must not be taken abroad.")
    assert [citation.excerpt[:8] for citation in found.citations] == ["Children", "Atlases "]


CONDITIONS = (
    "To receive donated leave, you must have all of the following:\n\n"
    "- Exhausted all leave balances (annual, sick, award)\n"
    "- An anticipated negative balance of at least 24 hours\n"
    "- A medical condition that is likely to require your absence for a prolonged period"
)


@pytest.mark.parametrize(
    ("hours", "verdict"),
    [("24 hours", "supported"), ("48 hours", "unsupported")],
)
def test_a_sentence_that_joins_the_items_of_a_list_is_compared_with_all_of_them(hours: str, verdict: Verdict) -> None:
    claim = (
        f"You must have exhausted all leave balances (annual, sick, award), have an anticipated negative balance of at "
        f"least {hours}, and a medical condition that is likely to require your absence for a prolonged period."
    )
    sentence = ground_answer(claim, [make_chunk(CONDITIONS)], FakeEmbedding(256), KeywordTokeniser()).sentences[0]
    assert sentence.verdict == verdict
    assert len(sentence.quotes) == (3 if verdict == "supported" else 0)


def test_cited_excerpts_are_the_words_at_their_span() -> None:
    for citation in _ground("It lends atlases to readers in Oldtown. The Blue Mill stands on the River Ash.").citations:
        text = LIBRARY if citation.source_id == "library" else MILL
        assert citation.excerpt == text[slice(*citation.span)]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Anna Berg hat die Bibliothek 1874 gegründet.", "supported"),
        ("Kinder dürfen 7 Bücher ausleihen.", "supported"),
        ("Die Bibliothek wurde 1857 von Anna Berg gegründet.", "unsupported"),
        ("Atlanten dürfen ins Ausland mitgenommen werden.", "unsupported"),
        ("Kinder dürfen keine sieben Bücher ausleihen.", "unsupported"),
        ("Hier ist, was in den Dokumenten steht:", "no claim"),
    ],
)
def test_german_answers_are_checked_like_english_answers(text: str, verdict: Verdict) -> None:
    found = ground_answer(text, [make_chunk(GERMAN)], FakeEmbedding(256), KeywordTokeniser("de"))
    assert found.sentences[0].verdict == verdict


@settings(max_examples=generated(20))
@given(st.text(max_size=300))
def test_any_answer_text_is_checked_without_error_and_cites_only_existing_sources(answer: str) -> None:
    found = _ground(answer)
    assert 0.0 <= found.share <= 1.0
    assert all(f"[{number}]" in found.text for number in range(1, len(found.citations) + 1))
