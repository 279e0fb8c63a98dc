"""Measure the latencies of several engines in turn, so that all have the same conditions."""

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
    """The latencies of one engine for all questions, in milliseconds."""

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
    """Results of several threads: questions per second, failures, and answers that differ from one thread's."""

    threads: int
    a_second: float
    errors: int
    mixed: int


def answer_of(found: SearchResult) -> Answer:
    """Return the ids and scores of a result in order, to compare two results for one question."""
    return tuple((chunk.node_id, chunk.score) for chunk in found.chunks)


def measure(
    questions: Sequence[str], engine: Engine, raw: RawParts, stock: Stock | None, *, stock_questions: int
) -> dict[str, Latency]:
    """Return the latencies by name: the raw libraries, our engine and, if given, LlamaIndex with its defaults.

    The engines are called in turn, each with another question than the one before, so that no engine profits from
    data that another has just read. LlamaIndex gets only the first `stock_questions`.
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
    """Return the latency of each engine, called in turn."""
    taken: list[list[float]] = [[] for _ in engines]
    for engine in engines:
        for question in questions[:WARM_UP]:
            engine.search(question)
    for question in questions:
        for engine, values in zip(engines, taken, strict=True):
            values.append(_timed(partial(engine.search, question))[1])
    return [Latency(tuple(values)) for values in taken]


def _asked(questions: Sequence[str], engine: Engine, raw: RawParts, stock: Stock | None) -> Iterator[tuple[str, float]]:
    """Yield name and milliseconds of each engine for one question: raw libraries, our engine and LlamaIndex."""
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
    """Ask every question in several threads at once, and compare each answer with that of one thread."""
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
