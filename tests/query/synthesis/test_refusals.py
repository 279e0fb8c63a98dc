import pytest
from elt_llm_query.synthesis.drafting import AnswerTask, create_synthesis
from elt_llm_query.synthesis.refusals import goes_beyond_refusal, is_refusal
from model_servers.scripted_model import CollectedText, MakeCalls

REFUSALS = (
    "",
    " \n ",
    "[1]",
    "Not found in these documents.",
    "**Not found in these documents.** The closest is [2].",
    "The sources do not say how long films may be kept.",
    "I'm sorry, the provided documents do not mention films [1].",
    "Here is what I found: the loan period is not stated in the sources.",
    "In diesen Dokumenten nicht gefunden.",
    "Šiuose dokumentuose nerasta.",
    "Introuvable dans ces documents.",
    "No se encuentra en estos documentos.",
    "Šaltiniuose apie tai nerašoma [1].",
)
ANSWERS = (
    "Books may be borrowed for four weeks [1]. The sources do not say how long films may be kept.",
    "The sources do not mention films. Books may be borrowed for four weeks [1].",
    "Books may be borrowed for four weeks [1], but the sources do not say anything about films.",
    "Bücher dürfen vier Wochen behalten werden [1]. Die Quellen nennen keine Frist für Filme.",
    "A book that was not found in the reading room is reported to the desk [1].",
)


@pytest.mark.parametrize("text", REFUSALS)
def test_a_text_that_only_reports_missing_information_is_a_refusal(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_a_partial_answer_is_not_a_refusal(text: str) -> None:
    assert not is_refusal(text)


def test_a_claim_after_a_refusal_is_detected() -> None:
    assert goes_beyond_refusal("Not found in these documents. However, a loan is renewed twice [1].")
    assert not goes_beyond_refusal("Not found in these documents. The sources do not say more.")


def test_a_refusal_for_one_collection_does_not_remove_the_answers_from_other_collections(
    task: AnswerTask, calls_of: MakeCalls
) -> None:
    first = "Books may be kept for four weeks [1]. The sources do not mention the reading room."
    second = "The reading room opens at nine [3]. The sources do not mention books."
    both = "Books may be kept for four weeks [1]. The reading room opens at nine [3]."
    calls = calls_of(first, second, both)
    draft = create_synthesis("simple", by_collection=True)(task, calls, CollectedText())
    assert draft.text == both
    assert len(calls.ledger) == 3
