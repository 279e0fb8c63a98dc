"""Work that only computes takes turns. Work that waits for a model does not block other work."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.questions import AskRequest, QuestionActions, SearchRequest
from elt_llm_api.serve.services import Services, open_services
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.tree import StrategyName
from model_servers.backends import ScriptedBackend
from model_servers.http_server import running_model_server
from processes.command_line import FAKE
from served.answering_server import ANSWER, QUESTION, copied_project, every_turn_taken

pytestmark = pytest.mark.network
BACKEND = ScriptedBackend((ANSWER,), context_length=16384)


@pytest.fixture(scope="module")
def services(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Open services over the samples, with a model that responds at once."""
    folder = copied_project(sample_folder, tmp_path_factory.mktemp("turns") / "project")
    with running_model_server(BACKEND) as model:
        environment = {
            **FAKE,
            "ELT_LLM_LLM__PROVIDER": "ollama",
            "ELT_LLM_OLLAMA__BASE_URL": model.address,
            "ELT_LLM_OLLAMA__LLM_MODEL": BACKEND.name,
        }
        with open_services(load_settings(None, environment, folder)) as opened:
            yield opened


async def is_kept_waiting(services: Services, strategy: StrategyName | None) -> bool:
    """Return whether a search waits for a turn. The search finishes afterwards."""
    searching = asyncio.ensure_future(
        QuestionActions(services).search(LOCAL, SearchRequest(question=QUESTION, strategy=strategy))
    )
    with every_turn_taken(services.workers):
        done, _ = await asyncio.wait([searching], timeout=2.0 if strategy in {None, "dense"} else 60.0)
    assert (await searching).chunks
    return not done


@pytest.mark.parametrize("strategy", [None, "dense"])
def test_a_search_without_a_language_model_waits_while_other_searches_use_all_processors(
    services: Services, strategy: StrategyName | None
) -> None:
    asyncio.run(
        QuestionActions(services).search(LOCAL, SearchRequest(question="Who keeps the keys?"))
    )  # this opens the engine
    assert asyncio.run(is_kept_waiting(services, strategy))


def test_a_search_with_a_language_model_starts_while_other_searches_use_all_processors(services: Services) -> None:
    assert not asyncio.run(is_kept_waiting(services, "hyde"))


def test_an_answer_of_a_language_model_starts_while_other_searches_use_all_processors(services: Services) -> None:
    with every_turn_taken(services.workers):
        result = asyncio.run(QuestionActions(services).ask(LOCAL, AskRequest(question=QUESTION)))
    assert result.metadata["model"] != "extractive"
