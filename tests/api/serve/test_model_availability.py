"""A model may start after the server and then writes the answers; once the model has stopped, answers are quotes."""

import asyncio
from pathlib import Path

import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.questions import AskRequest, QuestionActions
from elt_llm_api.serve.engines import ModelAvailability
from elt_llm_api.serve.services import Services, open_services
from elt_llm_core.errors import UsageError
from elt_llm_core.results import QueryResult
from elt_llm_core.settings.loader import load_settings
from model_servers.backends import ScriptedBackend
from model_servers.http_server import running_model_server
from processes.command_line import FAKE
from served.answering_server import ANSWER, QUESTION, copied_project

BACKEND = ScriptedBackend((ANSWER,), context_length=16384)


def asked(services: Services) -> QueryResult:
    return asyncio.run(QuestionActions(services).ask(LOCAL, AskRequest(question=QUESTION)))


@pytest.mark.network
def test_a_model_that_starts_or_stops_later_is_noticed_without_a_restart(sample_folder: Path, tmp_path: Path) -> None:
    with running_model_server(BACKEND) as once:
        address, port = once.address, once.port
    environment = {
        **FAKE,
        "ELT_LLM_OLLAMA__BASE_URL": address,
        "ELT_LLM_OLLAMA__LLM_MODEL": BACKEND.name,
    }
    loaded = load_settings(None, environment, copied_project(sample_folder, tmp_path / "project"))
    with open_services(loaded, model_check_seconds=0.0) as services:
        before = asked(services)
        with running_model_server(BACKEND, port):
            amid = asked(services)
        after = asked(services)
    assert [one.metadata["model"] == "extractive" for one in (before, amid, after)] == [True, False, True]
    assert any("cannot be reached" in note for note in before.notes)
    assert not any("cannot be reached" in note for note in amid.notes)
    assert any("cannot be reached" in note for note in after.notes)


def test_the_availability_of_a_model_is_checked_at_intervals_for_each_profile() -> None:
    looks: list[str] = []
    now = [0.0]

    def look(profile: str) -> bool:
        looks.append(profile)
        return len(looks) > 1

    watch = ModelAvailability(look, 30.0, lambda: now[0])
    assert [watch.is_available("default") for _ in range(3)] == [False, False, False]
    now[0] = 31.0
    assert watch.is_available("default")
    assert watch.is_available("fast")
    assert looks == ["default", "default", "fast"]


def test_an_unknown_profile_is_not_stored_in_the_availability_cache() -> None:
    looks: list[str] = []

    def look(profile: str) -> bool:
        looks.append(profile)
        raise UsageError(f"There is no profile '{profile}'.")

    watch = ModelAvailability(look, 30.0)
    for _ in range(2):
        with pytest.raises(UsageError):
            watch.is_available("nothing")
    assert looks == ["nothing", "nothing"]
