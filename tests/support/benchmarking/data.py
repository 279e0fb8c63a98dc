"""The data of the speed benchmarks: built once by the product's own ingest, and kept between runs."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarking.corpus import GeneratedVectors, Source, write_corpus
from benchmarking.rivals import build_stock
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation, rebuild_generation
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.records import sha256
from elt_llm_core.store.store import Store, open_store
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.pool import ParsePool
from elt_llm_ingest.sources.request import IngestRequest

CACHE_VARIABLE = "BENCH_CACHE"
MADE_BY = 1  # increase it whenever this file or corpus.py generates other data
MANY, EACH = 50, 500
BUILDS = 5  # attempts to build a graph of vectors until one passes its check
BENCH_SETTINGS = Settings(query=QuerySettings(cache_size=0, route_above=0))  # every collection is searched
_LIBRARIES = ("chromadb", "bm25s", "llama-index-core")


def cache_folder() -> Path:
    """Return the folder for benchmark data: BENCH_CACHE, else a folder in the user's cache folder."""
    return Path(os.environ.get(CACHE_VARIABLE) or Path(tempfile.gettempdir()) / "elt-llm-bench")


@dataclass(frozen=True)
class BenchData:
    """A data directory with its collections, and the same chunks in the stores of LlamaIndex."""

    data_dir: Path
    stock_dir: Path
    collections: tuple[str, ...]


def bench_data(folder: Path, source: Source, model: EmbeddingModel, sizes: Sequence[int], *, stock: bool) -> BenchData:
    """Return collections of these sizes in one data directory; build those that do not exist."""
    key = (MADE_BY, KeywordTokeniser().fingerprint, model.fingerprint.key.hex(), *map(version, _LIBRARIES))
    name = f"{len(sizes)}x{sizes[0]}-{sha256(repr(key)).hex()[:12]}"
    data = BenchData(
        folder / name / "data", folder / name / "stock", tuple(f"bench-{place:02}" for place in range(len(sizes)))
    )
    if not (folder / name / "built").exists():
        shutil.rmtree(folder / name, ignore_errors=True)
        _build(data, source, model, sizes)
        (folder / name / "built").touch()
    if stock and not (folder / name / "stocked").exists():
        shutil.rmtree(data.stock_dir, ignore_errors=True)
        with opened(data, model) as [generation]:
            build_stock(data.stock_dir, generation)
        (folder / name / "stocked").touch()
    return data


@contextmanager
def opened(data: BenchData, model: EmbeddingModel) -> Iterator[list[Generation]]:
    """Open the generations of the collections."""
    with ExitStack() as stack:
        store = stack.enter_context(open_store(data.data_dir))
        yield [stack.enter_context(open_generation(store, name, model.fingerprint)) for name in data.collections]


def _build(data: BenchData, source: Source, model: EmbeddingModel, sizes: Sequence[int]) -> None:
    vectors = GeneratedVectors(source, model)
    limits = ParseLimits.of(BENCH_SETTINGS.ingest)
    with (
        tempfile.TemporaryDirectory() as files,
        writer_lock(data.data_dir, "bench"),
        open_store(data.data_dir, for_writing=True) as store,
        ParsePool(limits, BENCH_SETTINGS.ingest.workers) as parser,
    ):
        first = 0
        for name, size in zip(data.collections, sizes, strict=True):
            corpus = write_corpus(Path(files) / name, source, size, first)
            request = IngestRequest(name, (corpus,))
            ingest(request, BENCH_SETTINGS, vectors, store, SilentListener(), parser)
            _searched_by_a_graph(store, name)
            first += size


def _searched_by_a_graph(store: Store, name: str) -> None:
    """Build the collection again until its vector graph passes the check. The graph differs in each build."""
    for _ in range(BUILDS):
        record = store.collections.get(name)
        with open_generation(store, name) as generation:
            number, exact = generation.number, generation.passport.exact
        if not exact or record.published is None:
            return
        rebuild_generation(store, name, number, SilentListener())
    raise ValueError(f"'{name}' has no index that passes its check after {BUILDS} more builds.")
