"""What can be followed while a question is answered."""

import time
from collections.abc import Callable
from dataclasses import dataclass

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
    """An answer is about to be written; `again`: what was written so far was not good enough and does not count."""

    again: bool = False


@dataclass(frozen=True)
class Piece:
    """The next words of the answer."""

    text: str


Event = Understood | SourcesFound | AnswerBegins | Piece
Listener = Callable[[Event], None]


def unheard(_event: Event) -> None:
    """For who waits for the whole answer."""


def told_again(known: QueryResult, listen: Listener, started: float) -> QueryResult:
    """An answer given before, as if it were written now; it says that it was not."""
    listen(SourcesFound(known.contexts))
    listen(AnswerBegins())
    listen(Piece(known.answer))
    took_ms = (time.perf_counter() - started) * 1000
    return known.model_copy(update={"latency_ms": took_ms, "metadata": {**known.metadata, "cached": True}})
