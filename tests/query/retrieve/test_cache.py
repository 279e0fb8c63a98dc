"""Tests of the caches of vectors, results and answers: size, expiry, keys and threads."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elt_llm_core.collection.lifecycle import drop
from elt_llm_core.errors import ModelError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import EmbeddingSettings, QuerySettings, Settings
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import open_store
from elt_llm_query.engine import open_engine
from elt_llm_query.retrieve.cache import CachingEmbedding, LruCache, QueryCaches
from elt_llm_query.search import SearchPipeline, SearchResult
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import PrivateAttr
from stored.folders import run_ingest, write_files

MakeGeneration = Callable[..., Any]
TEXTS = {"n1": "The mast is twelve metres tall.", "n2": "The keel is made of oak."}
QUESTION = "How tall is the mast?"
FAKE = Settings(embedding=EmbeddingSettings(provider="fake"))


class Clock:
    """A clock that advances only on request."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class CountingModel(FakeEmbedding):
    """An embedding model that counts its questions and fails on the first `failures` calls."""

    _questions: list[str] = PrivateAttr(default_factory=list)
    _failures: int = PrivateAttr(default=0)

    def __init__(self, dimension: int = 256, failures: int = 0) -> None:
        super().__init__(dimension)
        self._failures = failures

    @property
    def questions(self) -> list[str]:
        return self._questions

    def embed_question(self, text: str) -> NDArray[np.float32]:
        self._questions.append(text)
        if len(self._questions) <= self._failures:
            raise ModelError("The model does not answer.")
        return super().embed_question(text)


def settings(**query: Any) -> Settings:
    return Settings(query=QuerySettings.model_validate(query))


def cache_details(found: SearchResult) -> dict[str, Any]:
    counts: dict[str, Any] = found.stages[0].details["cache"]
    return counts


def test_the_least_recently_used_cached_value_is_evicted_first() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_a_cached_value_expires_after_its_time_to_live() -> None:
    clock = Clock()
    cache: LruCache[str, int] = LruCache(2, 10, now=clock)
    cache.put("a", 1)
    clock.seconds = 9.9
    assert cache.get("a") == 1
    clock.seconds = 10
    assert cache.get("a") is None
    assert cache.counts.held == 0


def test_a_cache_of_size_0_stores_no_value_and_counts_no_lookup() -> None:
    cache: LruCache[str, int] = LruCache(0)
    cache.put("a", 1)
    assert cache.get("a") is None
    assert asdict(cache.counts) == {"hits": 0, "misses": 0, "held": 0}


@given(st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=60))
def test_the_cache_keeps_the_last_used_values_and_counts_lookups(size: int, steps: list[tuple[bool, int]]) -> None:
    cache: LruCache[int, int] = LruCache(size)
    model: OrderedDict[int, int] = OrderedDict()
    hits = misses = 0
    for value, (writes, key) in enumerate(steps):
        if writes:
            cache.put(key, value)
            model[key] = value
            model.move_to_end(key)
            if len(model) > size:
                model.popitem(last=False)
            continue
        assert cache.get(key) == model.get(key)
        hits, misses = hits + (key in model), misses + (key not in model)
        if key in model:
            model.move_to_end(key)
    assert asdict(cache.counts) == {"hits": hits, "misses": misses, "held": len(model)}


def test_a_cache_shared_by_many_threads_counts_every_lookup_and_returns_the_right_values() -> None:
    cache: LruCache[int, int] = LruCache(5)

    def look_up(number: int) -> bool:
        key = number % 9
        kept = cache.get(key)
        cache.put(key, key * 10)
        return kept in (None, key * 10)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(look_up, range(2000)))
    assert cache.counts.hits + cache.counts.misses == 2000
    assert cache.counts.held == 5


def test_a_question_is_embedded_once_for_each_embedding_model() -> None:
    caches: QueryCaches[SearchResult] = QueryCaches(4, 60)
    one, other = CountingModel(), CountingModel(128)
    first = caches.embed(one, QUESTION)
    assert np.array_equal(first, caches.embed(one, QUESTION))
    assert np.array_equal(first, FakeEmbedding(256).embed_question(QUESTION))
    assert caches.embed(other, QUESTION).shape == (128,)
    assert one.questions == other.questions == [QUESTION]
    assert asdict(caches.counts["embeddings"]) == {"hits": 1, "misses": 2, "held": 2}
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 7


@given(st.lists(st.lists(st.sampled_from(["tide", "reef", "moon", "port"]), min_size=1), max_size=6))
def test_a_sentence_is_embedded_once_while_its_vector_is_cached(requests: list[list[str]]) -> None:
    model = FakeEmbedding()
    caching = CachingEmbedding(model, LruCache(10))
    for texts in requests:
        assert np.array_equal(caching.embed_texts(texts), FakeEmbedding().embed_texts(texts))
    assert model.texts_embedded == len({text for texts in requests for text in texts})


def test_models_that_share_a_cache_of_sentences_keep_their_own_vectors() -> None:
    shared: LruCache[tuple[bytes, str], NDArray[np.float32]] = LruCache(10)
    models = FakeEmbedding(), FakeEmbedding(version="2")
    for model in (*models, *models):
        assert np.array_equal(CachingEmbedding(model, shared).embed_texts(["tide"]), model.embed_texts(["tide"]))


