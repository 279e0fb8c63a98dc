"""What can be followed while a question is answered."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from elt_llm_core.results import QueryResult, RetrievedChunk


@dataclass(frozen=True)
class Understood:
    """A question that leaned on earlier ones is asked in these words."""

    question: str


@dataclass(frozen=True)
class SourcesFound:
    """The passages that the answer is made from, in the order of the numbers they are cited by."""

    chunks: tuple[RetrievedChunk, ...]


@dataclass(frozen=True)
class AnswerBegins:
    """An answer is about to be told; with any `again` what was told so far does not count.

    once more: it was not good enough, and another is written. back: that one is no better, and the first is told again.
    """

    again: Literal["", "once more", "back"] = ""


@dataclass(frozen=True)
class Piece:
    """The next words of the answer."""

    text: str


Event = Understood | SourcesFound | AnswerBegins | Piece
Listener = Callable[[Event], None]


def unheard(_event: Event) -> None:
    """For who waits for the whole answer."""


def by_number(chunks: Sequence[RetrievedChunk]) -> tuple[RetrievedChunk, ...]:
    """Passages in the order of the numbers that an answer cites them by: the best first, ties as they come."""
    return tuple(sorted(chunks, key=lambda chunk: -chunk.score))


def told_once_more(text: str, chunks: Sequence[RetrievedChunk], listen: Listener) -> None:
    """The first answer and its sources, after one that turned out no better."""
    listen(SourcesFound(by_number(chunks)))
    listen(AnswerBegins("back"))
    listen(Piece(text))


def told_again(known: QueryResult, listen: Listener, started: float) -> QueryResult:
    """An answer given before, as if it were written now; it says that it was not."""
    listen(SourcesFound(by_number(known.contexts)))
    listen(AnswerBegins())
    listen(Piece(known.answer))
    took_ms = (time.perf_counter() - started) * 1000
    return known.model_copy(update={"latency_ms": took_ms, "metadata": {**known.metadata, "cached": True}})
