"""A model that is started later than the server writes its answers, and one that ends leaves them quoted."""

import asyncio
from pathlib import Path

import pytest
from answering import ANSWER, QUESTION, copied
from command_line import FAKE
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.asking import Asking, AskRequest
from elt_llm_api.serve.model_watch import ModelWatch
from elt_llm_api.serve.services import Services, open_services
from elt_llm_core.errors import UsageError
from elt_llm_core.results import QueryResult
from elt_llm_core.settings_loader import load_settings
from model_backends import ScriptedBackend
from model_http_server import running_model_server

BACKEND = ScriptedBackend((ANSWER,), context_length=16384)


def asked(services: Services) -> QueryResult:
    return asyncio.run(Asking(services).ask(LOCAL, AskRequest(question=QUESTION)))


@pytest.mark.network
def test_a_model_that_is_started_and_ended_later_is_noticed_without_a_restart(
    sample_folder: Path, tmp_path: Path
) -> None:
    with running_model_server(BACKEND) as once:
        address, port = once.address, once.port
    environment = {
        **FAKE,
        "ELT_LLM_OLLAMA__BASE_URL": address,
        "ELT_LLM_OLLAMA__LLM_MODEL": BACKEND.name,
    }
    loaded = load_settings(None, environment, copied(sample_folder, tmp_path / "project"))
    with open_services(loaded, look_again=0.0) as services:
        before = asked(services)
        with running_model_server(BACKEND, port):
            amid = asked(services)
        after = asked(services)
    assert [one.metadata["model"] == "extractive" for one in (before, amid, after)] == [True, False, True]
    assert any("cannot be reached" in note for note in before.notes)
    assert not any("cannot be reached" in note for note in amid.notes)
    assert any("cannot be reached" in note for note in after.notes)


def test_a_model_is_looked_for_once_in_a_while_and_for_each_profile() -> None:
    looks: list[str] = []
    now = [0.0]

    def look(profile: str) -> bool:
        looks.append(profile)
        return len(looks) > 1

    watch = ModelWatch(look, 30.0, lambda: now[0])
    assert [watch.is_there("default") for _ in range(3)] == [False, False, False]
    now[0] = 31.0
    assert watch.is_there("default")
    assert watch.is_there("fast")
    assert looks == ["default", "default", "fast"]


def test_a_profile_that_there_is_not_is_not_remembered() -> None:
    looks: list[str] = []

    def look(profile: str) -> bool:
        looks.append(profile)
        raise UsageError(f"There is no profile '{profile}'.")

    watch = ModelWatch(look, 30.0)
    for _ in range(2):
        with pytest.raises(UsageError):
            watch.is_there("nothing")
    assert looks == ["nothing", "nothing"]
