"""How servers that speak OpenAI's protocol tell the window of a model, and the tokens of a prompt."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from elt_llm_core.errors import ModelError
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.ollama_counter import loaded_window
from elt_llm_core.models.openai_like_server import OpenAiLikeServer
from elt_llm_core.models.prompt_proof import WireMessage
from elt_llm_core.settings import Settings

_VERSION = "/v1"


class OpenAiLikeCounter:
    """The protocol has no word for the window: three servers tell it in three ways."""

    def __init__(self, settings: Settings, described: ModelServer) -> None:
        self._settings = settings
        self._described = described

    def told_window(self) -> int | None:
        """The `max_model_len` of vLLM, `n_ctx` of llama-server or `context_length` of Ollama; None of other servers.

        Ollama cuts on this path what does not fit, and nothing in a request turns that off.
        """
        patience = self._settings.openai_like.connect_timeout
        with OpenAiLikeServer(self._settings, self._described, patience=patience) as server:
            root = self._described.address.rstrip("/").removesuffix(_VERSION)
            ways: tuple[tuple[str, Callable[[Mapping[str, Any]], int | None]], ...] = (
                ("/models", self._of_vllm),
                (f"{root}/props", _of_llama_server),
                (f"{root}/api/ps", lambda told: loaded_window(told, self._described.model)),
            )
            for path, read in ways:
                try:
                    window = read(server.request("GET", path))
                except ModelError:  # it has no such page
                    continue
                if window is not None:
                    return window
        return None

    def count(self, messages: Sequence[WireMessage]) -> int | None:
        """`prompt_tokens` of a request that writes one token."""
        body = {"model": self._described.model, "messages": list(messages), "max_tokens": 1, "temperature": 0.0}
        with OpenAiLikeServer(self._settings, self._described) as server:
            usage = server.request("POST", "/chat/completions", body).get("usage")
        return _positive(usage.get("prompt_tokens")) if isinstance(usage, Mapping) else None

    def _of_vllm(self, told: Mapping[str, Any]) -> int | None:
        listed = told.get("data")
        entries = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
        return next(
            (_positive(one.get("max_model_len")) for one in entries if one.get("id") == self._described.model), None
        )


def _of_llama_server(told: Mapping[str, Any]) -> int | None:
    generation = told.get("default_generation_settings")
    return _positive(generation.get("n_ctx")) if isinstance(generation, Mapping) else None


def _positive(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