def test_a_repeated_question_is_answered_from_the_cache_and_marked_as_a_cache_hit(
    make_generation: MakeGeneration,
) -> None:
    model = CountingModel()
    with SearchPipeline([make_generation(TEXTS)], [model], settings()) as pipeline:
        first, second = pipeline.search(QUESTION), pipeline.search(f"  {QUESTION} ")
        assert asdict(pipeline.caches.counts["results"]) == {"hits": 1, "misses": 1, "held": 1}
    assert second.chunks == first.chunks
    assert second.notes == first.notes
    assert model.questions == [QUESTION]
    assert cache_details(first) == {"hit": False, "hits": 0, "misses": 1, "held": 0}
    assert cache_details(second) == {"hit": True, "hits": 1, "misses": 1, "held": 1}
    assert [stage.name for stage in second.stages] == [stage.name for stage in first.stages]
    assert [stage.took_ms for stage in second.stages[1:]] == [0.0] * 5


def test_question_vectors_stay_cached_when_chunks_are_searched_again(make_generation: MakeGeneration) -> None:
    model = CountingModel()
    with SearchPipeline([make_generation(TEXTS)], [model], settings()) as pipeline:
        pipeline.search(QUESTION, top_k=1)
        found = pipeline.search(QUESTION, top_k=2)
    assert not cache_details(found)["hit"]
    assert found.stages[1].details["cache"] == {"hits": 1, "misses": 1, "held": 1}
    assert model.questions == [QUESTION]


def test_a_pipeline_without_caches_repeats_every_search(make_generation: MakeGeneration) -> None:
    model = CountingModel()
    with SearchPipeline([make_generation(TEXTS)], [model], settings(cache_size=0)) as pipeline:
        assert pipeline.search(QUESTION).chunks == pipeline.search(QUESTION).chunks
        assert asdict(pipeline.caches.counts["results"]) == {"hits": 0, "misses": 0, "held": 0}
    assert model.questions == [QUESTION] * 2


def test_a_question_whose_cached_results_have_expired_is_searched_again(make_generation: MakeGeneration) -> None:
    clock = Clock()
    caches: QueryCaches[SearchResult] = QueryCaches(10, 60, now=clock)
    with SearchPipeline([make_generation(TEXTS)], [FakeEmbedding(256)], settings(), caches=caches) as pipeline:
        pipeline.search(QUESTION)
        clock.seconds = 59
        assert cache_details(pipeline.search(QUESTION))["hit"]
        clock.seconds = 60
        assert not cache_details(pipeline.search(QUESTION))["hit"]


def test_different_options_never_share_a_cached_result(make_generation: MakeGeneration) -> None:
    caches: QueryCaches[SearchResult] = QueryCaches(10, 60)
    generation, models = make_generation(TEXTS), [FakeEmbedding(256)]
    ways = [settings(), settings(reranker_top_k=1), settings(strategy="dense"), settings(use_reranker=False)]
    for way in ways:
        with SearchPipeline([generation], models, way, caches=caches) as pipeline:
            assert not cache_details(pipeline.search(QUESTION))["hit"]
    with SearchPipeline([generation], models, settings(), caches=caches) as pipeline:
        assert cache_details(pipeline.search(QUESTION))["hit"]


def test_results_of_a_failed_search_are_not_cached(make_generation: MakeGeneration) -> None:
    broken = make_generation(TEXTS).with_broken_vectors()
    with SearchPipeline([broken], [FakeEmbedding(256)], settings()) as pipeline:
        assert pipeline.search(QUESTION).notes
        assert not cache_details(pipeline.search(QUESTION))["hit"]
    recovering = CountingModel(failures=1)
    with SearchPipeline([make_generation(TEXTS)], [recovering], settings()) as pipeline:
        assert pipeline.search(QUESTION).notes
        found = pipeline.search(QUESTION)
        assert not found.notes
        assert not cache_details(found)["hit"]


def test_a_new_generation_does_not_reuse_cached_results_of_the_old_generation(tmp_path: Path) -> None:
    data_dir, folder = tmp_path / "data", tmp_path / "ship"
    caches: QueryCaches[SearchResult] = QueryCaches(10, 600)

    def ask() -> tuple[str, bool]:
        with open_engine(FAKE, data_dir, ["ship"], caches=caches) as engine:
            result = engine.ask(QUESTION)
        return result.answer, result.trace.stages[0].details["cache"]["hit"]

    run_ingest(
        data_dir, write_files(folder, {"mast.md": "# Mast\n\nThe mast is twelve metres tall.\n"}), collection="ship"
    )
    first = ask()
    assert ask() == (first[0], True)
    run_ingest(
        data_dir, write_files(folder, {"mast.md": "# Mast\n\nThe mast is fifteen metres tall.\n"}), collection="ship"
    )
    answer, hit = ask()
    assert "fifteen" in answer
    assert not hit


def test_a_collection_recreated_under_the_same_name_does_not_reuse_cached_results(tmp_path: Path) -> None:
    data_dir, folder = tmp_path / "data", tmp_path / "ship"
    caches: QueryCaches[SearchResult] = QueryCaches(10, 600)
    for length in ("twelve", "fifteen"):
        text = f"# Mast\n\nThe mast is {length} metres tall.\n"
        run_ingest(data_dir, write_files(folder, {"mast.md": text}), collection="ship")
        with open_engine(FAKE, data_dir, ["ship"], caches=caches) as engine:
            result = engine.ask(QUESTION)
        assert length in result.answer
        assert result.metadata["generations"] == {"ship": 1}
        with writer_lock(data_dir, "test"), open_store(data_dir, for_writing=True) as store:
            drop(store, "ship")
