"""The JSON of the Ollama and OpenAI protocols, according to their published references."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from model_servers.backends import AnswerEnd, Backend

_MOMENT = "2026-01-01T00:00:00Z"


def ollama_tags(backend: Backend) -> dict[str, Any]:
    """The reply to GET /api/tags."""
    details = {"format": "gguf", "family": "llama", "parameter_size": "135M", "quantization_level": "Q4_1"}
    sizes = {"context_length": backend.context_length, "embedding_length": 32}
    model = {"name": backend.name, "model": backend.name, "modified_at": _MOMENT, "size": 1, "digest": backend.digest}
    return {"models": [{**model, "details": {**details, **sizes}, "capabilities": list(backend.capabilities)}]}


def ollama_show(backend: Backend) -> dict[str, Any]:
    """The reply to POST /api/show."""
    told = {"general.architecture": "llama", "llama.context_length": backend.context_length}
    return {
        "model_info": told,
        "capabilities": list(backend.capabilities),
        "template": "",
        "details": {"family": "llama"},
    }


def ollama_ps(backend: Backend, *, loaded: bool, others: Sequence[str] = ()) -> dict[str, Any]:
    """The reply to GET /api/ps, which lists every loaded model."""
    beside = [{"name": name, "model": name, "context_length": 4096} for name in others]
    if not loaded:
        return {"models": beside}
    told = {} if backend.loaded is None else {"context_length": backend.loaded}
    return {"models": [{"name": backend.name, "model": backend.name, "digest": backend.digest, **told}, *beside]}


def ollama_piece(backend: Backend, path: str, text: str) -> dict[str, Any]:
    """A line of the stream of /api/chat or /api/generate."""
    said = {"message": {"role": "assistant", "content": text}} if path == "/api/chat" else {"response": text}
    return {"model": backend.name, "created_at": _MOMENT, **said, "done": False}


def ollama_end(backend: Backend, path: str, end: AnswerEnd, *, text: str = "") -> dict[str, Any]:
    """The last line of a stream, or the whole reply if the request does not stream."""
    counts = {"prompt_eval_count": end.prompt_tokens, "eval_count": end.answer_tokens}
    durations = {"total_duration": 4, "load_duration": 1, "prompt_eval_duration": 1, "eval_duration": 2}
    last = {**ollama_piece(backend, path, text), "done": True, "done_reason": end.reason}
    return {**last, **durations, **{key: count for key, count in counts.items() if count >= 0}}


def ollama_vectors(backend: Backend, vectors: Sequence[Sequence[float]], tokens: int) -> dict[str, Any]:
    """The reply to POST /api/embed."""
    return {"model": backend.name, "embeddings": vectors, "total_duration": 2, "prompt_eval_count": tokens}


def openai_models(backend: Backend) -> dict[str, Any]:
    """The reply to GET /v1/models, with the field `meta` that llama-server adds."""
    meta = {"n_ctx_train": backend.context_length, "n_embd": 32, "n_params": 135, "size": 1}
    return {"object": "list", "data": [{"id": backend.name, "object": "model", "created": 1, "meta": meta}]}


def openai_piece(backend: Backend, text: str, *, reason: str | None = None) -> dict[str, Any]:
    """An event of the stream of /v1/chat/completions."""
    delta = {} if reason else {"role": "assistant", "content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": backend.name, "choices": [choice]}


def openai_usage(backend: Backend, end: AnswerEnd) -> dict[str, Any]:
    """The event after the last piece, where `stream_options.include_usage` asks for it."""
    return {**openai_piece(backend, ""), "choices": [], "usage": _usage(end)}


def openai_whole(backend: Backend, end: AnswerEnd, text: str) -> dict[str, Any]:
    """The reply to a request that does not stream."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": end.reason}
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": backend.name}
    return {**whole, "choices": [choice], "usage": _usage(end)}


def openai_vectors(backend: Backend, vectors: Sequence[Sequence[float]], tokens: int) -> dict[str, Any]:
    """The reply to POST /v1/embeddings."""
    data = [{"object": "embedding", "index": place, "embedding": one} for place, one in enumerate(vectors)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": backend.name, "usage": usage}


def error_body(path: str, message: str) -> bytes:
    """The body of an error reply in either protocol."""
    error: object = {"message": message, "type": "server_error"} if path.startswith("/v1/") else message
    return json.dumps({"error": error}).encode()


def too_long_message(path: str, tokens: int, window: int, *, cannot_cut: bool) -> str:
    """The message of status 400 for a prompt above the window. Ollama wraps the error of its runner."""
    if not tokens or path not in {"/api/chat", "/api/generate"}:
        return "the input length exceeds the context length"
    if cannot_cut:
        return "the prompt is longer than the context length currently available to the model; shorten it"
    words = f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
    numbers = {"n_prompt_tokens": tokens, "n_ctx": window}
    return json.dumps({"error": {"code": 400, "message": words, "type": "exceed_context_size_error", **numbers}})


def messages_of(body: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the messages of a chat request, or the prompt of /api/generate as one message."""
    if "messages" in body:
        return [{"role": one["role"], "content": one.get("content") or ""} for one in body["messages"]]
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    return [*system, {"role": "user", "content": body.get("prompt") or ""}]


def options_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a request of either protocol under Ollama's names."""
    if "options" in body:
        return {**body["options"], "truncate": body.get("truncate"), "shift": body.get("shift")}
    return {"num_predict": body.get("max_tokens"), "temperature": body.get("temperature"), "seed": body.get("seed")}


def _usage(end: AnswerEnd) -> dict[str, int]:
    if end.prompt_tokens < 0:
        return {}
    total = end.prompt_tokens + end.answer_tokens
    return {"prompt_tokens": end.prompt_tokens, "completion_tokens": end.answer_tokens, "total_tokens": total}
