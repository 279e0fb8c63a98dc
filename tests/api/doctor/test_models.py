"""`elt-llm doctor` reports which models are installed, which are missing, and the command that installs them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from elt_llm_api.cli import run
from elt_llm_api.doctor.model_servers import container_advice, ollama_host_address
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from model_servers.settings import CLOSED
from model_servers.smollm import smollm_file
from optional import needs

pytestmark = pytest.mark.halved


Doctor = Callable[..., dict[str, dict[str, str]]]
OLLAMA = {"ELT_LLM_LLM__PROVIDER": "ollama"}
EMBEDS = {"ELT_LLM_EMBEDDING__PROVIDER": "ollama"}


@pytest.fixture
def doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Run `elt-llm doctor` in an empty folder with the fake embedding model; return the verdicts by check."""

    def examine(code: int = 0, **environment: str) -> dict[str, dict[str, str]]:
        assert run(["doctor", "--json"], {"ELT_LLM_EMBEDDING__PROVIDER": "fake", **environment}, tmp_path) == code
        return {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}

    return examine


@pytest.fixture
def server() -> Iterator[ModelHttpServer]:
    with running_model_server(ScriptedBackend(name="qwen2.5:14b")) as running:
        yield running


def at(address: str) -> dict[str, str]:
    return {"ELT_LLM_OLLAMA__BASE_URL": address}


def test_the_doctor_does_not_contact_ollama_if_no_setting_uses_ollama(doctor: Doctor) -> None:
    checks = doctor(ELT_LLM_LLM__PROVIDER="extractive", **at(CLOSED))
    names = ("ollama", "openai_like", "llama_cpp")
    assert all(checks[name]["detail"].startswith("not checked") for name in names)
    assert checks["ollama host"]["outcome"] == "ok"


def test_with_provider_auto_and_no_ollama_the_doctor_reports_that_answers_are_quotes(doctor: Doctor) -> None:
    check = doctor(**at(CLOSED))["ollama"]
    assert check["outcome"] == "ok"
    assert "answers are quotes from the chunks" in check["detail"]


def test_an_unreachable_ollama_server_fails_the_check_with_the_command_that_starts_it(doctor: Doctor) -> None:
    check = doctor(code=1, **OLLAMA, **at(CLOSED))["ollama"]
    assert check["detail"] == f"Ollama at {CLOSED} cannot be reached"
    assert check["hint"].startswith("Run: ollama serve")


def test_the_check_of_a_hanging_ollama_server_times_out(doctor: Doctor, server: ModelHttpServer) -> None:
    server.faults.always("/api/tags", Fault.HANG)
    assert "sent nothing" in doctor(code=1, **OLLAMA, **at(server.address))["ollama"]["detail"]


def test_missing_models_are_reported_with_the_commands_that_install_them(
    doctor: Doctor, server: ModelHttpServer
) -> None:
    check = doctor(code=1, ELT_LLM_OLLAMA__LLM_MODEL="other:7b", **OLLAMA, **EMBEDS, **at(server.address))["ollama"]
    assert check["detail"] == f"{server.address} lacks nomic-embed-text, other:7b; it has qwen2.5:14b"
    assert check["hint"] == "Run: ollama pull nomic-embed-text && ollama pull other:7b"


def test_with_provider_auto_a_configured_model_that_ollama_lacks_is_reported(
    doctor: Doctor, server: ModelHttpServer
) -> None:
    check = doctor(ELT_LLM_OLLAMA__LLM_MODEL="other:7b", **at(server.address))["ollama"]
    assert (check["outcome"], check["hint"]) == ("warn", "Run: ollama pull other:7b")


def test_installed_models_are_listed_with_the_purpose_they_are_used_for(
    doctor: Doctor, server: ModelHttpServer
) -> None:
    check = doctor(ELT_LLM_OLLAMA__EMBEDDING_MODEL="qwen2.5:14b", **OLLAMA, **EMBEDS, **at(server.address))["ollama"]
    assert check["detail"] == f"{server.address} has qwen2.5:14b (embedding and answers)"


def test_a_chat_model_configured_as_embedding_model_is_reported(doctor: Doctor) -> None:
    with running_model_server(ScriptedBackend(name="chat:7b", capabilities=("completion",))) as server:
        check = doctor(code=1, ELT_LLM_OLLAMA__EMBEDDING_MODEL="chat:7b", **EMBEDS, **at(server.address))["ollama"]
    assert "chat:7b" in check["detail"]
    assert "it is not an embedding model" in check["detail"]
    assert "embedding.model" in check["hint"]


