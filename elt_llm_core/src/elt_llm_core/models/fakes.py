"""Deterministic models for tests and trials, without files or network. Equal input gives equal output everywhere."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr

from elt_llm_core.errors import EltError, ModelError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.store.records import EmbeddingFingerprint
from elt_llm_core.text.stems import KeywordTokeniser

TOKEN_LIMIT = 254
TOKEN = re.compile(r"\w+|[^\w\s]")


class FakeEmbedding(EmbeddingModel):
    """An embedding model without weights, which hashes each word stem to a dimension and a sign.

    Texts with common words have similar vectors. Different values of `version` give different vectors and fingerprints.
    """

    _dimension: int = PrivateAttr()
    _version: str = PrivateAttr()
    _tokeniser: KeywordTokeniser = PrivateAttr()
    _lock: Lock = PrivateAttr(default_factory=Lock)
    calls: int = 0
    """The number of calls to `embed_texts`."""
    texts_embedded: int = 0
    """The number of chunks that were passed to `embed_texts`."""

    def __init__(self, dimension: int = 64, *, version: str = "1") -> None:
        super().__init__(model_name="fake")
        self._dimension, self._version, self._tokeniser = dimension, version, KeywordTokeniser()

    @property
    def fingerprint(self) -> EmbeddingFingerprint:
        """What identifies the fake model. Its digest depends on dimension and version."""
        return EmbeddingFingerprint(
            provider="fake",
            model="fake",
            digest=hashlib.sha256(f"fake {self._version} {self._dimension}".encode()).hexdigest(),
            dimension=self._dimension,
            query_prefix="",
            text_prefix="",
            normalised=True,
            token_limit=TOKEN_LIMIT,
        )

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of chunks, shape (len(texts), dimension). Raises ModelError if one is too long."""
        with self._lock:
            self.calls += 1
            self.texts_embedded += len(texts)
        for text in texts:
            if (count := len(self.token_spans(text))) > TOKEN_LIMIT:
                raise ModelError(f"A text has {count} tokens, but the fake model reads at most {TOKEN_LIMIT}")
        rows = [self._vector(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self._dimension), dtype=np.float32)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape (dimension,)."""
        return self._vector(text)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character spans of words and punctuation marks."""
        return [match.span() for match in TOKEN.finditer(text)]

    def _vector(self, text: str) -> NDArray[np.float32]:
        if not text.strip():
            raise ModelError("A text without words cannot be embedded")
        vector = np.zeros(self._dimension, dtype=np.float32)
        for stem in self._tokeniser.stems(text):
            self._add(vector, stem)
        if not vector.any():
            self._add(vector, text)
        unit: NDArray[np.float32] = vector / np.linalg.norm(vector)
        return unit

    def _add(self, vector: NDArray[np.float32], word: str) -> None:
        seed = hashlib.sha256(f"{self._version}\0{word}".encode("utf-8", "replace")).digest()
        index = int.from_bytes(seed[:4], "big") % self._dimension
        vector[index] += 1.0 if seed[4] & 1 else -1.0


@dataclass(frozen=True)
class ScriptedReply:
    """A response for ScriptedLLM, with token counts. `finish` is "stop", "length" or "cut off"."""

    text: str
    finish: str = "stop"
    prompt_tokens: int | None = None
    answer_tokens: int | None = None

    @property
    def end(self) -> dict[str, Any]:
        """The last message of the reply in Ollama's format, with the known token counts."""
        counts = {"prompt_eval_count": self.prompt_tokens, "eval_count": self.answer_tokens}
        known = {key: count for key, count in counts.items() if count is not None}
        return {"done": False} if self.finish == "cut off" else {"done": True, "done_reason": self.finish, **known}


class ScriptedLLM(CustomLLM):
    """A language model that records its prompts. It returns or raises the given responses in turn, then ModelError."""

    _responses: "list[str | ScriptedReply | EltError]" = PrivateAttr()
    prompts: list[str] = Field(default_factory=list)
    """Every prompt so far, oldest first. Chat messages are joined to one prompt."""
    _lock: Lock = PrivateAttr(default_factory=Lock)

    def __init__(self, responses: "Sequence[str | ScriptedReply | EltError]" = ()) -> None:
        super().__init__()
        self._responses = list(responses)

    @property
    def metadata(self) -> LLMMetadata:
        """The metadata of a small local completion model."""
        return LLMMetadata(model_name="scripted", context_window=16384, num_output=1500)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the next of the given responses."""
        reply = self._next(prompt)
        return CompletionResponse(text=reply.text, raw=reply.end)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Yield the next of the given responses word by word."""
        reply, text = self._next(prompt), ""
        for word in re.findall(r"\S+\s*|\s+", reply.text):
            text += word
            yield CompletionResponse(text=text, delta=word)
        yield CompletionResponse(text=text, delta="", raw=reply.end)

    def _next(self, prompt: str) -> ScriptedReply:
        with self._lock:
            self.prompts.append(prompt)
            position = len(self.prompts) - 1
        if position >= len(self._responses):
            raise ModelError(
                f"The scripted model has {len(self._responses)} responses for {position + 1} requests",
                hint="Give ScriptedLLM more responses",
            )
        response = self._responses[position]
        if isinstance(response, EltError):
            raise response
        return ScriptedReply(response) if isinstance(response, str) else response
