"""Errors, limits and time-outs are handled as Ollama 0.32.15 was observed to produce them."""

import json
from typing import Any

import httpx
import pytest
from elt_llm_core.errors import ModelRefused, ModelTimeout, PromptTooLong
from elt_llm_core.models.completion import complete_prompt
from elt_llm_core.models.ollama import OllamaServer
from model_servers.backends import ScriptedBackend, WindowBehaviour
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from model_servers.settings import open_embedding, open_llm, settings_of

LONG = "word, " * 1200  # 2400 tokens of the scripted model


def _post(server: ModelHttpServer, path: str, **body: Any) -> httpx.Response:
    return httpx.post(server.address + path, json={"model": server.backend.name, **body}, trust_env=False)


def _chat(server: ModelHttpServer, content: str = "Is it so?", **body: Any) -> httpx.Response:
    messages = [{"role": "user", "content": content}]
    return _post(server, "/api/chat", messages=messages, stream=False, options={"num_ctx": 1024}, **body)


def test_requests_from_another_client_with_equal_options_do_not_reload_the_model() -> None:
    with running_model_server(ScriptedBackend()) as server, open_llm(settings_of("ollama", server)) as llm:
        for _ in range(2):
            _chat(server)
            complete_prompt(llm, "Is it so?")
        assert len(server.launches) == 1
        _chat(server, shift=False)
        assert len(server.launches) == 2


def test_the_error_for_a_long_prompt_states_its_tokens_and_the_limit_without_raw_json() -> None:
    with (
        running_model_server(ScriptedBackend(context_length=8192)) as server,
        open_llm(settings_of("ollama", server)) as llm,
        pytest.raises(PromptTooLong, match=r"2400 tokens, and Ollama at .* reads 1024 with") as caught,
    ):
        complete_prompt(llm, LONG)
    assert "{" not in str(caught.value)
    assert caught.value.hint.startswith("Raise ollama.context_window")


@pytest.mark.parametrize(
    ("configured", "hint"),
    [(1024, "Lower llm.max_context_tokens"), (2048, "Set ollama.context_window to 1024")],
)
def test_the_hint_does_not_suggest_a_context_window_above_the_limit_of_the_model(configured: int, hint: str) -> None:
    with (
        running_model_server(ScriptedBackend(context_length=1024)) as server,
        open_llm(settings_of("ollama", server, ollama={"context_window": configured})) as llm,
        pytest.raises(PromptTooLong) as caught,
    ):
        complete_prompt(llm, LONG)
    assert caught.value.hint.startswith(hint)


def test_a_chat_model_configured_as_embedding_model_is_reported_before_any_text_is_sent() -> None:
    with (
        running_model_server(ScriptedBackend(capabilities=("completion",))) as server,
        open_embedding(settings_of("ollama", server)) as model,
        pytest.raises(ModelRefused, match="'scripted:latest', which is a chat model") as caught,
    ):
        model.embed_question("Is it so?")
    assert "embedding.model" in caught.value.hint
    assert server.bodies("/api/embed") == []


def test_an_answer_that_exceeds_the_context_window_has_the_finish_reason_length() -> None:
    with (
        running_model_server(ScriptedBackend(["so it is " * 50], context_length=512)) as server,
        open_llm(settings_of("ollama", server, ollama={"context_window": 512, "num_predict": 400})) as llm,
    ):
        assert complete_prompt(llm, "word, " * 220).finish == "length"


def test_a_request_with_another_seed_has_a_temperature_above_zero() -> None:
    with running_model_server(ScriptedBackend()) as server, open_llm(settings_of("ollama", server)) as llm:
        complete_prompt(llm, "Is it so?")
        complete_prompt(llm, "Is it so?", another_seed=True)
        first, second = (body["options"] for body in server.bodies("/api/chat"))
    assert first["temperature"] == 0
    assert second["temperature"] > 0
    assert second["seed"] != first.get("seed")


def test_an_answer_that_ollama_ends_after_thirty_one_equal_pieces_counts_as_truncated() -> None:
    with (
        running_model_server(ScriptedBackend(["so " * 40])) as server,
        open_llm(settings_of("ollama", server, ollama={"num_predict": 100})) as llm,
    ):
        assert complete_prompt(llm, "Is it so?").finish == "cut off"


def _timeout(server: ModelHttpServer) -> ModelTimeout:
    server.faults.always("/api/chat", Fault.HANG)
    with (
        open_llm(settings_of("ollama", server, patience=0.3)) as llm,
        pytest.raises(ModelTimeout) as caught,
    ):
        complete_prompt(llm, "Is it so?")
    return caught.value


