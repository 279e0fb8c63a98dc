"""A local Ollama server: its models and their limits, its token counts, and embeddings."""

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import PrivateAttr, ValidationError

from elt_llm_core.errors import ModelError, ModelMissing, ModelRefused, SettingsError, UnusableReply
from elt_llm_core.models.server import ModelServer, check_address
from elt_llm_core.models.server_embedding import ModelIdentity, ServerEmbedding
from elt_llm_core.models.token_counts import WireMessage
from elt_llm_core.models.transport import (
    JsonServer,
    async_reply_limit_hook,
    attach_connection,
    call_server,
    client_options,
    reply_limit_hook,
)
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.normalise import replace_surrogates

if TYPE_CHECKING:
    from llama_index.embeddings.ollama import OllamaEmbedding as LlamaIndexOllamaEmbedding

START_HINT = "Run: ollama serve"


@dataclass(frozen=True)
class OllamaModel:
    """A model that a server lists."""

    name: str
    digest: str
    """sha256 (hex) of its manifest; a model that was pulled again under the same name has another digest."""
    remote: bool
    """Whether a hosted service runs the model and the local server only forwards requests."""


def describe_ollama(settings: Settings, model: str) -> ModelServer:
    """The server of the settings. Raises SettingsError for an address outside the local network unless allowed."""
    chosen = settings.ollama
    return ModelServer(
        name="Ollama",
        address=check_address(chosen.base_url, "ollama.base_url", allow_remote=settings.network.allow_remote_models),
        model=model,
        section="ollama",
        start=START_HINT,
        fetch=f"Run: ollama pull {model}",
        answer_timeout=settings.llm.answer_timeout,
        context_window=chosen.context_window,
    )


def client_hooks(seconds: float) -> dict[str, list[Any]]:
    """Hooks of a client: cancellable requests, without the key of the hosted service, and limited replies.

    Ollama's client adds that key from OLLAMA_API_KEY; no local server needs it.
    """
    return {"request": [_remove_key, attach_connection], "response": [reply_limit_hook(seconds)]}


def async_client_hooks(seconds: float) -> dict[str, list[Any]]:
    """The same hooks for an asynchronous client, whose requests are cancelled with their task."""

    async def remove_key(request: httpx.Request) -> None:
        _remove_key(request)

    return {"request": [remove_key], "response": [async_reply_limit_hook(seconds)]}


def _remove_key(request: httpx.Request) -> None:
    request.headers.pop("Authorization", None)


class OllamaServer(JsonServer):
    """Requests one Ollama server; every failure is a ModelError with a hint."""

    def __init__(self, settings: Settings, model: str, *, patience: float | None = None) -> None:
        described = describe_ollama(settings, model)
        options = client_options(settings.ollama, described.address, patience=patience)
        hooks = client_hooks(options["timeout"].read)
        super().__init__(described, httpx.Client(base_url=described.address, event_hooks=hooks, **options))
        self._allow_remote = settings.network.allow_remote_models

    def models(self) -> list[OllamaModel]:
        """Every model that the server has, in its order."""
        listed = self.request("GET", "/api/tags").get("models")
        if not isinstance(listed, list):
            raise UnusableReply(f"{self.described} lists no models", hint="Correct ollama.base_url")
        models = []
        for entry in listed:
            if isinstance(entry, dict):
                name = replace_surrogates(str(entry.get("name") or entry.get("model") or ""))
                remote = bool(entry.get("remote_host") or entry.get("remote_model")) or is_cloud_model(name)
                models.append(OllamaModel(name, str(entry.get("digest") or ""), remote))
        return models

    def find(self) -> OllamaModel:
        """The configured model. Raises ModelMissing if it is absent, SettingsError if it is hosted and not allowed."""
        wanted = self.described.model
        model = next((model for model in self.models() if same_model(model.name, wanted)), None)
        if model is None:
            raise ModelMissing(f"{self.described} does not have the model '{wanted}'", hint=self.described.fetch)
        if model.remote:
            check_hosted_model(model.name, allow_remote=self._allow_remote)
        return model

    def context_length(self) -> int | None:
        """Tokens that the model was trained to read; None if the server does not report them."""
        info = self.request("POST", "/api/show", {"model": self.described.model}).get("model_info")
        entries = info.items() if isinstance(info, dict) else ()
        length = next((value for key, value in entries if key.endswith(".context_length")), None)
        return length if isinstance(length, int) and length > 0 else None


def same_model(listed: str, wanted: str) -> bool:
    """Whether two names mean one model: the default tag is `latest`, and case is ignored."""
    first, second = (
        name.lower() if ":" in name.rpartition("/")[2] else f"{name.lower()}:latest" for name in (listed, wanted)
    )
    return first == second


def is_cloud_model(name: str) -> bool:
    """Whether a name is that of a model which Ollama forwards to its hosted service."""
    return name.rpartition(":")[2].endswith("cloud") and ":" in name


def check_hosted_model(name: str, *, allow_remote: bool) -> None:
    """Raise SettingsError for a model of Ollama's hosted service unless `allow_remote`."""
    if not allow_remote:
        raise SettingsError(
            f"The model '{name}' of Ollama is run by a hosted service, and network.allow_remote_models is false",
            hint="Choose a model without 'cloud' in its tag, or set network.allow_remote_models to true",
        )


NO_TRUNCATION = {"truncate": False, "shift": False}
"""Fields of Ollama's requests since its version 0.12.6; earlier versions ignore them.

Without `truncate` a prompt above the window is refused. Without `shift` an answer that reaches the end of the window
ends (`done_reason: length`); otherwise the server would drop the start of the prompt while it writes.
"""
_ADDED_FIELDS: Mapping[str, Mapping[str, bool]] = {
    "/api/chat": NO_TRUNCATION,
    "/api/generate": NO_TRUNCATION,
    "/api/embed": {"truncate": False},  # a truncated text would be found by its start alone
}


