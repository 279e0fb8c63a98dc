from collections.abc import Sequence
from typing import Any

import pytest
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_query.extractive.answerer import AnswerRequest, ExtractiveAnswerer
from elt_llm_query.retrieve.trace import StageLog
from elt_llm_query.search import SearchResult
from elt_llm_query.synthesis.iterative import (
    AnswerQuality,
    IterativeAnswerer,
    SearchStep,
    measure_quality,
    parse_step,
)
from elt_llm_query.synthesis.prompts import load_prompts
from model_servers.scripted_model import chunk

QUESTION = "Who approves the budget of the reading room?"
FIRST = chunk("The reading room opens at nine.", 0.9)
BUDGET = chunk("The budget is drawn up in May.", 0.5)
APPROVAL = chunk("The board approves it.", 0.4)


def measure(chunks: Sequence[RetrievedChunk], support: float = 0.0) -> AnswerQuality:
    return measure_quality(QUESTION, chunks, support, KeywordTokeniser(), lambda _: 1.0)


class Library:
    """A fake search, by meaning for the chunk BUDGET, by words for the chunk APPROVAL. It records the strategies."""

    def __init__(self) -> None:
        self.strategies: list[str | None] = []

    def search(self, _question: str, *, strategy: str | None, **_options: Any) -> SearchResult:
        self.strategies.append(strategy)
        return SearchResult((FIRST, BUDGET) if strategy is None else (APPROVAL,), (), ())


def looked(*replies: str, most_steps: int = 5) -> tuple[list[RetrievedChunk], Library, StageLog]:
    library, log = Library(), StageLog()
    settings = Settings.model_validate({"answer": {"further_steps": most_steps}})
    extractive, remaining = ExtractiveAnswerer(FakeEmbedding(), KeywordTokeniser()), iter(replies)
    answerer = IterativeAnswerer(ScriptedLLM(), library, [], extractive, settings, load_prompts(None))  # type: ignore[arg-type]
    request = AnswerRequest(QUESTION, [FIRST])
    found = answerer._search_further(request, measure([FIRST]), lambda _name, _values: (next(remaining), {}), log)
    return found, library, log


def test_an_answer_is_not_good_enough_if_its_chunks_lack_words_of_the_question() -> None:
    poor, whole = measure([FIRST], support=0.9), measure([FIRST, BUDGET, APPROVAL], support=0.9)
    assert (poor.is_enough, poor.missing) == (False, ("approv", "budget"))
    assert (whole.is_enough, whole.missing) == (True, ())
    assert not measure([FIRST, BUDGET, APPROVAL], support=0.1).is_enough


def test_interrogative_words_are_never_listed_as_missing() -> None:
    found = measure_quality("How long may a book be kept?", [FIRST], 0.9, KeywordTokeniser(), lambda _: 1.0)
    assert found.missing == ("book", "kept")


def test_search_steps_continue_until_no_question_word_is_missing() -> None:
    found, library, log = looked("RETRIEVE: What is the budget?", "KEYWORD: approves", "never asked for")
    assert library.strategies == [None, "sparse"]
    assert found == [FIRST, BUDGET, APPROVAL]
    assert [stage.name for stage in log.stages] == ["step 1", "step 2"]
    assert log.stages[0].details["added"] == [BUDGET.node_id]


def test_iterative_search_ends_if_the_model_replies_done_at_the_first_step() -> None:
    found, library, log = looked("DONE")
    assert (found, library.strategies, len(log.stages)) == ([FIRST], [], 1)


def test_the_number_of_search_steps_is_limited() -> None:
    _, library, _ = looked(*["RETRIEVE: What is the budget?"] * 9, most_steps=3)
    assert len(library.strategies) == 3


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        ("RETRIEVE: Who approves?", SearchStep("RETRIEVE", "Who approves?")),
        ("I would say\n**KEYWORD**: A3.1 budget", SearchStep("KEYWORD", "A3.1 budget")),
        ('GRAPH - "Reading room"', SearchStep("GRAPH", "Reading room")),
        ("DONE.", SearchStep("DONE")),
        ("RETRIEVE:\nKEYWORD: room", SearchStep("KEYWORD", "room")),
        ("I do not know what to do.", SearchStep("DONE")),
        ("", SearchStep("DONE")),
    ],
)
def test_only_the_first_search_step_in_a_reply_of_the_model_is_parsed(reply: str, step: SearchStep) -> None:
    assert parse_step(reply) == step
