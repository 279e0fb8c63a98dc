"""The base class of embedding models on a local server: prefixes, token limits, batches and checks of vectors."""

import tomllib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from elt_llm_core.errors import ModelError, PromptTooLong, UnusableReply
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.server import ModelServer, call_with_retries
from elt_llm_core.models.token_counts import TokenEstimate
from elt_llm_core.settings.tree import EmbeddingSettings
from elt_llm_core.store.records import EmbeddingFingerprint


@dataclass(frozen=True)
class EmbeddingModelFamily:
    """A family of embedding models that share prefixes and a token limit. A model's name shows its family."""

    parts: tuple[str, ...]
    """Lower-case parts that must all occur in the name of the model."""
    query_prefix: str = ""
    text_prefix: str = ""
    token_limit: int = 512
    """The maximum number of tokens that the model reads, including special tokens. Servers may report more."""
    english_pieces: bool = False
    """Whether the model has the vocabulary of BERT uncased, so that estimated token counts are exact."""


@cache
def model_families() -> tuple[EmbeddingModelFamily, ...]:
    """Return the families in `model_families.toml`, in the order of the file."""
    content = tomllib.loads(Path(__file__).with_name("model_families.toml").read_text(encoding="utf-8"))
    return tuple(EmbeddingModelFamily(tuple(entry.pop("parts")), **entry) for entry in content["family"])


def find_model_family(name: str) -> EmbeddingModelFamily | None:
    """Return the family of the model with this name, or None for an unknown model."""
    lowered = name.lower()
    return next((known for known in model_families() if all(part in lowered for part in known.parts)), None)


_HINT = "The server or its model is at fault: reload the model, or choose another"
_MIN_SIMILARITY = 0.99  # cosine between a text's vectors alone and in a batch; rounding causes far smaller differences