class NoTruncationTransport(httpx.HTTPTransport):
    """Adds the fields against truncation, which LlamaIndex's classes for Ollama cannot send."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request with the fields."""
        return super().handle_request(_forbid_truncation(request))


class AsyncNoTruncationTransport(httpx.AsyncHTTPTransport):
    """Adds the same fields to the requests of an asynchronous client."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request with the fields."""
        return await super().handle_async_request(_forbid_truncation(request))


def _forbid_truncation(request: httpx.Request) -> httpx.Request:
    added = next((fields for path, fields in _ADDED_FIELDS.items() if request.url.path.endswith(path)), None)
    if request.method != "POST" or added is None:
        return request
    body = json.dumps({**json.loads(request.content), **added}).encode()
    headers = [(name, value) for name, value in request.headers.multi_items() if name != "content-length"]
    return httpx.Request(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


class OllamaTokenCounter:
    """Counts prompts with the window and model of the answers: another window would make Ollama reload the model."""

    def __init__(self, settings: Settings, model: str) -> None:
        self._settings = settings
        self._model = model

    def loaded_window(self) -> int | None:
        """`context_length` of the loaded model, which Ollama reports since July 2025; else None."""
        patience = self._settings.ollama.connect_timeout
        with OllamaServer(self._settings, self._model, patience=patience) as server:
            try:
                return loaded_context_window(server.request("GET", "/api/ps"), self._model)
            except ModelError:  # older servers, and others that imitate Ollama, lack this path
                return None

    def count(self, messages: Sequence[WireMessage]) -> int | None:
        """`prompt_eval_count` of a request that writes one token."""
        chosen = self._settings.ollama
        body = {
            "model": self._model,
            "messages": list(messages),
            "stream": False,
            "options": {"num_ctx": chosen.context_window, "num_predict": 1, "temperature": 0.0},
            "think": chosen.thinking,
            "keep_alive": chosen.keep_alive,
            **NO_TRUNCATION,
        }
        with OllamaServer(self._settings, self._model) as server:
            count = server.request("POST", "/api/chat", body).get("prompt_eval_count")
        return count if isinstance(count, int) and count > 0 else None


def loaded_context_window(running: Mapping[str, Any], model: str) -> int | None:
    """The window of a model in the reply of /api/ps."""
    entries = running.get("models")
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping) and same_model(str(entry.get("name") or entry.get("model") or ""), model):
            window = entry.get("context_length")
            return window if isinstance(window, int) and window > 0 else None
    return None


_DEFAULT_CONTEXT = 512  # tokens, where the server does not report them
_NO_EMBEDDINGS = 501  # the status of a server that runs a chat model


class OllamaEmbedding(ServerEmbedding):
    """LlamaIndex's OllamaEmbedding, with texts never truncated, vectors verified and errors of this project.

    The digest is that of the model's manifest: a model that was pulled again has another identity.
    """

    _ollama: OllamaServer = PrivateAttr()
    _integration: "LlamaIndexOllamaEmbedding" = PrivateAttr()
    _patience: float = PrivateAttr()
    _close: "weakref.finalize[Any, OllamaEmbedding]" = PrivateAttr()

    def __init__(self, settings: Settings) -> None:
        from llama_index.embeddings.ollama import OllamaEmbedding as LlamaIndexOllamaEmbedding

        ollama = OllamaServer(settings, settings.embedding.model or settings.ollama.embedding_model)
        address = ollama.described.address
        super().__init__("ollama", ollama.described, settings.embedding, settings.ollama.embed_batch_size)
        options = client_options(settings.ollama, address)
        self._ollama = ollama
        self._patience = options["timeout"].read
        self._integration = LlamaIndexOllamaEmbedding(
            model_name=ollama.described.model,
            base_url=address,
            keep_alive=settings.ollama.keep_alive,
            client_kwargs={
                **options,
                "transport": NoTruncationTransport(verify=options["verify"], trust_env=False),
                "event_hooks": client_hooks(self._patience),
            },
        )

        self._close = weakref.finalize(self, self._integration._client.close)  # noqa: SLF001 - it has no public close

    def close(self) -> None:
        """Close the connections."""
        self._ollama.close()
        self._close()

    def _identify(self) -> ModelIdentity:
        model = self._ollama.find()
        if not model.digest:
            raise UnusableReply(f"{self._server} reports no digest of '{model.name}'", hint="Update Ollama")
        context = self._ollama.context_length() or _DEFAULT_CONTEXT
        if self._family.parts:
            context = min(context, self._family.token_limit)
        self._integration.ollama_additional_kwargs = {"num_ctx": context}
        return ModelIdentity(model.digest, context)

    def _request_vectors(self, texts: list[str]) -> Sequence[Sequence[float]]:
        return call_server(lambda: self._embed(texts), self._patience, self._server)

    def _embed(self, texts: list[str]) -> Sequence[Sequence[float]]:
        from ollama import ResponseError

        try:
            # Neither `get_text_embedding_batch`, which strips the texts, nor the prefixes of the integration.
            return self._integration.get_general_text_embeddings(texts)
        except (ValidationError, ResponseError) as error:
            if isinstance(error, ResponseError) and error.status_code != _NO_EMBEDDINGS:
                raise
            raise ModelRefused(
                f"{self._server} gives no vectors for '{self._server.model}'",
                hint="Set embedding.model to a model that embeds, such as nomic-embed-text",
            ) from error
