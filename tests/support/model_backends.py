"""What stands behind the model server of the tests: something that writes, counts and embeds."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Protocol

from elt_llm_core.models.fakes import FakeEmbedding

_TOKEN = re.compile(r"\w{1,1000}|[^\w\s]")
Message = Mapping[str, str]


@dataclass(frozen=True)
class End:
    """The last thing a backend says: what was counted, and why it stopped ("stop" or "length")."""

    prompt_tokens: int
    answer_tokens: int
    reason: str


class TooLong(Exception):
    """The text is longer than the model reads."""


class Backend(Protocol):
    """A model. `options` are those of Ollama: num_ctx, num_predict, seed, temperature, top_p."""

    name: str
    digest: str
    context_length: int

    def chat(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Iterator[str | End]:
        """Pieces of the answer, then the end."""

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Vectors, and the tokens of all texts. Raises TooLong."""


class ScriptedBackend:
    """Says given answers in turn, word by word, without any model; vectors are those of the fake embedding."""

    def __init__(
        self, answers: Sequence[str] = ("It is so [1].",), name: str = "scripted:latest", context_length: int = 2048
    ) -> None:
        self.name = name
        self.digest = hashlib.sha256(name.encode()).hexdigest()
        self.context_length = context_length
        self._answers = cycle(answers)
        self._embedding = FakeEmbedding(32)

    def chat(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Iterator[str | End]:
        """The next answer; what is above the window is cut in silence, as Ollama does."""
        prompt = sum(len(_TOKEN.findall(message.get("content") or "")) for message in messages)
        pieces = re.findall(r"\S+\s*", next(self._answers))
        allowed = int(options.get("num_predict") or len(pieces))
        yield from pieces[:allowed]
        window = int(options.get("num_ctx") or self.context_length)
        reason = "length" if len(pieces) > allowed else "stop"
        yield End(min(prompt, window), min(len(pieces), allowed), reason)

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Vectors of 32 dimensions, deliberately not of length 1."""
        counts = [len(_TOKEN.findall(text)) for text in texts]
        if max(counts, default=0) > self.context_length:
            raise TooLong
        vectors = [self._embedding.embed_question(text) * 3 for text in texts]
        return [vector.tolist() for vector in vectors], sum(counts)
