"""Backends of the model server for tests: they generate answers, count tokens and embed."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Literal, Protocol

from elt_llm_core.models.fakes import FakeEmbedding

_TOKEN = re.compile(r"\w{1,1000}|[^\w\s]")
Message = Mapping[str, str]


@dataclass(frozen=True)
class AnswerEnd:
    """The end of an answer: token counts and the finish reason ("stop" or "length")."""

    prompt_tokens: int
    answer_tokens: int
    reason: str


class TooLong(Exception):
    """The text exceeds the model's context window. `tokens` (its size) and `window` are 0 if unknown."""

    def __init__(self, tokens: int = 0, window: int = 0, *, cannot_cut: bool = False) -> None:
        self.tokens, self.window = tokens, window
        self.cannot_cut = cannot_cut
        """Whether the request allowed truncation, but the model runner refuses to truncate the prompt."""


@dataclass(frozen=True)
class WindowBehaviour:
    """How a server treats prompts above its window.

    `loaded` is the window in tokens, even if a request sends another `num_ctx`. With `reports`, the server reports
    its window. With `refuses`, it respects `truncate: false`, as Ollama since 0.12.6. `cuts` is the part of a
    truncated prompt that the server keeps.
    """

    loaded: int | None = None
    reports: bool = True
    refuses: bool = True
    cuts: Literal["to the window", "to half of it", "oldest messages first"] = "to the window"


class Backend(Protocol):
    """A model. `options` are those of Ollama (num_ctx, num_predict, seed, temperature, top_p), and `truncate`.

    `loaded` is the window that it reports, or None.
    """

    name: str
    digest: str
    context_length: int
    capabilities: tuple[str, ...]

    @property
    def loaded(self) -> int | None:
        """The window of the loaded model in tokens; None if the server does not report it."""

    def chat(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Iterator[str | AnswerEnd]:
        """Yield the pieces of the answer, then its end."""

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Return the vectors and the number of tokens of all texts. Raises TooLong."""


class ScriptedBackend:
    """Returns the given answers in order, word by word; vectors are those of the fake embedding."""

    def __init__(
        self,
        answers: Sequence[str] = ("It is so [1].",),
        name: str = "scripted:latest",
        context_length: int = 2048,
        behaviour: WindowBehaviour | None = None,
        capabilities: tuple[str, ...] = ("completion", "embedding"),
    ) -> None:
        self.name = name
        self.digest = hashlib.sha256(name.encode()).hexdigest()
        self.context_length = context_length
        self.capabilities = capabilities
        self._answers = cycle(answers)
        self._behaviour = behaviour or WindowBehaviour()
        self._window: int | None = None
        self._embedding = FakeEmbedding(32)

    def chat(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Iterator[str | AnswerEnd]:
        """Yield the next answer.

        A prompt above the window is refused if `truncate` is false, else truncated like Ollama does.
        """
        read = self._read([len(_TOKEN.findall(message.get("content") or "")) for message in messages], options)
        pieces = re.findall(r"\S+\s*", next(self._answers))
        allowed = int(options.get("num_predict") or len(pieces))
        yield from pieces[:allowed]
        reason = "length" if len(pieces) > allowed else "stop"
        yield AnswerEnd(read, min(len(pieces), allowed), reason)

    @property
    def loaded(self) -> int | None:
        """The window of the last answer, if it is reported."""
        return self._window if self._behaviour.reports else None

    def _read(self, sizes: Sequence[int], options: Mapping[str, Any]) -> int:
        """Return how many tokens of these messages the model reads. If they are too long, the first one is kept."""
        self._window = self._behaviour.loaded or min(
            int(options.get("num_ctx") or self.context_length), self.context_length
        )
        if sum(sizes) <= self._window:
            return sum(sizes)
        if self._behaviour.refuses and options.get("truncate") is False:
            raise TooLong(sum(sizes), self._window)
        if self._behaviour.refuses and options.get("shift") is False:
            raise TooLong(sum(sizes), self._window, cannot_cut=True)
        kept = list(sizes)
        while self._behaviour.cuts == "oldest messages first" and len(kept) > 2 and sum(kept) > self._window:
            del kept[1]
        return min(sum(kept), self._window // 2 + 2 if self._behaviour.cuts == "to half of it" else self._window)

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        """Return vectors of 32 dimensions, deliberately not normalized."""
        counts = [len(_TOKEN.findall(text)) for text in texts]
        if max(counts, default=0) > self.context_length:
            raise TooLong
        vectors = [self._embedding.embed_question(text) * 3 for text in texts]
        return [vector.tolist() for vector in vectors], sum(counts)


class PromptedBackend(ScriptedBackend):
    """Returns the answers that `say` set last, in order, and counts the calls since then."""

    def say(self, *answers: str) -> None:
        """Set the answers to the next calls."""
        self._answers, self.calls = cycle(answers), 0

    def chat(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Iterator[str | AnswerEnd]:
        """Count the call and yield the next answer."""
        self.calls += 1
        return super().chat(messages, options)
