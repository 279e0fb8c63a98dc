"""A million chunks on one machine: time to build and to publish, disk, memory and latency; `make bench-million`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarking.corpus import PASSAGES_A_FILE, YEARS, read_source
from benchmarking.data import BENCH_SETTINGS, cache_folder
from benchmarking.growth import SHELVES, GrowingLibrary
from benchmarking.measures import Latency
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.index.searchable import ValueFilter
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.store.disk import tree_size
from elt_llm_core.store.store import open_store
from elt_llm_query.engine import open_engine
from llama_index.core.vector_stores.types import VectorStoreQuery
from numpy.typing import NDArray
from stored.shelf import writing

SIZE = int(os.environ.get("BENCH_CHUNKS", "1000000"))
QUESTIONS = 200
NAME = "bench"
FILTERS = {"all": [], "0.1 %": ["shelf=7"], "2 %": ["year=2007"], "50 %": ["year>=2000"]}
READ_AT_ONCE = 10_000
CHANGED_FILES = 10
DEPTH = 50
PROCESS = Path(__file__).parents[1] / "support" / "bench_process.py"


@pytest.mark.million
def test_a_million_chunks_are_searched_with_little_memory(datasets: Path, tmp_path: Path) -> None:
    model = create_embedding(BENCH_SETTINGS)
    source = read_source(datasets, model, cache_folder())
    data_dir = Path(os.environ.get("BENCH_MILLION") or tmp_path / "data")
    with writing(data_dir) as store:
        library = GrowingLibrary(store, NAME, source, model)
        started = time.process_time()
        versions = library.add(range(SIZE // PASSAGES_A_FILE), first=0)
        print(f"\n{SIZE} chunks and vectors stored: {time.process_time() - started:.0f} CPU s")  # noqa: T201
        _, clock = library.publish(versions)
        print(f"published: {clock}")  # noqa: T201
        folder, database = store.folder(NAME), data_dir / "store.sqlite3"
        print(f"disk: index {tree_size(folder) / 1e9:.2f} GB, store {database.stat().st_size / 1e9:.2f} GB")  # noqa: T201
        for repeat in range(2):
            files = range(repeat * CHANGED_FILES, (repeat + 1) * CHANGED_FILES)
            first = 5_000_000 + repeat * CHANGED_FILES * PASSAGES_A_FILE
            versions[files.start : files.stop] = library.add(files, first)
            _, clock = library.publish(sorted(versions))
            print(f"{CHANGED_FILES * PASSAGES_A_FILE} chunks changed: {clock}")  # noqa: T201
    questions = source.questions[:QUESTIONS]
    memory = _ask_in_a_process(data_dir, questions, tmp_path)
    latencies = _latencies(data_dir, questions, model)
    recall = _recall(data_dir, questions, model)
    print(f"recall@{DEPTH} {recall:.4f}")  # noqa: T201
    assert memory <= 1200
    assert latencies["all"].p50 <= 40
    assert recall >= 0.98
    _assert_filtered_searches_are_exact(data_dir, questions, model)


def _ask_in_a_process(data_dir: Path, questions: Sequence[str], folder: Path) -> float:
    """Ask in a separate process, print its timings, and return its anonymous memory in megabytes."""
    asked = folder / "questions.txt"
    asked.write_text("\n".join(" ".join(question.split()) for question in questions), encoding="utf-8")
    command = [sys.executable, str(PROCESS), "ours", str(data_dir), NAME, "embedded", str(asked)]
    support = {"PYTHONPATH": str(PROCESS.parent)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | support)
    print(f"a process that asks: {done.stdout}")  # noqa: T201
    return float(json.loads(done.stdout)["anonymous_mb"])


def _latencies(data_dir: Path, questions: Sequence[str], model: EmbeddingModel) -> dict[str, Latency]:
    found = {}
    with open_engine(BENCH_SETTINGS, data_dir, [NAME], embedding=model) as engine:
        for name, where in FILTERS.items():
            taken = []
            for question in questions:
                started = time.perf_counter()
                engine.search(question, where=where)
                taken.append((time.perf_counter() - started) * 1000)
            found[name] = Latency(tuple(taken))
            print(f"{name}: p50 {found[name].p50:.1f} ms, p95 {found[name].p95:.1f} ms")  # noqa: T201
    return found


def _recall(data_dir: Path, questions: Sequence[str], model: EmbeddingModel) -> float:
    """Return the mean share of the nearest chunks that the vector index finds; a tie with the last counts as found."""
    shares = []
    with open_store(data_dir) as store, open_generation(store, NAME, model.fingerprint) as generation:
        for question in questions:
            vector = model.embed_question(question)
            least = np.sort(generation.arrays.vectors @ vector)[-DEPTH]
            query = VectorStoreQuery(query_embedding=vector.tolist(), similarity_top_k=DEPTH)
            found = generation.vector_store.query(query).similarities or []
            shares.append(np.count_nonzero(np.array(found) >= least - 1e-6) / DEPTH)
    return float(np.mean(shares))


def _assert_filtered_searches_are_exact(data_dir: Path, questions: Sequence[str], model: EmbeddingModel) -> None:
    """Compare the nearest chunks of each filter with the cosines of all chunks whose file number fulfils the filter."""
    fulfils: dict[str, tuple[str, Callable[[int], bool], Callable[[int], bool]]] = {
        "0.1 %": ("shelf", lambda value: value == 7, lambda file: file % SHELVES == 7),
        "2 %": ("year", lambda value: value == 2007, lambda file: YEARS[file % len(YEARS)] == 2007),
        "50 %": ("year", lambda value: value >= 2000, lambda file: YEARS[file % len(YEARS)] >= 2000),
    }
    with open_store(data_dir) as store, open_generation(store, NAME, model.fingerprint) as generation:
        ids, vectors = generation.arrays.ids, generation.arrays.vectors
        files = _file_numbers(generation)
        cosines = {question: vectors @ model.embed_question(question) for question in questions}
        for name, (field, of_value, of_file) in fulfils.items():
            values = generation.field(field)
            assert values is not None
            codes = [code for value, code in zip(values.values, values.codes, strict=True) if of_value(int(value))]
            allowed = generation.allow([ValueFilter(codes)])
            mask = np.array([of_file(number) for number in range(SIZE // PASSAGES_A_FILE)])[files]
            assert allowed.count == np.count_nonzero(mask) > 0
            for question in questions:
                found = generation.nearest(model.embed_question(question), DEPTH, allowed)
                places = generation.arrays.positions([node_id for node_id, _ in found])
                exact = np.sort(cosines[question][mask])[::-1][:DEPTH]
                assert mask[places].all()
                assert np.allclose([score for _, score in found], exact, atol=1e-6), (name, question)
            print(f"{name}: the nearest chunks of {len(questions)} questions are those of {len(ids)} cosines")  # noqa: T201


def _file_numbers(generation: Generation) -> NDArray[np.int64]:
    """Return the number of the file of each chunk, in the order of the ids."""
    ids = list(generation.every_id())
    numbers = []
    for start in range(0, len(ids), READ_AT_ONCE):
        nodes = generation.nodes(ids[start : start + READ_AT_ONCE])
        numbers += [int(Path(node.source).stem.rpartition("-")[2]) for node in nodes]
    return np.array(numbers)
