"""A row asks the language model once more if its reply was broken off."""

import pytest
from elt_llm_consumer.runner.costs import RowPrompter, TokenCounter
from elt_llm_core.errors import UnusableReply
from elt_llm_core.models.fakes import ScriptedLLM, ScriptedReply

BROKEN = ScriptedReply("so so so", finish="cut off")


def _prompter(llm: ScriptedLLM) -> RowPrompter:
    return RowPrompter(llm, lambda: False, TokenCounter())


def test_a_truncated_model_reply_is_requested_once_more_and_both_calls_are_counted() -> None:
    prompt = _prompter(ScriptedLLM([BROKEN, "It is so."]))
    assert prompt("Is it so?") == "It is so."
    assert prompt.spent.calls == 2


def test_a_second_truncated_model_reply_fails_the_row() -> None:
    llm = ScriptedLLM([BROKEN, BROKEN, "It is so."])
    with pytest.raises(UnusableReply, match="cut off"):
        _prompter(llm)("Is it so?")
    assert len(llm.prompts) == 2


def test_a_model_reply_of_the_maximum_length_is_not_requested_again() -> None:
    llm = ScriptedLLM([ScriptedReply("It is", finish="length"), "It is so."])
    with pytest.raises(UnusableReply, match="length"):
        _prompter(llm)("Is it so?")
    assert len(llm.prompts) == 1
