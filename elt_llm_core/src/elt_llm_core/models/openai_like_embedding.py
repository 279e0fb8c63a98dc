"""Embeddings from a local server that speaks OpenAI's protocol; needs no client of OpenAI."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from pydantic import PrivateAttr

from elt_llm_core.errors import UnusableReply
from elt_llm_core.models.openai_like_server import OpenAiLikeServer, described_openai_like
from elt_llm_core.models.server_embedding import ModelIdentity, ServerEmbedding
from elt_llm_core.settings import Settings

_TELLING = ("n_embd", "n_params", "n_vocab", "size")


class OpenAiLikeEmbedding(ServerEmbedding):
    """The digest is drawn from what the server lists of its model; of many servers that is the name alone."""

    _openai: OpenAiLikeServer = PrivateAttr()
    _declared_context: int = PrivateAttr()

    def __init__(self, settings: Settings) -> None:
        chosen = settings.openai_like
        model = settings.embedding.model or chosen.embedding_model
        server = described_openai_like(settings, model, "openai_like.embedding_model")
        super().__init__("openai_like", server, settings.embedding, chosen.embed_batch_size)
        self._openai = OpenAiLikeServer(settings, server)
        self._declared_context = chosen.embedding_context

    def close(self) -> None:
        """Lets go of the connections."""
        self._openai.close()

    def _identify(self) -> ModelIdentity:
        entry = next((one for one in self._openai.models() if one.get("id") == self._server.model), {})
        meta = entry.get("meta")
        told = {key: meta[key] for key in _TELLING if key in meta} if isinstance(meta, Mapping) else {}
        text = json.dumps([self._server.model, told], sort_keys=True)
        return ModelIdentity(hashlib.sha256(text.encode()).hexdigest(), self._declared_context)

    def _ask(self, texts: list[str]) -> Sequence[Sequence[float]]:
        body = {"model": self._server.model, "input": texts, "encoding_format": "float"}
        items = self._openai.request("POST", "/embeddings", body).get("data")
        if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
            raise UnusableReply(f"{self._server} gives no vectors", hint="Is it started for embeddings?")
        # Each says which text it belongs to; where none does, they are taken as they come.
        places = [item.get("index", place) for place, item in enumerate(items)]
        if sorted(places) != list(range(len(items))):
            raise UnusableReply(f"{self._server} numbers its vectors {places[:9]}", hint="Use another server")
        by_place = dict(zip(places, items, strict=True))
        return [by_place[place].get("embedding") or [] for place in range(len(items))]
