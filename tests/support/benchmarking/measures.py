"""Latencies of many questions, measured for several engines in turn so that all have the same conditions."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TypeVar

from benchmarking.rivals import FEW, HALF, RawParts, Stock
from elt_llm_query.engine import Engine
from elt_llm_query.search import SearchResult

Answer = tuple[tuple[str, float], ...]
WARM_UP = 20
T = TypeVar("T")


@dataclass(frozen=True)
class Latency:
    """Milliseconds of one thing over all questions."""

    milliseconds: tuple[float, ...]

    @property
    def p50(self) -> float:
        """The median."""
        return median(self.milliseconds)

    @property
    def p95(self) -> float:
        """The 95th percentile."""
        return sorted(self.milliseconds)[int(0.95 * len(self.milliseconds))]


@dataclass(frozen=True)
class Threads:
    """Results of several threads: questions a second, failures, and answers that differ from those of one thread."""

    threads: int
    a_second: float
    errors: int
    mixed: int


def answer_of(found: SearchResult) -> Answer:
    """Ids and scores in order: what two answers to one question must share."""
    return tuple((chunk.node_id, chunk.score) for chunk in found.chunks)


def measure(
    questions: Sequence[str], engine: Engine, raw: RawParts, stock: Stock | None, *, stock_questions: int
) -> dict[str, Latency]:
    """By name the latency of the raw parts, of ours and, if given, of LlamaIndex as it comes.

    All are asked in turn; each is asked something else than the one before it, so that none profits from what another
    has just read. LlamaIndex gets the first `stock_questions` alone.
    """
    taken: dict[str, list[float]] = {}
    for question in questions[:WARM_UP]:
        for _ in _asked((question,) * 3, engine, raw, stock):
            pass
    for place, question in enumerate(questions):
        third = len(questions) // 3
        others = (
            question,
            questions[(place + third) % len(questions)],
            questions[(place + 2 * third) % len(questions)],
        )
        for name, took in _asked(others, engine, raw, stock if place < stock_questions else None):
            taken.setdefault(name, []).append(took)
    latencies = {name: Latency(tuple(values)) for name, values in taken.items()}
    legs = zip(*(latencies[name].milliseconds for name in ("embed", "chroma", "bm25s")), strict=True)
    three = list(legs)
    latencies["sum"] = Latency(tuple(map(sum, three)))
    latencies["embed + slower leg"] = Latency(tuple(embed + max(chroma, bm25) for embed, chroma, bm25 in three))
    return latencies


def measure_alone(questions: Sequence[str], engines: Sequence[Engine]) -> list[Latency]:
    """The latency of each engine, asked in turn."""
    taken: list[list[float]] = [[] for _ in engines]
    for engine in engines:
        for question in questions[:WARM_UP]:
            engine.search(question)
    for question in questions:
        for engine, values in zip(engines, taken, strict=True):
            values.append(_timed(partial(engine.search, question))[1])
    return [Latency(tuple(values)) for values in taken]


def _asked(questions: Sequence[str], engine: Engine, raw: RawParts, stock: Stock | None) -> Iterator[tuple[str, float]]:
    """Name and milliseconds of each thing that is measured, for one question each of the raw parts, ours and stock."""
    first, second, third = questions
    vector, took = _timed(lambda: raw.embed(first))
    yield "embed", took
    yield "chroma", _timed(lambda: raw.chroma(vector))[1]
    yield "bm25s", _timed(lambda: raw.bm25(first))[1]
    yield "ours", _timed(lambda: engine.search(second))[1]
    yield "ours 2 %", _timed(lambda: engine.search(third, where=[FEW]))[1]
    yield "ours 50 %", _timed(lambda: engine.search(first, where=[HALF]))[1]
    if stock is not None:
        yield "stock", _timed(lambda: stock.search(third))[1]
        yield "stock 2 %", _timed(lambda: stock.search(first, FEW))[1]
        yield "stock 50 %", _timed(lambda: stock.search(second, HALF))[1]


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - started) * 1000


def measure_threads(questions: Sequence[str], engine: Engine, counts: Sequence[int]) -> list[Threads]:
    """Every question asked by so many threads at once, each answer compared with that of one thread."""
    expected = {question: answer_of(engine.search(question)) for question in questions}
    return [_by_threads(expected, engine, count) for count in counts]


def _by_threads(expected: Mapping[str, Answer], engine: Engine, count: int) -> Threads:
    def asked(question: str) -> str:
        try:
            return "" if answer_of(engine.search(question)) == expected[question] else "mixed"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            return type(error).__name__

    started = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        outcomes = list(pool.map(asked, expected))
    took = time.perf_counter() - started
    mixed = outcomes.count("mixed")
    return Threads(count, len(outcomes) / took, sum(map(bool, outcomes)) - mixed, mixed)