def check_vectors(
    reply: Sequence[Sequence[float]], count: int, dimension: int | None, server: ModelServer
) -> NDArray[np.float32]:
    """Return a reply's vectors, normalised to length 1, shape (count, dimension).

    `dimension` is None if it is not known yet. Raises UnusableReply if their number, dimension or values are wrong.
    """
    if len(reply) != count:
        raise UnusableReply(f"{server} gave {len(reply)} vectors for {count} texts", hint=_HINT)
    try:
        vectors = np.array(reply, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise UnusableReply(f"{server} gave vectors of different lengths, or without numbers", hint=_HINT) from error
    if vectors.ndim != 2 or vectors.shape[1] == 0 or dimension not in {None, vectors.shape[1]}:
        found = vectors.shape[1] if vectors.ndim == 2 else 0
        expected = f" instead of {dimension}" if dimension else ", which is not a list of vectors"
        raise UnusableReply(f"{server} gave vectors of dimension {found}{expected}", hint=_HINT)
    lengths = np.linalg.norm(vectors, axis=1)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise UnusableReply(
            f"{server} gave a vector that has length 0 or contains a number that is not finite", hint=_HINT
        )
    unit: NDArray[np.float32] = (vectors / lengths[:, None]).astype(np.float32)
    return unit


# Known texts are sent first and last in every batch, to detect a wrong order or a changed model.
_FIRST, _LAST = "7041", "a river between two hills"
_SPECIAL_TOKENS = 2
_SHARE_WHERE_ESTIMATED = 0.75  # the part of the model's token limit that is used if token counts are only estimates
_UNKNOWN_MODEL = EmbeddingModelFamily(())


class ServerEmbedding(EmbeddingModel):
    """An embedding model on a server. No request is sent until a vector, the token limit or the identity is needed.

    A chunk above the token limit is refused: before it is sent, by an estimate that is usually too high, or otherwise
    by the server. Truncated texts are never embedded. Several threads may share one object.
    """

    _server: ModelServer = PrivateAttr()
    _provider: str = PrivateAttr()
    _concurrency: int = PrivateAttr()
    _query_prefix: str = PrivateAttr()
    _text_prefix: str = PrivateAttr()
    _family: EmbeddingModelFamily = PrivateAttr()
    _lock: Lock = PrivateAttr(default_factory=Lock)
    _facts: tuple[EmbeddingFingerprint, NDArray[np.float32]] | None = PrivateAttr(default=None)
    """The model's identity, and the vectors of the two known texts, shape (2, dimension)."""
    _tokens: TokenEstimate = PrivateAttr(default_factory=TokenEstimate)

    def __init__(self, provider: str, server: ModelServer, chosen: EmbeddingSettings, batch_size: int) -> None:
        super().__init__(model_name=server.model, embed_batch_size=batch_size)
        family = find_model_family(server.model) or _UNKNOWN_MODEL
        self._server = server
        self._provider = provider
        self._concurrency = chosen.concurrency
        self._family = family
        self._query_prefix = family.query_prefix if chosen.query_prefix is None else chosen.query_prefix
        self._text_prefix = family.text_prefix if chosen.text_prefix is None else chosen.text_prefix

    @abstractmethod
    def _request_vectors(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Request one vector per text, without retries and without checks. Raises a ModelError if the request fails."""

    @abstractmethod
    def _identify(self) -> tuple[str, int]:
        """Request the model's digest and maximum number of tokens. Raises a ModelError if the request fails."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections to the server."""

    @property
    def fingerprint(self) -> EmbeddingFingerprint:
        """What identifies the model, requested from the server once. Raises a ModelError if the request fails."""
        return self._server_facts()[0]

    @property
    def concurrency(self) -> int:
        """The number of requests sent to the server at the same time, from `embedding.concurrency`."""
        return self._concurrency

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of chunks, shape (len(texts), dimension). Raises PromptTooLong if one is too long."""
        for text in texts:
            if not text.strip():
                raise ModelError("A text without words cannot be embedded", hint="Remove the text")
            if (count := len(self.token_spans(text))) > (limit := self.token_limit):
                raise PromptTooLong(
                    f"A text has about {count} tokens, but {self.model_name} reads at most {limit}: {text[:40]!r}",
                    hint=f"Set chunking.chunk_size to {limit} or less",
                )
        prefixed = [self._text_prefix + text for text in texts]
        size = self.embed_batch_size
        batches = [self._batch(prefixed[at : at + size]) for at in range(0, len(prefixed), size)]
        return np.concatenate(batches) if batches else np.empty((0, self.fingerprint.dimension), dtype=np.float32)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question. For a long question, it is the mean of its parts' vectors."""
        if not text.strip():
            raise ModelError("An empty question cannot be embedded", hint="Use at least one word")
        room, spans = max(1, self.token_limit - len(self.token_spans(self._query_prefix))), self.token_spans(text)
        starts = [0, *(spans[at][0] for at in range(room, len(spans), room))]
        parts = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
        vectors = self._batch([self._query_prefix + part for part in parts])
        mean = vectors.mean(axis=0)
        vector: NDArray[np.float32] = check_vectors([mean.tolist()], 1, len(mean), self._server)[0]
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token, estimated by TokenEstimate."""
        return self._tokens.spans(text)

    def _batch(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the vectors of prefixed texts. A known text is sent first and last, to verify the reply's order."""
        sent, (fingerprint, known) = [_FIRST, *texts, _LAST], self._server_facts()
        reply = call_with_retries(lambda: self._request_vectors(sent))
        vectors = check_vectors(reply, len(sent), fingerprint.dimension, self._server)
        if float(np.min(np.sum(vectors[[0, -1]] * known, axis=1))) < _MIN_SIMILARITY:
            raise UnusableReply(
                f"{self._server} gave another vector for a known text than before: the vectors are in the wrong order,"
                " or the model has changed",
                hint=f"{_HINT}; after a change of the model, run elt-llm ingest with --rebuild",
            )
        return vectors[1:-1]

    def _server_facts(self) -> tuple[EmbeddingFingerprint, NDArray[np.float32]]:
        with self._lock:
            self._facts = self._facts or self._request_facts()
            return self._facts

    def _request_facts(self) -> tuple[EmbeddingFingerprint, NDArray[np.float32]]:
        digest, context = call_with_retries(self._identify)
        first = call_with_retries(lambda: self._request_vectors([_FIRST]))
        last = call_with_retries(lambda: self._request_vectors([_LAST]))
        known = check_vectors([*first[:1], *last[:1]], 2, None, self._server)
        if self._family is not _UNKNOWN_MODEL:
            context = min(context, self._family.token_limit)
        share = 1.0 if self._family.english_pieces else _SHARE_WHERE_ESTIMATED
        fingerprint = EmbeddingFingerprint(
            provider=self._provider,
            model=self._server.model,
            digest=digest,
            dimension=known.shape[1],
            query_prefix=self._query_prefix,
            text_prefix=self._text_prefix,
            normalised=True,
            token_limit=max(1, int((context - _SPECIAL_TOKENS - len(self.token_spans(self._text_prefix))) * share)),
        )
        return fingerprint, known
