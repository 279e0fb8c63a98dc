import pytest
from elt_llm_core.models.fakes import ScriptedLLM
from elt_llm_core.models.token_counts import TokenUpperBound
from elt_llm_core.settings.tree import Settings
from elt_llm_query.synthesis.calls import ContextWindow, ModelCalls, context_window_of, number_sources
from elt_llm_query.synthesis.drafting import AnswerTask
from elt_llm_query.synthesis.prompts import load_prompts
from model_servers.scripted_model import CHUNKS, QUESTION, MakeCalls, check


@pytest.fixture
def task() -> AnswerTask:
    return AnswerTask(QUESTION, tuple(number_sources(CHUNKS)), load_prompts(None), check, Settings())


@pytest.fixture
def window() -> ContextWindow:
    return context_window_of(ScriptedLLM(), TokenUpperBound(), 4000)


@pytest.fixture
def calls_of(window: ContextWindow) -> MakeCalls:
    """A function that makes model calls which return these replies in order."""

    def make(*responses: str) -> ModelCalls:
        return ModelCalls(ScriptedLLM(responses), window)

    return make
