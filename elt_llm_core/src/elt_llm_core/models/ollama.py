"""A client of a local Ollama server: its models, its token counts, and embeddings."""

import json
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import PrivateAttr, ValidationError

from elt_llm_core.errors import (
    EltError,
    ModelError,
    ModelMissing,
    ModelRefused,
    ModelTimeout,
    PromptTooLong,
    SettingsError,
    UnusableReply,
)
from elt_llm_core.models.server import ModelServer, check_address
from elt_llm_core.models.server_embedding import ServerEmbedding
from elt_llm_core.models.transport import JsonServer, WireMessage, call_server, client_options
from elt_llm_core.settings.tree import Settings
from elt_llm_core.text.normalise import replace_surrogates

if TYPE_CHECKING:
    from llama_index.embeddings.ollama import OllamaEmbedding as LlamaIndexOllamaEmbedding


@dataclass(frozen=True)
class OllamaModel:
    """A model that an Ollama server lists, as in `ollama list`."""

    name: str
    digest: str
    """The SHA-256 (hex) of the manifest. If a model with the same name changes, so does the digest."""
    remote: bool
    """Whether a hosted service runs the model and the local server only forwards requests."""
    capabilities: frozenset[str] = frozenset()
    """What the model can do, such as completion and embedding, or empty if the server does not report it."""

    def lacks(self, capability: str) -> bool:
        """Return whether the model lacks a capability such as "embedding"; false if the server lists none."""
        return bool(self.capabilities) and capability not in self.capabilities


class OllamaServer(JsonServer):
    """A client of one Ollama server. Failures raise ModelError, and a forbidden address raises SettingsError."""

    def __init__(self, settings: Settings, model: str, *, patience: float | None = None) -> None:
        chosen, allow_remote = settings.ollama, settings.network.allow_remote_models
        described = ModelServer(
            name="Ollama",
            address=check_address(chosen.base_url, "ollama.base_url", allow_remote=allow_remote),
            model=model,
            section="ollama",
            start="Run: ollama serve",
            fetch=f"Run: ollama pull {model}",
            answer_timeout=settings.llm.answer_timeout,
            context_window=chosen.context_window,
        )
        super().__init__(described, ollama_options(settings, described.address, patience=patience))
        self._settings = settings

    def models(self) -> list[OllamaModel]:
        """Return every model that the server lists, in the server's order."""
        reply = self.request("GET", "/api/tags")
        if not isinstance(reply.get("models"), list):
            raise UnusableReply(f"{self.described} does not list its models", hint="Correct ollama.base_url")
        models = []
        for name, entry in _listed_models(reply):
            remote = bool(entry.get("remote_host") or entry.get("remote_model")) or is_cloud_model(name)
            listed = entry.get("capabilities")
            capabilities = frozenset(map(str, listed if isinstance(listed, list) else ()))
            models.append(OllamaModel(name, str(entry.get("digest") or ""), remote, capabilities))
        return models

    def find(self) -> OllamaModel:
        """Return the configured model.

        Raises ModelMissing if the server lacks the model, and SettingsError if a hosted service runs the model but this
        is not allowed.
        """
        wanted = self.described.model
        model = next((model for model in self.models() if same_model(model.name, wanted)), None)
        if model is None:
            raise ModelMissing(f"{self.described} does not have the model '{wanted}'", hint=self.described.fetch)
        if model.remote:
            check_hosted_model(model.name, allow_remote=self._settings.network.allow_remote_models)
        return model

    def explain(self, error: EltError) -> EltError:
        """Add details from the server to an error: the model's limit, or the models that occupy the memory.

        If a request timed out and the model is not loaded, the server is waiting for free memory. If the server does
        not answer the additional requests, the error is returned unchanged.
        """
        if not isinstance(error, PromptTooLong | ModelTimeout):
            return error
        patience = self._settings.ollama.connect_timeout
        try:
            with OllamaServer(self._settings, self.described.model, patience=patience) as server:
                if isinstance(error, ModelTimeout):
                    return _explain_timeout(error, self.described, server.request("GET", "/api/ps"))
                limit = server.context_length()
                if limit is None or self.described.context_window != limit:
                    return error  # the model's limit is not the cause
                return PromptTooLong(
                    f"{error}. The model itself reads at most {limit} tokens",
                    hint="Lower llm.max_context_tokens or ollama.num_predict, or choose a model that reads more",
                )
        except ModelError:
            return error

    def context_length(self) -> int | None:
        """Return the context length, in tokens, for which the model was trained, or None if it is not reported."""
        info = self.request("POST", "/api/show", {"model": self.described.model}).get("model_info")
        key = next((key for key in info if key.endswith(".context_length")), "") if isinstance(info, dict) else ""
        return positive_number(info, key)

    def loaded_window(self) -> int | None:
        """Return the loaded model's context window, or None for servers older than July 2025."""
        patience = self._settings.ollama.connect_timeout
        with OllamaServer(self._settings, self.described.model, patience=patience) as server:
            try:
                return loaded_context_window(server.request("GET", "/api/ps"), self.described.model)
            except ModelError:  # older servers, and servers that imitate Ollama, lack this path
                return None

    def count_tokens(self, messages: Sequence[WireMessage]) -> int | None:
        """Request an answer of one token, and return the server's count of prompt tokens (`prompt_eval_count`).

        The request uses the same window as requests for answers, since another one would make Ollama reload the model.
        """
        chosen = self._settings.ollama
        body = {
            "model": self.described.model,
            "messages": list(messages),
            "stream": False,
            "options": {"num_ctx": chosen.context_window, "num_predict": 1, "temperature": 0.0},
            "think": chosen.thinking,
            "keep_alive": chosen.keep_alive,
        }
        return positive_number(self.request("POST", "/api/chat", body), "prompt_eval_count")


