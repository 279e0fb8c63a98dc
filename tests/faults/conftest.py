"""Fixtures: three ingests to interrupt, their expected results, and the numbers of random kills and byte changes."""

import os
import shutil
import time
from pathlib import Path

import pytest
from elt_llm_core.settings.tree import GRAPH_FROM
from processes.killing import Scene, SlowEmbedding
from stored.folders import generated_files, run_ingest, write_files

REPETITIONS = {
    "kill": ("KILLS", 2),
    "build_kill": ("BUILD_KILLS", 1),
    "care_kill": ("CARE_KILLS", 1),
    "flip": ("FLIPS", 6),
}
"""The parameters that repeat a test, with the environment variable that sets the number, and its default."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat each test that kills at a random moment or changes bytes at a random place."""
    for name, (variable, count) in REPETITIONS.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, range(int(os.environ.get(variable, count))))


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scene, Scene, Scene]:
    """Return the ingests to interrupt: the first and third of a collection, and the third with the index usearch.

    The third ingest copies the index of the second generation and deletes the first generation.
    """
    place = tmp_path_factory.mktemp("scenes")
    files = generated_files(60)
    first = write_files(place / "1" / "docs", files)
    changed = {**files, "part-0/note-00.md": "# Note 0\n\nAn anchor, and nothing else.\n", "new.md": "A new reef.\n"}
    del changed["part-1/note-01.md"]
    second = write_files(place / "2" / "docs", changed)
    reference, seconds = _timed(place / "reference-1", first)
    other, _ = _timed(place / "reference-2", second)
    moving = place / "docs"
    graphs = {place / "data": GRAPH_FROM, place / "usearch": 2}
    for folder in (write_files(place / "0" / "docs", generated_files(30, seed=1)), first, second):
        shutil.rmtree(moving, ignore_errors=True)
        shutil.copytree(folder, moving)
        for data_dir, graph_from in graphs.items() if folder != second else ():
            run_ingest(data_dir, moving, allow_delete=True, graph_from=graph_from)
    shutil.copytree(place / "data", place / "timing")
    _, later = _timed(place / "timing", moving)
    other_scenes = [Scene(data_dir, moving, (reference, other), later, number) for data_dir, number in graphs.items()]
    return Scene(None, first, (None, reference), seconds), other_scenes[0], other_scenes[1]


def _timed(data_dir: Path, folder: Path) -> tuple[str, float]:
    started = time.monotonic()
    report = run_ingest(data_dir, folder, embedding=SlowEmbedding(), batch_size=16)
    return report.collection_hash, time.monotonic() - started
