"""The speed benchmark at any size, from building the data to the results."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import bench_process
from bench_process import ProcessTimings
from benchmarking.corpus import Source
from benchmarking.data import BENCH_SETTINGS, BenchData, bench_data, opened
from benchmarking.measures import Latency, measure, measure_alone, measure_threads
from benchmarking.page import BenchFigures
from benchmarking.rivals import RawParts, Stock
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_query.engine import Engine, open_engine

THREADS = (1, 4, 16)


class SpeedBench:
    """Runs the parts of the speed benchmark with one source and one model; data are kept below `cache`."""

    def __init__(self, source: Source, model: EmbeddingModel, cache: Path, *, questions: int) -> None:
        self._source, self._model, self._cache = source, model, cache
        self._questions = tuple(source.questions[:questions])
        self.measured = BenchFigures(len(self._questions))

    def one_collection(self, size: int, *, stock_questions: int) -> None:
        """Measure the raw libraries, our engine and LlamaIndex on one collection, with and without filters."""
        data = self._data([size], stock=True)
        self.measured.stock_questions = stock_questions
        with ExitStack() as stack:
            [generation] = stack.enter_context(opened(data, self._model))
            stock = stack.enter_context(Stock(data.stock_dir, self._model))
            raw = RawParts(generation, self._model, stock.collection)
            engine = stack.enter_context(self._engine(data))
            found = measure(self._questions, engine, raw, stock, stock_questions=stock_questions)
        self.measured.latencies[size] = found

    def threads(self, size: int) -> None:
        """Measure several threads at once."""
        with self._engine(self._data([size], stock=True)) as engine:
            self.measured.threads = measure_threads(self._questions, engine, THREADS)

    def many_collections(self, count: int, each: int) -> None:
        """Measure many small collections together, and one collection with as many chunks."""
        found: list[Latency] = []
        with ExitStack() as stack:
            sizes = ([each] * count, [each * count])
            engines = [stack.enter_context(self._engine(self._data(one, stock=False))) for one in sizes]
            found = measure_alone(self._questions, engines)
        self.measured.many = found[0], found[1]

    def own_process(self, size: int, provider: str) -> None:
        """Measure the first question and the memory of a process that does nothing else."""
        data = self._data([size], stock=True)
        questions = self._cache / "questions.txt"
        questions.write_text("\n".join(self._questions), encoding="utf-8")
        where = {"ours": data.data_dir, "LlamaIndex": data.stock_dir}
        self.measured.cold[size] = {
            who: _in_a_process(
                ["stock" if who == "LlamaIndex" else who, str(folder), data.collections[0], provider, str(questions)]
            )
            for who, folder in where.items()
        }

    def _data(self, sizes: Sequence[int], *, stock: bool) -> BenchData:
        return bench_data(self._cache, self._source, self._model, sizes, stock=stock)

    def _engine(self, data: BenchData) -> Engine:
        return open_engine(BENCH_SETTINGS, data.data_dir, data.collections, embedding=self._model)


def _in_a_process(arguments: Sequence[str]) -> ProcessTimings:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, bench_process.__file__, *arguments]
    ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return ProcessTimings(**json.loads(ran.stdout))