def same_model(listed: str, wanted: str) -> bool:
    """Return whether two names refer to the same model. The default tag is `latest`, and case is ignored."""
    names = (listed.lower(), wanted.lower())
    return len({name if ":" in name.rpartition("/")[2] else f"{name}:latest" for name in names}) == 1


def is_cloud_model(name: str) -> bool:
    """Return whether a model's tag shows that Ollama forwards requests to its hosted service."""
    return name.rpartition(":")[2].endswith("cloud") and ":" in name


def check_hosted_model(name: str, *, allow_remote: bool) -> None:
    """Raise SettingsError for `name`, a model that Ollama's hosted service runs, unless `allow_remote` is true."""
    if not allow_remote:
        raise SettingsError(
            f"Ollama's model '{name}' is run by a hosted service, but network.allow_remote_models is false",
            hint="Choose a model without 'cloud' in its tag, or set network.allow_remote_models to true",
        )


def _explain_timeout(error: ModelTimeout, server: ModelServer, running: Mapping[str, Any]) -> ModelTimeout:
    """Add to a time-out error whether the model is loaded but silent, is still loading, or waits for free memory."""
    names = [name for name, _ in _listed_models(running)]
    if any(same_model(name, server.model) for name in names):
        return ModelTimeout(f"{error}, although it lists '{server.model}' as loaded", hint=error.hint)
    if not names:
        return ModelTimeout(
            f"{error}: it has not loaded '{server.model}' yet",
            hint=f"Raise {server.section}.request_timeout, or look at the log of {server.in_a_sentence}",
        )
    return ModelTimeout(
        f"{error}: '{server.model}' is waiting for memory that is used by {', '.join(names[:_MOST_NAMED])}",
        hint=f"Run: ollama stop {names[0]}. Or raise {server.section}.request_timeout, or let Ollama keep more models"
        " (OLLAMA_MAX_LOADED_MODELS)",
    )


_MOST_NAMED = 3
NO_TRUNCATION = {"truncate": False}
"""The request field that makes Ollama refuse prompts longer than the window. Versions before 0.12.6 ignore it.

`shift` is not sent. If a request's `shift` differs from the previous one's, Ollama loads the model again, and other
clients do not send it.
"""
# Embeddings are included, because a truncated text's vector would represent only its start.
_TRUNCATING_PATHS = ("/api/chat", "/api/generate", "/api/embed")


def _prepare(request: httpx.Request) -> None:
    # Ollama's client adds the hosted service's key from OLLAMA_API_KEY.
    request.headers.pop("Authorization", None)
    # LlamaIndex's classes for Ollama cannot send the field that forbids truncation.
    if request.method == "POST" and request.url.path.endswith(_TRUNCATING_PATHS):
        body = json.dumps({**json.loads(request.content), **NO_TRUNCATION}).encode()
        request.stream = httpx.ByteStream(body)
        request.headers["Content-Length"] = str(len(body))


