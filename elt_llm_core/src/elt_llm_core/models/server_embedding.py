"""An embedding model behind a local server: prefixes, lengths, batches and every check; the protocol is left open."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from elt_llm_core.errors import ModelError, PromptTooLong
from elt_llm_core.fingerprint import EmbeddingFingerprint
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.model_server import ModelServer
from elt_llm_core.models.prefixes import KnownModel, known_model
from elt_llm_core.models.retrying import tried_again
from elt_llm_core.models.token_estimate import TokenEstimate
from elt_llm_core.models.vector_checks import check_that_alike, checked_vectors
from elt_llm_core.settings import EmbeddingSettings

# Known texts that travel first and last in every batch: a server that mixes up an order, or changes its model, shows.
_FIRST, _LAST = "7041", "a river between two hills"
_SPECIAL_TOKENS = 2
_SHARE_WHERE_ESTIMATED = 0.75
_UNKNOWN_MODEL = KnownModel(())


@dataclass(frozen=True)
class ModelIdentity:
    """What a server tells of its model."""

    digest: str
    context: int
    """Tokens it reads."""


@dataclass(frozen=True)
class _Learnt:
    """What is asked of the server once."""

    fingerprint: EmbeddingFingerprint
    known: NDArray[np.float32]
    """Vectors of the known texts, shape (2, dimension)."""


class ServerEmbedding(EmbeddingModel):
    """Embeds through a server that is asked when the first vector, limit or identity is wanted.

    A passage that is longer than the model reads is refused here, by an estimate that errs on the long side, and again
    by the server: no beginning of a text is ever embedded for the whole. May be called from several threads.
    """

    _server: ModelServer = PrivateAttr()
    _provider: str = PrivateAttr()
    _query_prefix: str = PrivateAttr()
    _text_prefix: str = PrivateAttr()
    _family: KnownModel = PrivateAttr()
    _lock: Lock = PrivateAttr(default_factory=Lock)
    _learnt: "_Learnt | None" = PrivateAttr(default=None)
    _tokens: "TokenEstimate | None" = PrivateAttr(default=None)

    def __init__(self, provider: str, server: ModelServer, chosen: EmbeddingSettings, batch_size: int) -> None:
        super().__init__(model_name=server.model, embed_batch_size=batch_size)
        family = known_model(server.model) or _UNKNOWN_MODEL
        self._server = server
        self._provider = provider
        self._family = family
        self._query_prefix = family.query_prefix if chosen.query_prefix is None else chosen.query_prefix
        self._text_prefix = family.text_prefix if chosen.text_prefix is None else chosen.text_prefix

    @abstractmethod
    def _ask(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """One request. Raises a ModelError; nothing of the reply need be checked."""

    @abstractmethod
    def _identify(self) -> ModelIdentity:
        """What the server tells of its model. Raises a ModelError."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of the connections."""

    @property
    def fingerprint(self) -> EmbeddingFingerprint:
        """The model's identity, asked for once. Raises a ModelError if the server does not tell."""
        return self._known().fingerprint

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages, shape (len(texts), dimension). Raises PromptTooLong for one above the limit."""
        learnt = self._known()
        for text in texts:
            self._refuse_unfit(text, learnt.fingerprint.token_limit)
        prefixed = [self._text_prefix + text for text in texts]
        size = self.embed_batch_size
        batches = [self._batch(prefixed[at : at + size], learnt) for at in range(0, len(prefixed), size)]
        return np.concatenate(batches) if batches else np.empty((0, learnt.fingerprint.dimension), dtype=np.float32)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question. One longer than the model reads is embedded in parts, and their mean taken."""
        if not text.strip():
            raise ModelError("An empty question cannot be embedded", hint="Ask with at least one word")
        learnt = self._known()
        room = learnt.fingerprint.token_limit - len(self.token_spans(self._query_prefix))
        vectors = self._batch([self._query_prefix + part for part in self._parts(text, max(room, 1))], learnt)
        mean = vectors.mean(axis=0)
        vector: NDArray[np.float32] = checked_vectors([mean.tolist()], 1, len(mean), self._server)[0]
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span of each token, estimated: see TokenEstimate."""
        if self._tokens is None:
            self._tokens = TokenEstimate()  # a second one, of another thread, is the same
        return self._tokens.spans(text)

    def _refuse_unfit(self, text: str, limit: int) -> None:
        if not text.strip():
            raise ModelError("A text without words cannot be embedded", hint="Leave it out")
        if (count := len(self.token_spans(text))) > limit:
            raise PromptTooLong(
                f"A text of some {count} tokens is above the {limit} that {self._server.model} reads: {text[:40]!r}",
                hint=f"Set chunking.chunk_size to {limit} or less",
            )

    def _parts(self, text: str, room: int) -> list[str]:
        spans = self.token_spans(text)
        starts = [0, *(spans[at][0] for at in range(room, len(spans), room))]
        return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]

    def _batch(self, texts: list[str], learnt: _Learnt) -> NDArray[np.float32]:
        """Vectors of prefixed texts, with the known ones around them to tell whether the order was kept."""
        asked, dimension = [_FIRST, *texts, _LAST], learnt.fingerprint.dimension
        vectors = checked_vectors(tried_again(lambda: self._ask(asked)), len(asked), dimension, self._server)
        check_that_alike(vectors[[0, -1]], learnt.known, self._server)
        return vectors[1:-1]

    def _known(self) -> _Learnt:
        if self._learnt is None:
            with self._lock:
                if self._learnt is None:
                    self._learnt = self._learn()
        return self._learnt

    def _learn(self) -> _Learnt:
        identity = tried_again(self._identify)
        known = np.concatenate([self._alone(_FIRST), self._alone(_LAST)])
        fingerprint = EmbeddingFingerprint(
            provider=self._provider,
            model=self._server.model,
            digest=identity.digest,
            dimension=known.shape[1],
            query_prefix=self._query_prefix,
            text_prefix=self._text_prefix,
            normalised=True,
            token_limit=self._limit(identity.context),
        )
        return _Learnt(fingerprint, known)

    def _alone(self, text: str) -> NDArray[np.float32]:
        return checked_vectors(tried_again(lambda: self._ask([text])), 1, None, self._server)

    def _limit(self, context: int) -> int:
        prefix = len(self.token_spans(self._text_prefix))
        if self._family is not _UNKNOWN_MODEL:
            context = min(context, self._family.token_limit)
        share = 1.0 if self._family.english_pieces else _SHARE_WHERE_ESTIMATED
        return max(1, int((context - _SPECIAL_TOKENS - prefix) * share))
