"""Embeddings from a local server that speaks OpenAI's protocol; needs no client of OpenAI."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import PrivateAttr

from elt_llm_core.errors import UnusableReply
from elt_llm_core.models.openai_like_server import described_openai_like, key_of, openai_client_options
from elt_llm_core.models.server_embedding import ModelIdentity, ServerEmbedding
from elt_llm_core.models.server_failures import by_status, client_failures, explained
from elt_llm_core.settings import Settings

_TELLING = ("n_embd", "n_params", "n_vocab", "size")


class OpenAiLikeEmbedding(ServerEmbedding):
    """The digest is drawn from what the server lists of its model; of many servers that is the name alone."""

    _client: Any = PrivateAttr()
    _declared_context: int = PrivateAttr()

    def __init__(self, settings: Settings) -> None:
        import httpx

        chosen = settings.openai_like
        model = settings.embedding.model or chosen.embedding_model
        server = described_openai_like(settings, model, "openai_like.embedding_model")
        super().__init__("openai_like", server, settings.embedding, chosen.embed_batch_size)
        headers = {"Authorization": f"Bearer {key_of(settings)}"}
        options = openai_client_options(settings, server.address)
        self._client = httpx.Client(base_url=server.address, headers=headers, **options)
        self._declared_context = chosen.embedding_context

    def close(self) -> None:
        """Lets go of the connections."""
        self._client.close()

    def _identify(self) -> ModelIdentity:
        listed = self._request("GET", "/models").get("data")
        entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
        entry = next((one for one in entries if one.get("id") == self._server.model), {})
        meta = entry.get("meta")
        told = {key: meta[key] for key in _TELLING if key in meta} if isinstance(meta, Mapping) else {}
        text = json.dumps([self._server.model, told], sort_keys=True)
        return ModelIdentity(hashlib.sha256(text.encode()).hexdigest(), self._declared_context)

    def _ask(self, texts: list[str]) -> Sequence[Sequence[float]]:
        body = {"model": self._server.model, "input": texts, "encoding_format": "float"}
        items = self._request("POST", "/embeddings", body).get("data")
        if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
            raise UnusableReply(f"{self._server} gives no vectors", hint="Is it started for embeddings?")
        # Each says which text it belongs to; where none does, they are taken as they come.
        places = [item.get("index", place) for place, item in enumerate(items)]
        if sorted(places) != list(range(len(items))):
            raise UnusableReply(f"{self._server} numbers its vectors {places[:9]}", hint="Use another server")
        by_place = dict(zip(places, items, strict=True))
        return [by_place[place].get("embedding") or [] for place in range(len(items))]

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        try:
            reply = self._client.request(method, path, json=body)
            read = json.loads(reply.content)
        except client_failures() as error:
            raise explained(error, self._server) from error
        if reply.status_code != 200:
            raise by_status(reply.status_code, reply.text, self._server)
        if not isinstance(read, dict):
            raise UnusableReply(f"{self._server} replies with no object", hint="Correct openai_like.base_url")
        return read
