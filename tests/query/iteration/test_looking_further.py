from collections.abc import Sequence

import pytest
from elt_llm_core.models.fakes import ScriptedLLM
from elt_llm_core.models.token_bound import TokenBound
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.iteration.gate import Quality, quality_of
from elt_llm_query.iteration.loop import Looking, look_further
from elt_llm_query.iteration.steps import Step, read_step
from elt_llm_query.retrieve.stages import StageLog
from elt_llm_query.synthesis.budget import window_of
from elt_llm_query.synthesis.calls import ModelCalls
from elt_llm_query.synthesis.prompts import load_prompts
from written_answers import chunk

QUESTION = "Who approves the budget of the reading room?"
FIRST = chunk("The reading room opens at nine.", 0.9)
BUDGET = chunk("The budget is drawn up in May.", 0.5)
APPROVAL = chunk("The board approves it.", 0.4)


def measure(chunks: Sequence[RetrievedChunk], support: float = 0.0) -> Quality:
    return quality_of(QUESTION, chunks, support, KeywordTokeniser(), lambda _: 1.0)


class Library:
    """Finds the budget by meaning and the approval by words; remembers the steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def look(self, step: Step) -> list[RetrievedChunk]:
        self.steps.append(step)
        return [FIRST, BUDGET] if step.kind == "RETRIEVE" else [APPROVAL]


def looked(*replies: str, most_steps: int = 5) -> tuple[list[RetrievedChunk], Library, StageLog]:
    library, log = Library(), StageLog()
    llm = ScriptedLLM(replies)
    calls = ModelCalls(llm, window_of(llm, TokenBound(), 4000))
    looking = Looking(library.look, measure, load_prompts(None)["step"], most_steps)
    found = look_further(QUESTION, [FIRST], measure([FIRST]), looking, calls, log)
    return found, library, log


def test_the_gate_sees_what_of_the_question_is_missing() -> None:
    poor, whole = measure([FIRST], support=0.9), measure([FIRST, BUDGET, APPROVAL], support=0.9)
    assert (poor.is_enough, poor.missing) == (False, ("approv", "budget"))
    assert (whole.is_enough, whole.missing) == (True, ())
    assert not measure([FIRST, BUDGET, APPROVAL], support=0.1).is_enough


def test_what_only_asks_is_not_missed() -> None:
    found = quality_of("How long may a book be kept?", [FIRST], 0.9, KeywordTokeniser(), lambda _: 1.0)
    assert found.missing == ("book", "kept")


def test_a_step_by_meaning_is_followed_by_one_by_words_until_nothing_is_missing() -> None:
    found, library, log = looked("RETRIEVE: What is the budget?", "KEYWORD: approves", "never asked for")
    assert [step.kind for step in library.steps] == ["RETRIEVE", "KEYWORD"]
    assert found == [FIRST, BUDGET, APPROVAL]
    assert [stage.name for stage in log.stages] == ["step 1", "step 2"]
    assert log.stages[0].details["added"] == [BUDGET.node_id]


def test_the_model_may_be_done_at_once() -> None:
    found, library, log = looked("DONE")
    assert (found, library.steps, len(log.stages)) == ([FIRST], [], 1)


def test_the_steps_are_bounded() -> None:
    _, library, _ = looked(*["RETRIEVE: What is the budget?"] * 9, most_steps=3)
    assert len(library.steps) == 3


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        ("RETRIEVE: Who approves?", Step("RETRIEVE", "Who approves?")),
        ("I would say\n**KEYWORD**: A3.1 budget", Step("KEYWORD", "A3.1 budget")),
        ('GRAPH - "Reading room"', Step("GRAPH", "Reading room")),
        ("DONE.", Step("DONE")),
        ("RETRIEVE:\nKEYWORD: room", Step("KEYWORD", "room")),
        ("I do not know what to do.", Step("DONE")),
        ("", Step("DONE")),
    ],
)
def test_a_reply_is_read_as_its_first_step(reply: str, step: Step) -> None:
    assert read_step(reply) == step
