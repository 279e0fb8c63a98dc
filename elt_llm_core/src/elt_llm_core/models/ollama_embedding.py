"""Embeddings from a local Ollama."""

from collections.abc import Sequence

from pydantic import PrivateAttr

from elt_llm_core.errors import ModelRefused, UnusableReply
from elt_llm_core.models.ollama_server import OllamaServer
from elt_llm_core.models.server_embedding import ModelIdentity, ServerEmbedding
from elt_llm_core.settings import Settings

_CONTEXT = 512  # tokens, where the server does not tell


class OllamaEmbedding(ServerEmbedding):
    """The digest is that of the model's manifest: a model that was pulled anew is another one, under the same name."""

    _ollama: OllamaServer = PrivateAttr()
    _context: int = PrivateAttr(default=_CONTEXT)
    _keep_alive: str | None = PrivateAttr()

    def __init__(self, settings: Settings) -> None:
        ollama = OllamaServer(settings, settings.embedding.model or settings.ollama.embedding_model)
        super().__init__("ollama", ollama.described, settings.embedding, settings.ollama.embed_batch_size)
        self._ollama = ollama
        self._keep_alive = settings.ollama.keep_alive

    def close(self) -> None:
        """Lets go of the connections."""
        self._ollama.close()

    def _identify(self) -> ModelIdentity:
        found = self._ollama.find()
        if not found.digest:
            raise UnusableReply(f"{self._server} tells no digest of '{found.name}'", hint="Update Ollama")
        claimed = self._ollama.context_length() or _CONTEXT
        self._context = min(claimed, self._family.token_limit) if self._family.parts else claimed
        return ModelIdentity(found.digest, self._context)

    def _ask(self, texts: list[str]) -> Sequence[Sequence[float]]:
        body = {
            "model": self._server.model,
            "input": texts,
            # Too long is to be an error: cut, a text would be found for its beginning alone.
            "truncate": False,
            "options": {"num_ctx": self._context},
            **({} if self._keep_alive is None else {"keep_alive": self._keep_alive}),
        }
        vectors = self._ollama.request("POST", "/api/embed", body).get("embeddings")
        if not isinstance(vectors, list):
            raise ModelRefused(
                f"{self._server} gives no vectors for '{self._server.model}'",
                hint="Set embedding.model to a model that embeds, such as nomic-embed-text",
            )
        return vectors
