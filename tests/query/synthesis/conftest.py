import pytest
from elt_llm_core.models.fakes import ScriptedLLM
from elt_llm_core.models.token_bound import TokenBound
from elt_llm_query.synthesis.budget import Window, window_of
from elt_llm_query.synthesis.calls import ModelCalls
from elt_llm_query.synthesis.drafting import Task
from elt_llm_query.synthesis.prompts import load_prompts
from elt_llm_query.synthesis.sources import number_sources
from written_answers import CHUNKS, QUESTION, MakeCalls, check


@pytest.fixture
def task() -> Task:
    return Task(QUESTION, tuple(number_sources(CHUNKS)), load_prompts(None), check)


@pytest.fixture
def window() -> Window:
    return window_of(ScriptedLLM(), TokenBound(), 4000)


@pytest.fixture
def calls_of(window: Window) -> MakeCalls:
    """Call it with what the model is to say, one after the other."""

    def make(*responses: str) -> ModelCalls:
        return ModelCalls(ScriptedLLM(responses), window)

    return make
