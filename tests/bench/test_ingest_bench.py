"""The duration of an ingest: without the embedding, without changes, and with one changed document."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.models.factory import create_embedding
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import ChunkingSettings, EmbeddingSettings, Settings
from elt_llm_core.store.records import EmbeddingFingerprint, sha256
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.run.report import IngestReport
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.parser import DirectParser
from elt_llm_ingest.sandbox.pool import ParsePool
from elt_llm_ingest.sources.request import IngestRequest
from numpy.typing import NDArray
from stored.folders import write_files
from stored.shelf import WORDS, writing

pytestmark = pytest.mark.bench


class StageClock(SilentListener):
    """Measures the seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name, self._since = "", time.perf_counter()

    def stage(self, name: str, total: int) -> None:
        """End the current stage and start the next one."""
        now = time.perf_counter()
        self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._since
        self._name, self._since = name, now


class NearbyEmbedding(FakeEmbedding):
    """Returns vectors of 384 dimensions near a subspace of twelve dimensions, like vectors of real texts."""

    @property
    def fingerprint(self) -> EmbeddingFingerprint:
        """The fingerprint of the fake model with its dimension."""
        return replace(super().fingerprint, dimension=384)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors, shape (len(texts), 384)."""
        plane = np.random.default_rng(0).normal(size=(12, 384)).astype(np.float32)
        seeds = [int.from_bytes(sha256(text)[:8], "big") for text in texts]
        vectors = np.stack([np.random.default_rng(seed).normal(size=12) for seed in seeds]).astype(np.float32) @ plane
        lengthless: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return lengthless


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print the duration of the block."""
    started = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - started:.2f} s")  # noqa: T201


def test_an_ingest_spends_most_of_its_time_on_embedding(datasets: Path, tmp_path: Path) -> None:
    settings = Settings()
    model, clock = create_embedding(settings), StageClock()
    model.embed_texts(["warm"])
    folder = datasets / "handbooks" / "debian-policy" / "html"
    started = time.perf_counter()
    with writing(tmp_path) as store, ParsePool(ParseLimits.of(settings.ingest), settings.ingest.workers) as parser:
        report = ingest(IngestRequest("bench", (folder,)), settings, model, store, clock, parser)
    whole = time.perf_counter() - started
    clock.stage("", 0)
    alone = clock.seconds["embed"]
    print(  # noqa: T201
        f"\nembedder alone {report.embedded / alone:.1f} passages/s, whole ingest {report.embedded / whole:.1f}:"
        f" {alone / whole:.1%} of {whole:.1f} s spent embedding; {clock.seconds}"
    )
    assert alone / whole >= 0.9


def _library(folder: Path, files: int, sections: int) -> Path:
    chance = np.random.default_rng(1)
    words = [word + ending for word in WORDS for ending in ("", "s", "ing", "ed", "er", "ly")]
    words += [f"w{number}" for number in range(20_000)]
    texts = {}
    for number in range(files):
        parts = (f"## Part {number}.{n}\n\n{' '.join(chance.choice(words, 60))}." for n in range(sections))
        texts[f"file-{number}.md"] = f"# File {number}\n\n" + "\n\n".join(parts) + "\n"
    return write_files(folder, texts)


def _ingest(data_dir: Path, docs: Path) -> IngestReport:
    chunking = ChunkingSettings(chunk_size=100, chunk_overlap=0)
    settings = Settings(embedding=EmbeddingSettings(provider="fake"), chunking=chunking)
    with writing(data_dir) as store:
        request = IngestRequest("bench", (docs,))
        return ingest(request, settings, NearbyEmbedding(), store, SilentListener(), DirectParser())


def test_a_change_in_a_large_collection_is_published_within_a_time_limit(tmp_path: Path) -> None:
    docs = _library(tmp_path / "docs", 400, 50)
    with timed("\n20,000 passages, first ingest"):
        assert _ingest(tmp_path / "data", docs).chunks == 20_000
    seconds = []
    for change in range(3):
        path = docs / f"file-{change}.md"
        path.write_text(path.read_text().replace("## Part", "## Chapter", 1))
        started = time.perf_counter()
        report = _ingest(tmp_path / "data", docs)
        seconds.append(time.perf_counter() - started)
        assert (report.published, report.counts["ok"]) == (True, 1)
    print(f"one of 400 files changed, from looking to published: {sorted(seconds)[1]:.2f} s (median of 3)")  # noqa: T201
    assert sorted(seconds)[1] <= 3


def test_a_thousand_unchanged_files_are_not_read_again(tmp_path: Path) -> None:
    docs = _library(tmp_path / "docs", 1000, 1)
    command = [
        sys.executable,
        "-m",
        "elt_llm_api.cli",
        "--data-dir",
        str(tmp_path / "data"),
        "ingest",
        str(docs),
        "-c",
        "bench",
    ]
    subprocess.run(command, check=True, capture_output=True)
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    took = time.perf_counter() - started
    print(f"\n1,000 unchanged files by the command: {took:.2f} s")  # noqa: T201
    assert took <= 5
