import pytest
from elt_llm_query.synthesis import create_synthesis
from elt_llm_query.synthesis.drafting import Task
from elt_llm_query.synthesis.not_found import has_more_than_a_refusal, says_not_found
from written_answers import Heard, MakeCalls

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
def test_a_text_that_only_says_that_nothing_is_there_is_a_refusal(text: str) -> None:
    assert says_not_found(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_that_owns_what_it_cannot_say_is_none(text: str) -> None:
    assert not says_not_found(text)


def test_what_follows_a_refusal_is_seen() -> None:
    assert has_more_than_a_refusal("Not found in these documents. However, a loan is renewed twice [1].")
    assert not has_more_than_a_refusal("Not found in these documents. The sources do not say more.")


def test_each_collection_may_say_what_it_does_not_hold_and_the_rest_still_counts(
    task: Task, calls_of: MakeCalls
) -> None:
    first = "Books may be kept for four weeks [1]. The sources do not mention the reading room."
    second = "The reading room opens at nine [3]. The sources do not mention books."
    both = "Books may be kept for four weeks [1]. The reading room opens at nine [3]."
    calls = calls_of(first, second, both)
    draft = create_synthesis("simple", by_collection=True).draft(task, calls, Heard())
    assert draft.text == both
    assert len(calls.ledger) == 3
