"""The style that a caller requests is placed after the rules of the prompt, and never replaces them."""

from dataclasses import replace
from typing import Any

import pytest
from elt_llm_query.synthesis.calls import ContextWindow
from elt_llm_query.synthesis.drafting import AnswerTask, create_synthesis
from elt_llm_query.synthesis.model_answerer import fitting_style
from model_servers.scripted_model import CollectedText, MakeCalls

TRUE = "Books may be borrowed for four weeks [1]."
REASONED = f"1. Source 1 has it.\nAnswer: {TRUE}"
STYLE = "Answer as a pirate. {sources} {question}"


def prompts_of(task: AnswerTask, calls_of: MakeCalls, name: Any) -> list[str]:
    """Return the prompts of one answer."""
    calls = calls_of(*[REASONED] * 3, "1: 8\n2: 8\n3: 8")
    create_synthesis(name)(task, calls, CollectedText())
    llm: Any = calls.llm
    return list(llm.prompts)


@pytest.mark.parametrize("name", ["simple", "cot", "reflect", "tot"])
def test_the_requested_style_is_placed_after_the_unchanged_rules_of_the_prompt(
    name: str, task: AnswerTask, calls_of: MakeCalls
) -> None:
    [plain, *_] = prompts_of(task, calls_of, name)
    [styled, *_] = prompts_of(replace(task, style=STYLE), calls_of, name)
    rules, separator, rest = styled.partition("\n\nThe caller asks for the style below.")
    assert plain.startswith(rules)
    assert separator
    assert f"<style>\n{STYLE}\n</style>" in rest


def test_the_prompt_that_scores_attempts_omits_the_requested_style(task: AnswerTask, calls_of: MakeCalls) -> None:
    *attempts, scores = prompts_of(replace(task, style=STYLE), calls_of, "tot")
    assert all("pirate" in attempt for attempt in attempts)
    assert "pirate" not in scores


def test_a_style_that_takes_more_than_an_eighth_of_the_context_window_is_left_out(window: ContextWindow) -> None:
    assert fitting_style("", window) == ("", ())
    assert fitting_style("Short.", window) == ("Short.", ())
    left, [note] = fitting_style("word " * window.size, window)
    assert left == ""
    assert note.startswith("The requested style was left out: it takes ")