def ollama_options(
    settings: Settings, address: str, *, patience: float | None = None, reply_seconds: float | None = None
) -> dict[str, Any]:
    """Return the options of HTTP clients for Ollama. Their requests send no key and forbid truncation."""
    return client_options(
        settings.ollama, address, patience=patience, reply_seconds=reply_seconds, request_hooks=(_prepare,)
    )


def loaded_context_window(running: Mapping[str, Any], model: str) -> int | None:
    """Return a model's context window from a reply of /api/ps, or None if the reply does not list it."""
    entries = (entry for name, entry in _listed_models(running) if same_model(name, model))
    return positive_number(next(entries, None), "context_length")


def _listed_models(reply: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and entry of each model in a reply from /api/tags or /api/ps. Malformed entries are skipped."""
    entries = reply.get("models")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            yield replace_surrogates(str(entry.get("name") or entry.get("model") or "")), entry


def positive_number(reply: object, key: str) -> int | None:
    """Return reply[key] if it is a positive integer. Otherwise, or if the reply is not a mapping, return None."""
    value = reply.get(key) if isinstance(reply, Mapping) else None
    return value if isinstance(value, int) and value > 0 else None


_DEFAULT_CONTEXT = 512  # tokens, if the server does not report the context length
_NO_EMBEDDINGS = 501  # the HTTP status if the model is a chat model


class OllamaEmbedding(ServerEmbedding):
    """LlamaIndex's OllamaEmbedding, but texts are never truncated and vectors are verified."""

    _ollama: OllamaServer = PrivateAttr()
    _integration: "LlamaIndexOllamaEmbedding" = PrivateAttr()
    _patience: float = PrivateAttr()
    _close: "weakref.finalize[Any, OllamaEmbedding]" = PrivateAttr()

    def __init__(self, settings: Settings) -> None:
        from llama_index.embeddings.ollama import OllamaEmbedding as LlamaIndexOllamaEmbedding

        ollama = OllamaServer(settings, settings.embedding.model or settings.ollama.embedding_model)
        address = ollama.described.address
        super().__init__("ollama", ollama.described, settings.embedding, settings.ollama.embed_batch_size)
        options = ollama_options(settings, address)
        self._ollama = ollama
        self._patience = options["timeout"].read
        self._integration = LlamaIndexOllamaEmbedding(
            model_name=ollama.described.model,
            base_url=address,
            keep_alive=settings.ollama.keep_alive,
            client_kwargs=options,
        )
        self._close = weakref.finalize(self, self._integration._client.close)  # noqa: SLF001 - it has no public close

    def close(self) -> None:
        """Close the connections to the server."""
        self._ollama.close()
        self._close()

    def _identify(self) -> tuple[str, int]:
        model = self._ollama.find()
        if not model.digest:
            raise UnusableReply(f"{self._server} does not report the digest of '{model.name}'", hint="Update Ollama")
        if model.lacks("embedding"):
            raise self._no_vectors()
        context = self._ollama.context_length() or _DEFAULT_CONTEXT
        if self._family.parts:
            context = min(context, self._family.token_limit)
        self._integration.ollama_additional_kwargs = {"num_ctx": context}
        return model.digest, context

    def _request_vectors(self, texts: list[str]) -> Sequence[Sequence[float]]:
        try:
            return call_server(lambda: self._embed(texts), self._patience, self._server)
        except ModelTimeout as error:
            raise self._ollama.explain(error) from error

    def _no_vectors(self) -> ModelRefused:
        return ModelRefused(
            f"{self._server} gives no vectors for '{self._server.model}', which is a chat model",
            hint="Set embedding.model to a model that embeds, such as nomic-embed-text",
        )

    def _embed(self, texts: list[str]) -> Sequence[Sequence[float]]:
        from ollama import ResponseError

        try:
            # `get_text_embedding_batch` would strip the texts, and other methods would add prefixes.
            return self._integration.get_general_text_embeddings(texts)
        except (ValidationError, ResponseError) as error:
            if isinstance(error, ResponseError) and error.status_code != _NO_EMBEDDINGS:
                raise
            raise self._no_vectors() from error
