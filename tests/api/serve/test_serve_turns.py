"""What only computes takes turns; what waits for a model does not, and keeps nobody from computing."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from answering import ANSWER, QUESTION, copied, every_turn_taken
from command_line import FAKE
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.asking import Asking, AskRequest, SearchRequest
from elt_llm_api.serve.services import Services, open_services
from elt_llm_core.settings import StrategyName
from elt_llm_core.settings_loader import load_settings
from model_backends import ScriptedBackend
from model_http_server import running_model_server

pytestmark = pytest.mark.network
BACKEND = ScriptedBackend((ANSWER,), context_length=16384)


@pytest.fixture(scope="module")
def services(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Over the samples, with a model that answers at once."""
    folder = copied(sample_folder, tmp_path_factory.mktemp("turns") / "project")
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
    """Whether a search waits for a turn; it is answered in the end."""
    searching = asyncio.ensure_future(
        Asking(services).search(LOCAL, SearchRequest(question=QUESTION, strategy=strategy))
    )
    with every_turn_taken(services.workers):
        done, _ = await asyncio.wait([searching], timeout=2.0 if strategy in {None, "dense"} else 60.0)
    assert (await searching).chunks
    return not done


@pytest.mark.parametrize("strategy", [None, "dense"])
def test_a_search_that_asks_no_model_waits_for_its_turn(services: Services, strategy: StrategyName | None) -> None:
    asyncio.run(Asking(services).search(LOCAL, SearchRequest(question="Who keeps the keys?")))  # all is open
    assert asyncio.run(is_kept_waiting(services, strategy))


def test_a_search_that_a_model_helps_waits_for_no_turn(services: Services) -> None:
    assert not asyncio.run(is_kept_waiting(services, "hyde"))


def test_an_answer_that_a_model_writes_waits_for_no_turn(services: Services) -> None:
    with every_turn_taken(services.workers):
        result = asyncio.run(Asking(services).ask(LOCAL, AskRequest(question=QUESTION)))
    assert result.metadata["model"] != "extractive"
