"""Vectors in PostgreSQL: recall, CPU time of the server for a question, and vectors that COPY loads per CPU second."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from benchmarking.corpus import GeneratedVectors, read_source
from benchmarking.data import BENCH_SETTINGS, cache_folder
from elt_llm_core.index.pgvector import PgvectorPoints, table_name
from elt_llm_core.index.points import Point, PointsFilter, PointsView
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.store.postgres import STORE_SCHEMA, PostgresDatabase
from elt_llm_core.store.records import EmbeddingFingerprint
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stored.postgres import PostgresServer

SIZE = int(os.environ.get("BENCH_CHUNKS", "20000"))
DEPTH, QUESTIONS, CHANGED = 50, 200, SIZE // 100
VIEW = PointsView("cd" * 16, 1)
SHARES = {1: 50, 2: 2}  # code -> n: every n-th point has the code


class Measured:
    """Vectors in a table of points, and the CPU time of the session that works with them."""

    def __init__(self, database: PostgresDatabase, fingerprint: EmbeddingFingerprint) -> None:
        self.database, self.fingerprint = database, fingerprint
        [(self._pid,)] = database.rows("SELECT pg_backend_pid()")

    def points(self, indexed_from: int) -> PgvectorPoints:
        """Open the table of points, which gets a graph index if it has at least `indexed_from` rows."""
        return PgvectorPoints(self.database, self.fingerprint, ChromaSettings(), indexed_from)

    def seconds(self, work: Callable[[], object]) -> tuple[float, float]:
        """Return the CPU seconds of this process and of the server that some work takes."""
        before = time.process_time(), self._server()
        work()
        return time.process_time() - before[0], self._server() - before[1]

    def _server(self) -> float:
        fields = Path(f"/proc/{self._pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def made_points(vectors: NDArray[np.float32], first: int = 0) -> Iterator[Point]:
    for place, vector in enumerate(vectors):
        yield Point(f"{first + place:036}", vector, [code for code, each in SHARES.items() if place % each == 0], [])


def measured(measure: Measured, vectors: NDArray[np.float32], questions: NDArray[np.float32]) -> float:
    """Print the CPU time of searches and writes, and return the recall of the graph index, 0 to 1."""
    points = measure.points(indexed_from=10**9)
    points.prepare()
    client, server = measure.seconds(lambda: points.write(VIEW, "", made_points(vectors)))
    rate = len(vectors) / (client + server)
    print(f"\nCOPY: {rate:,.0f} vectors a CPU second of both ({client:.2f} + {server:.2f} s)")  # noqa: T201
    points = measure.points(indexed_from=0)
    _, server = measure.seconds(lambda: points.write(VIEW, "", ()))
    print(f"graph: {server:.1f} s of CPU in the session, which does not count its parallel workers")  # noqa: T201
    exact = np.argsort(-(questions @ vectors.T), axis=1)[:, :DEPTH]
    found: list[list[str]] = []
    _, server = measure.seconds(lambda: found.extend(points.nearest(VIEW, questions, DEPTH)))
    hits = sum(len({int(node) for node in ids} & set(own.tolist())) for ids, own in zip(found, exact, strict=True))
    recall = hits / exact.size
    print(f"recall@{DEPTH} {recall:.4f}, {server / len(questions) * 1000:.1f} ms of the server for a question")  # noqa: T201
    for code, each in SHARES.items():
        few = questions[:40]
        _, server = measure.seconds(lambda: points.nearest(VIEW, few, DEPTH, [PointsFilter([code], False)]))  # noqa: B023
        print(f"filter of {100 / each:.0f} %: {server / len(few) * 1000:.1f} ms of the server for a question")  # noqa: T201
    changed = PointsView(VIEW.lineage, 2)

    def change() -> None:
        points.write(changed, "", made_points(vectors[:CHANGED], first=10**9))
        points.retire(changed, [f"{place:036}" for place in range(CHANGED)])

    print(f"{CHANGED} points changed: {sum(measure.seconds(change)):.2f} s of both")  # noqa: T201
    _, server = measure.seconds(lambda: points.nearest(changed, questions, DEPTH))
    print(f"after that: {server / len(questions) * 1000:.1f} ms of the server for a question")  # noqa: T201
    [(size,)] = measure.database.rows("SELECT pg_total_relation_size(to_regclass(?))", (table_name(VIEW.lineage),))
    print(f"{size / 1e6:.0f} MB")  # noqa: T201
    return recall


@pytest.mark.bench
def test_vectors_in_postgresql_have_a_recall_of_98_percent(
    datasets: Path, postgres: "PostgresServer", tmp_path: Path
) -> None:
    model = create_embedding(BENCH_SETTINGS)
    source = read_source(datasets, model, cache_folder())
    vectors = GeneratedVectors(source, model).embed_texts([f"{number:07}" for number in range(SIZE)])
    questions = np.stack([model.embed_question(text) for text in source.questions[:QUESTIONS]])
    with closing(PostgresDatabase(postgres.workspace(tmp_path), STORE_SCHEMA)) as database:
        database.prepare()
        fingerprint = replace(model.fingerprint, dimension=vectors.shape[1])
        assert measured(Measured(database, fingerprint), vectors, questions) >= 0.98
