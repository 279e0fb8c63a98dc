"""A local server that uses OpenAI's protocol: its embeddings, token counts and language model."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import PrivateAttr

from elt_llm_core.errors import ModelError, SettingsError, UnusableReply
from elt_llm_core.models.ollama import loaded_context_window, positive_number
from elt_llm_core.models.server import ModelServer, check_address
from elt_llm_core.models.server_embedding import ServerEmbedding
from elt_llm_core.models.transport import JsonServer, WireMessage, client_options
from elt_llm_core.settings.tree import Settings
from elt_llm_core.utilities import install_command

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

NO_KEY = "none"  # sent to servers that need no key, because the client requires one


def describe_openai_like(settings: Settings, model: str | None, key: str) -> ModelServer:
    """Describe the configured server. `key` is the name of the setting that names the model.

    Raises SettingsError if no model is set, or if the address is outside the local network and remote models are not
    allowed.
    """
    if not model:
        raise SettingsError(f"{key} is not set", hint=f"Set {key} to the name that the server gives its model")
    chosen = settings.openai_like
    address = check_address(chosen.base_url, "openai_like.base_url", allow_remote=settings.network.allow_remote_models)
    return ModelServer(
        name="The model server",
        address=address,
        model=model,
        section="openai_like",
        start=f"Start the server, or correct openai_like.base_url ({address})",
        fetch=f"Load the model '{model}' in the server, or correct {key}",
        answer_timeout=settings.llm.answer_timeout,
        context_window=chosen.context_window,
        key=_configured_key(settings),
    )


def api_key(settings: Settings) -> str:
    """Return the key for the server, from the environment variable that the settings name.

    White space around the key is removed. Raises ModelError if the variable is not set or contains characters that
    headers forbid, because the client would quote the key in its error.
    """
    variable, value = settings.openai_like.api_key_variable, _configured_key(settings)
    if variable is None:
        return NO_KEY
    if not value:
        raise ModelError(f"{variable} is not set", hint=f"Set {variable} to the key of your server")
    if not (value.isascii() and value.isprintable()):
        raise ModelError(
            f"{variable} contains a character that is not allowed in a key",
            hint=f"Set {variable} to the key alone, on one line",
        )
    return value


def _configured_key(settings: Settings) -> str:
    """Return the API key from the environment variable that the settings name, or "" if there is none."""
    variable = settings.openai_like.api_key_variable
    return os.environ.get(variable, "").strip() if variable else ""


class OpenAiLikeServer(JsonServer):
    """A client of one server, independent of the OpenAI client. Every failure raises a ModelError with a hint."""

    def __init__(self, settings: Settings, described: ModelServer, *, patience: float | None = None) -> None:
        options = client_options(settings.openai_like, described.address, patience=patience)
        options["headers"]["Authorization"] = f"Bearer {api_key(settings)}"
        super().__init__(described, options)
        self._settings = settings

    def models(self) -> list[Mapping[str, Any]]:
        """Return the entries in the server's list of models. Each is a mapping whose `id` is the model's name."""
        listed = self.request("GET", "/models").get("data")
        return [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []

    def entry(self) -> Mapping[str, Any]:
        """Return the configured model's entry in the server's list, or an empty mapping if it is not listed."""
        return next((entry for entry in self.models() if entry.get("id") == self.described.model), {})

    def loaded_window(self) -> int | None:
        """Return the context window that vLLM, llama-server or Ollama reports, or None for other servers.

        The protocol has no field for the context window, so these servers report it as `max_model_len`, `n_ctx` or
        `context_length`. Ollama truncates long prompts sent by this protocol, which no request field can prevent.
        """
        root = self.described.address.removesuffix("/v1")
        patience = self._settings.openai_like.connect_timeout
        with OpenAiLikeServer(self._settings, self.described, patience=patience) as server:
            sources: tuple[Callable[[], int | None], ...] = (
                lambda: positive_number(server.entry(), "max_model_len"),
                lambda: positive_number(
                    server.request("GET", f"{root}/props").get("default_generation_settings"), "n_ctx"
                ),
                lambda: loaded_context_window(server.request("GET", f"{root}/api/ps"), self.described.model),
            )
            for window_of in sources:
                with suppress(ModelError):  # the server lacks this path
                    if (window := window_of()) is not None:
                        return window
        return None

    def count_tokens(self, messages: Sequence[WireMessage]) -> int | None:
        """Request an answer of one token, and return the server's count of prompt tokens (`prompt_tokens`)."""
        body = {"model": self.described.model, "messages": list(messages), "max_tokens": 1, "temperature": 0.0}
        return positive_number(self.request("POST", "/chat/completions", body).get("usage"), "prompt_tokens")