def test_the_doctor_warns_if_the_variable_ollama_host_differs_from_the_configured_address(
    doctor: Doctor, server: ModelHttpServer
) -> None:
    check = doctor(OLLAMA_HOST="0.0.0.0:9999", **OLLAMA, **at(server.address))["ollama host"]
    assert (check["outcome"], check["hint"]) == ("warn", "Set ollama.base_url to http://localhost:9999")
    same = server.address.removeprefix("http://")
    assert doctor(OLLAMA_HOST=same, **OLLAMA, **at(server.address))["ollama host"]["outcome"] == "ok"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "host",
    ["me:hush@gpu:9", "http://me:hush@gpu", "https://hu@sh/hush@gpu:9", "http://gpu:hush", "hush@", "a:hush://b@c"],
)
def test_a_password_in_the_environment_variable_is_not_printed(
    doctor: Doctor, server: ModelHttpServer, host: str
) -> None:
    check = doctor(OLLAMA_HOST=host, **OLLAMA, **at(server.address))["ollama host"]
    assert check["outcome"] == "warn"
    assert "hush" not in f"{check['detail']} {check['hint']}"


def test_a_password_in_the_settings_is_not_printed(doctor: Doctor) -> None:
    checks = doctor(code=1, OLLAMA_HOST="gpu", **OLLAMA, **at("http://me:hush@gpu:9"))
    assert "hush" not in str(checks)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("gpu", "http://gpu:11434"),
        ("0.0.0.0", "http://localhost:11434"),  # noqa: S104 - understood, never bound
        ("https://gpu.lan:8443/", "https://gpu.lan:8443"),
        ("[::1]:5", "http://[::1]:5"),
        ("[::]", "http://localhost:11434"),
        ("me:hush@gpu:5", "http://gpu:5"),
    ],
)
def test_every_valid_form_of_the_variable_ollama_host_is_parsed(host: str, address: str) -> None:
    assert ollama_host_address(host) == address


def test_in_a_container_a_loopback_model_server_is_reported_with_the_address_of_the_host() -> None:
    assert "host.docker.internal" in container_advice("http://localhost:11434", inside=True)
    assert container_advice("http://localhost:11434", inside=False) == ""
    assert container_advice("http://gpu:11434", inside=True) == ""


def test_the_models_of_a_local_server_other_than_ollama_are_listed(doctor: Doctor, server: ModelHttpServer) -> None:
    needs("llama_index.llms.openai_like")
    chosen = {"ELT_LLM_LLM__PROVIDER": "openai_like", "ELT_LLM_OPENAI_LIKE__BASE_URL": server.openai_address}
    assert "llm_model is not set" in doctor(code=1, **chosen)["openai_like"]["detail"]
    check = doctor(ELT_LLM_LLM__MODEL="qwen2.5:14b", **chosen)["openai_like"]
    assert check["detail"] == f"{server.openai_address} has qwen2.5:14b"
    assert "not other" in doctor(code=1, ELT_LLM_LLM__MODEL="other", **chosen)["openai_like"]["detail"]


def test_an_api_key_within_the_model_list_of_a_server_is_masked(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("llama_index.llms.openai_like")
    monkeypatch.setenv("KEY_OF_THE_SERVER_IN_TESTS", "hush-7041")
    with running_model_server(ScriptedBackend(name="of hush-7041")) as server:
        chosen = {
            "ELT_LLM_LLM__PROVIDER": "openai_like",
            "ELT_LLM_OPENAI_LIKE__BASE_URL": server.openai_address,
            "ELT_LLM_OPENAI_LIKE__API_KEY_VARIABLE": "KEY_OF_THE_SERVER_IN_TESTS",
            "ELT_LLM_LLM__MODEL": "other",
        }
        check = doctor(code=1, **chosen)["openai_like"]
    assert "of ***" in check["detail"]
    assert "7041" not in f"{check['detail']} {check['hint']}"


def test_a_missing_model_file_is_reported(doctor: Doctor) -> None:
    needs("xllamacpp")
    chosen = {"ELT_LLM_LLM__PROVIDER": "llama_cpp"}
    assert "no model file" in doctor(code=1, **chosen)["llama_cpp"]["detail"]
    path = smollm_file()
    assert doctor(ELT_LLM_LLAMA_CPP__MODEL_PATH=str(path), **chosen)["llama_cpp"]["detail"] == path.name
