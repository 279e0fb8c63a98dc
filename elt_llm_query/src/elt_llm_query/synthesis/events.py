"""Events of an answer in progress, for streaming."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from elt_llm_core.results import QueryResult, RetrievedChunk


@dataclass(frozen=True)
class QuestionRewritten:
    """The rewritten follow-up question, which is searched for."""

    question: str


@dataclass(frozen=True)
class SourcesFound:
    """The chunks from which the answer is written, in the order of their citation numbers."""

    chunks: tuple[RetrievedChunk, ...]


@dataclass(frozen=True)
class AnswerStarted:
    """An answer starts. It replaces the answer that was sent before, if any.

    `again` is "" for the first answer, and "once more" for a second answer, written after further searches. It is
    "back" if the first answer is sent again because the second one was worse.
    """

    again: Literal["", "once more", "back"] = ""


@dataclass(frozen=True)
class AnswerDelta:
    """The next words of the answer."""

    text: str


Event = QuestionRewritten | SourcesFound | AnswerStarted | AnswerDelta
Listener = Callable[[Event], None]


def ignore_events(_event: Event) -> None:
    """Ignore an event: the default for callers that wait for the whole answer."""


def in_citation_order(chunks: Sequence[RetrievedChunk]) -> tuple[RetrievedChunk, ...]:
    """Sort chunks in the order in which an answer numbers them: highest score first, ties keep their order."""
    return tuple(sorted(chunks, key=lambda chunk: -chunk.score))


def send_answer(text: str, chunks: Sequence[RetrievedChunk], listen: Listener, again: Literal["", "back"] = "") -> None:
    """Send a whole answer with its sources. `again` is "back" to repeat the first answer."""
    listen(SourcesFound(in_citation_order(chunks)))
    listen(AnswerStarted(again))
    listen(AnswerDelta(text))


def replay_events(known: QueryResult, listen: Listener, started: float) -> QueryResult:
    """Send a cached answer as if it were written now, and return it marked as cached."""
    send_answer(known.answer, known.chunks, listen)
    took_ms = (time.perf_counter() - started) * 1000
    return known.model_copy(update={"latency_ms": took_ms, "metadata": {**known.metadata, "cached": True}})