_IDENTITY_KEYS = ("n_embd", "n_params", "n_vocab", "size")


class OpenAiLikeEmbedding(ServerEmbedding):
    """An embedding model at a server's /v1/embeddings. Its digest is a hash of its entry in the server's model list."""

    _openai: OpenAiLikeServer = PrivateAttr()
    _declared_context: int = PrivateAttr()

    def __init__(self, settings: Settings) -> None:
        chosen = settings.openai_like
        model = settings.embedding.model or chosen.embedding_model
        server = describe_openai_like(settings, model, "openai_like.embedding_model")
        super().__init__("openai_like", server, settings.embedding, chosen.embed_batch_size)
        self._openai = OpenAiLikeServer(settings, server)
        self._declared_context = chosen.embedding_context

    def close(self) -> None:
        """Close the connections to the server."""
        self._openai.close()

    def _identify(self) -> tuple[str, int]:
        meta = self._openai.entry().get("meta")
        identity = {key: meta[key] for key in _IDENTITY_KEYS if key in meta} if isinstance(meta, Mapping) else {}
        text = json.dumps([self._server.model, identity], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest(), self._declared_context

    def _request_vectors(self, texts: list[str]) -> Sequence[Sequence[float]]:
        body = {"model": self._server.model, "input": texts, "encoding_format": "float"}
        items = self._openai.request("POST", "/embeddings", body).get("data")
        if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
            raise UnusableReply(f"{self._server} gives no vectors", hint="Start the server for embeddings")
        # Each item contains the index of its text. Without indexes, items are in the order of the texts.
        indexes = [item.get("index", position) for position, item in enumerate(items)]
        if sorted(indexes) != list(range(len(items))):
            raise UnusableReply(
                f"{self._server} returned embeddings with the wrong indexes {indexes[:9]}.", hint="Use another server"
            )
        by_index = dict(zip(indexes, items, strict=True))
        return [by_index[index].get("embedding") or [] for index in range(len(items))]


def create_openai_like_llm(settings: Settings) -> "LLM":
    """Create the language model without sending a request. Raises SettingsError, or ModelError if OpenAI is missing."""
    model = settings.llm.model or settings.openai_like.llm_model
    server = describe_openai_like(settings, model, "openai_like.llm_model")
    # The class is defined here because its base class is in an optional extra.
    try:
        from llama_index.llms.openai_like import OpenAILike
    except ImportError as error:
        raise ModelError("The OpenAI client is not installed", hint=f"Run: {install_command('openai-like')}") from error
    from elt_llm_core.models.served_llm import ServedLlm

    class OpenAiLikeLlm(ServedLlm, OpenAILike):
        """LlamaIndex's OpenAILike, which also describes its server, detects truncated prompts and can be closed."""

    chosen = settings.openai_like
    client = httpx.Client(**client_options(chosen, server.address, reply_seconds=settings.llm.answer_timeout))
    seed = {} if chosen.seed is None else {"seed": chosen.seed}
    options: dict[str, Any] = {
        "model": server.model,
        "api_base": server.address,
        "api_key": api_key(settings),
        # Without explicit headers, the client would send the account in OPENAI_ORG_ID.
        "default_headers": {"OpenAI-Organization": "", "OpenAI-Project": ""},
        "temperature": settings.llm.temperature,
        "max_tokens": chosen.num_predict,
        "context_window": chosen.context_window,
        "is_chat_model": True,
        "is_function_calling_model": False,
        "timeout": chosen.request_timeout,
        "max_retries": 0,
        "additional_kwargs": {"top_p": settings.llm.top_p, "stream_options": {"include_usage": True}, **seed},
        "http_client": client,
    }
    llm = OpenAiLikeLlm(**options)
    llm.connect(OpenAiLikeServer(settings, server), chosen.num_predict, client.close)
    return llm