def test_the_time_out_error_names_the_busy_server_if_the_model_waits_for_memory() -> None:
    with running_model_server(ScriptedBackend()) as server:
        server.other_models.append("big:70b")
        error = _timeout(server)
    assert "'scripted:latest' is waiting for memory that is used by big:70b" in str(error)
    assert error.hint.startswith("Run: ollama stop big:70b")


def test_the_time_out_error_names_a_loaded_model_that_hangs() -> None:
    with running_model_server(ScriptedBackend()) as server:
        _chat(server)
        server.other_models.append("big:70b")
        error = _timeout(server)
    assert "although it lists 'scripted:latest' as loaded" in str(error)
    assert "smaller model" in error.hint


def test_the_time_out_error_states_that_the_server_has_not_loaded_the_model_yet() -> None:
    with running_model_server(ScriptedBackend()) as server:
        assert "it has not loaded 'scripted:latest' yet" in str(_timeout(server))


def test_the_time_out_error_for_a_server_that_answers_no_request_has_no_details() -> None:
    with running_model_server(ScriptedBackend()) as server:
        server.faults.always("/api/ps", Fault.HANG)
        assert str(_timeout(server)).endswith("sent nothing for the time allowed")


def test_an_invalid_keep_alive_is_refused_with_its_setting() -> None:
    with (
        running_model_server(ScriptedBackend()) as server,
        open_llm(settings_of("ollama", server, ollama={"keep_alive": "soon"})) as llm,
        pytest.raises(ModelRefused, match='invalid duration "soon"') as caught,
    ):
        complete_prompt(llm, "Is it so?")
    assert "ollama.keep_alive" in caught.value.hint


def test_ollama_lists_capabilities_and_sizes_of_its_models() -> None:
    with running_model_server(ScriptedBackend(capabilities=("completion", "thinking"))) as server:
        with OllamaServer(settings_of("ollama", server), "scripted") as asked:
            model = asked.find()
        (entry,) = httpx.get(f"{server.address}/api/tags", trust_env=False).json()["models"]
    assert model.capabilities == {"completion", "thinking"}
    assert model.lacks("embedding")
    assert {"context_length", "embedding_length"} <= set(entry["details"])


def test_the_fake_server_refuses_long_prompts_as_ollama_does() -> None:
    with running_model_server(ScriptedBackend()) as server:
        nested = _chat(server, LONG, truncate=False)
        plain = _chat(server, LONG, truncate=True, shift=False)
    assert (nested.status_code, plain.status_code) == (400, 400)
    error = json.loads(nested.json()["error"])["error"]
    assert (error["n_prompt_tokens"], error["n_ctx"], error["type"]) == (2400, 1024, "exceed_context_size_error")
    assert plain.json()["error"].startswith("the prompt is longer than the context length currently available")


def test_the_fake_server_truncates_prompts_to_half_the_window_as_ollama_does() -> None:
    with running_model_server(ScriptedBackend(behaviour=WindowBehaviour(cuts="to half of it"))) as server:
        assert _chat(server, LONG, truncate=True, shift=True).json()["prompt_eval_count"] == 514


def test_the_fake_server_embeds_texts_as_ollama_does() -> None:
    with running_model_server(ScriptedBackend()) as server:
        (vector,) = _post(server, "/api/embed", input=["A text."]).json()["embeddings"]
        empty, none = _post(server, "/api/embed", input=""), _post(server, "/api/embed", input=[])
        long = _post(server, "/api/embed", input=LONG, truncate=False)
    assert sum(value * value for value in vector) == pytest.approx(1.0)
    assert (empty.status_code, empty.json()["error"]) == (400, "Input content cannot be empty")
    assert (none.status_code, none.json()["embeddings"]) == (200, [])
    assert (long.status_code, long.json()["error"]) == (400, "the input length exceeds the context length")


def test_the_fake_server_lists_loaded_models_with_their_context_window() -> None:
    with running_model_server(ScriptedBackend(context_length=8192)) as server:
        listed = f"{server.address}/api/ps"
        assert httpx.get(listed, trust_env=False).json() == {"models": []}
        _post(server, "/api/chat", messages=[{"role": "user", "content": "x"}], options={"num_ctx": 200000})
        server.other_models.append("big:70b")
        first, other = httpx.get(listed, trust_env=False).json()["models"]
    assert first["context_length"] == 8192
    assert other["name"] == "big:70b"


def test_the_fake_server_reports_a_missing_model_as_ollama_does() -> None:
    with running_model_server(ScriptedBackend()) as server:
        reply = _post(server, "/api/chat", model="nope", messages=[])
    assert (reply.status_code, reply.json()["error"]) == (404, "model 'nope' not found")
