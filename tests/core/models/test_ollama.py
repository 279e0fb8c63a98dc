"""The models of an Ollama server are listed, and those that its hosted service runs are recognised."""

from collections.abc import Iterator
from typing import Any

import pytest
from elt_llm_core.errors import ModelMissing, SettingsError
from elt_llm_core.models.factory import choose_llm
from elt_llm_core.models.ollama import OllamaServer, is_cloud_model, same_model
from elt_llm_core.models.ollama_llm import create_ollama_llm
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from model_servers.settings import settings_of


@pytest.fixture
def server() -> Iterator[ModelHttpServer]:
    with running_model_server(ScriptedBackend(name="qwen2.5:14b")) as running:
        yield running


def test_ollama_models_are_listed_with_their_digests(server: ModelHttpServer) -> None:
    with OllamaServer(settings_of("ollama", server), "qwen2.5:14b") as asked:
        (model,) = asked.models()
        assert (model.name, model.digest, model.remote) == ("qwen2.5:14b", server.backend.digest, False)
        assert asked.find() == model
        assert asked.context_length() == server.backend.context_length


def test_requesting_a_model_that_ollama_lacks_raises_model_missing(server: ModelHttpServer) -> None:
    with OllamaServer(settings_of("ollama", server), "qwen2.5:7b") as asked, pytest.raises(ModelMissing) as caught:
        asked.find()
    assert caught.value.hint == "Run: ollama pull qwen2.5:7b"


@pytest.mark.parametrize(
    ("listed", "wanted", "same"),
    [
        ("nomic-embed-text:latest", "nomic-embed-text", True),
        ("Qwen2.5:14B", "qwen2.5:14b", True),
        ("registry.local:5000/me/model:latest", "registry.local:5000/me/model", True),
        ("qwen2.5:14b", "qwen2.5", False),
        ("nomic-embed-text:v1.5", "nomic-embed-text", False),
    ],
)
def test_a_model_name_without_a_tag_means_the_tag_latest(listed: str, wanted: str, same: bool) -> None:
    assert same_model(listed, wanted) is same


@pytest.mark.parametrize(
    ("name", "hosted"), [("gpt-oss:120b-cloud", True), ("glm:cloud", True), ("cloud", False), ("cloud:7b", False)]
)
def test_a_model_of_the_hosted_service_is_recognised_by_its_tag(name: str, hosted: bool) -> None:
    assert is_cloud_model(name) is hosted


def test_a_hosted_model_is_refused_unless_remote_models_are_allowed() -> None:
    with running_model_server(ScriptedBackend(name="gpt-oss:120b-cloud")) as server:
        settings = settings_of("ollama", server)
        with pytest.raises(SettingsError, match="hosted service"):
            create_ollama_llm(settings)
        with OllamaServer(settings, "gpt-oss:120b-cloud") as asked, pytest.raises(SettingsError, match="hosted"):
            asked.find()
        allowed = settings_of("ollama", server, network={"allow_remote_models": True})
        create_ollama_llm(allowed).close()


def test_the_setting_llm_provider_auto_uses_ollama_if_the_server_has_the_model(server: ModelHttpServer) -> None:
    chosen = choose_llm(settings_of("auto", server))
    assert chosen.llm is not None
    assert chosen.note == ""
    chosen.llm.close()  # type: ignore[attr-defined]  # of Ollama's


NOTES: list[tuple[dict[str, Any], Fault, str]] = [
    ({"llm_model": "other:7b"}, Fault.NONE, "Run: ollama pull other:7b."),
    ({}, Fault.LOADING, "loading model"),
    ({}, Fault.NOT_JSON, "cannot be read"),
    ({"connect_timeout": 0.3}, Fault.HANG, "sent nothing"),
    ({"base_url": "http://127.0.0.1:9"}, Fault.NONE, "Run: ollama serve."),
    ({"base_url": "https://models.example.com"}, Fault.NONE, "allow_remote_models"),
]


@pytest.mark.parametrize(("section", "fault", "words"), NOTES)
def test_with_the_setting_llm_provider_auto_a_note_explains_why_no_model_is_used(
    server: ModelHttpServer, section: dict[str, Any], fault: Fault, words: str
) -> None:
    server.faults.always("/api/tags", fault)
    chosen = choose_llm(settings_of("auto", server, ollama=section))
    assert chosen.llm is None
    assert words in chosen.note


def test_requests_to_ollama_ignore_proxies_set_in_environment_variables(
    server: ModelHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OLLAMA_HOST"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with OllamaServer(settings_of("ollama", server), "qwen2.5:14b") as asked:
        assert asked.find().name == "qwen2.5:14b"
