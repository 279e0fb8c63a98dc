"""What is kept between questions: how much, how long, for whom, and when it must not be."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elt_llm_core.collection import drop
from elt_llm_core.errors import ModelError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings import EmbeddingSettings, QuerySettings, Settings
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.store import open_store
from elt_llm_query.cache import LruCache, QueryCaches, QuestionVectors
from elt_llm_query.engine import open_engine
from elt_llm_query.retrieve.pipeline import Found, PassageFinder
from folders import run_ingest, write_files
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import PrivateAttr

MakeGeneration = Callable[..., Any]
TEXTS = {"n1": "The mast is twelve metres tall.", "n2": "The keel is made of oak."}
QUESTION = "How tall is the mast?"
FAKE = Settings(embedding=EmbeddingSettings(provider="fake"))


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class CountingModel(FakeEmbedding):
    """Counts the questions it embeds; fails as often as `failures` says before it does."""

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


def told(found: Found) -> dict[str, Any]:
    counts: dict[str, Any] = found.stages[0].details["cache"]
    return counts


def test_the_least_recently_used_is_given_up_first() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_a_value_is_forgotten_when_its_time_is_over() -> None:
    clock = Clock()
    cache: LruCache[str, int] = LruCache(2, 10, now=clock)
    cache.put("a", 1)
    clock.seconds = 9.9
    assert cache.get("a") == 1
    clock.seconds = 10
    assert cache.get("a") is None
    assert cache.counts.held == 0


def test_a_size_of_nothing_keeps_and_counts_nothing() -> None:
    cache: LruCache[str, int] = LruCache(0)
    cache.put("a", 1)
    assert cache.get("a") is None
    assert cache.counts.as_dict() == {"hits": 0, "misses": 0, "held": 0}


@given(st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=60))
def test_it_holds_what_was_used_last_and_counts_each_look(size: int, steps: list[tuple[bool, int]]) -> None:
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
    assert cache.counts.as_dict() == {"hits": hits, "misses": misses, "held": len(model)}


def test_many_threads_lose_no_count_and_mix_no_values() -> None:
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


def test_a_question_is_embedded_once_for_each_model() -> None:
    vectors, one, other = QuestionVectors(4), CountingModel(), CountingModel(128)
    first = vectors.embed(one, QUESTION)
    assert np.array_equal(first, vectors.embed(one, QUESTION))
    assert np.array_equal(first, FakeEmbedding(256).embed_question(QUESTION))
    assert vectors.embed(other, QUESTION).shape == (128,)
    assert one.questions == other.questions == [QUESTION]
    assert vectors.counts.as_dict() == {"hits": 1, "misses": 2, "held": 2}
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 7


def test_a_question_asked_again_is_answered_from_the_cache_and_says_so(make_generation: MakeGeneration) -> None:
    model = CountingModel()
    with PassageFinder([make_generation(TEXTS)], [model], settings()) as finder:
        first, second = finder.find(QUESTION), finder.find(f"  {QUESTION} ")
        assert finder.cache_counts["results"].as_dict() == {"hits": 1, "misses": 1, "held": 1}
    assert second.chunks == first.chunks
    assert second.notes == first.notes
    assert model.questions == [QUESTION]
    assert told(first) == {"hit": False, "hits": 0, "misses": 1, "held": 0}
    assert told(second) == {"hit": True, "hits": 1, "misses": 1, "held": 1}
    assert [stage.name for stage in second.stages] == [stage.name for stage in first.stages]
    assert [stage.took_ms for stage in second.stages[1:]] == [0.0] * 5


def test_vectors_are_kept_where_passages_are_asked_for_anew(make_generation: MakeGeneration) -> None:
    model = CountingModel()
    with PassageFinder([make_generation(TEXTS)], [model], settings()) as finder:
        finder.find(QUESTION, top_k=1)
        found = finder.find(QUESTION, top_k=2)
    assert not told(found)["hit"]
    assert found.stages[1].details["cache"] == {"hits": 1, "misses": 1, "held": 1}
    assert model.questions == [QUESTION]


def test_with_caches_off_everything_is_done_again(make_generation: MakeGeneration) -> None:
    model = CountingModel()
    with PassageFinder([make_generation(TEXTS)], [model], settings(cache_size=0)) as finder:
        assert finder.find(QUESTION).chunks == finder.find(QUESTION).chunks
        assert finder.cache_counts["results"].as_dict() == {"hits": 0, "misses": 0, "held": 0}
    assert model.questions == [QUESTION] * 2


def test_passages_are_looked_for_again_when_their_time_is_over(make_generation: MakeGeneration) -> None:
    clock = Clock()
    caches: QueryCaches[Found] = QueryCaches(10, 60, now=clock)
    with PassageFinder([make_generation(TEXTS)], [FakeEmbedding(256)], settings(), caches=caches) as finder:
        finder.find(QUESTION)
        clock.seconds = 59
        assert told(finder.find(QUESTION))["hit"]
        clock.seconds = 60
        assert not told(finder.find(QUESTION))["hit"]


def test_another_way_of_asking_gets_no_answer_of_the_first(make_generation: MakeGeneration) -> None:
    caches: QueryCaches[Found] = QueryCaches(10, 60)
    generation, models = make_generation(TEXTS), [FakeEmbedding(256)]
    ways = [settings(), settings(reranker_top_k=1), settings(strategy="dense"), settings(use_reranker=False)]
    for way in ways:
        with PassageFinder([generation], models, way, caches=caches) as finder:
            assert not told(finder.find(QUESTION))["hit"]
    with PassageFinder([generation], models, settings(), caches=caches) as finder:
        assert told(finder.find(QUESTION))["hit"]


def test_what_was_found_while_something_was_broken_is_not_kept(make_generation: MakeGeneration) -> None:
    broken = make_generation(TEXTS).with_broken_vectors()
    with PassageFinder([broken], [FakeEmbedding(256)], settings()) as finder:
        assert finder.find(QUESTION).notes
        assert not told(finder.find(QUESTION))["hit"]
    recovering = CountingModel(failures=1)
    with PassageFinder([make_generation(TEXTS)], [recovering], settings()) as finder:
        assert finder.find(QUESTION).notes
        found = finder.find(QUESTION)
        assert not found.notes
        assert not told(found)["hit"]


def test_what_is_published_is_found_though_the_caches_stay(tmp_path: Path) -> None:
    data_dir, folder = tmp_path / "data", tmp_path / "ship"
    caches: QueryCaches[Found] = QueryCaches(10, 600)

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


def test_a_collection_made_anew_under_the_same_name_is_another_one(tmp_path: Path) -> None:
    data_dir, folder = tmp_path / "data", tmp_path / "ship"
    caches: QueryCaches[Found] = QueryCaches(10, 600)
    for length in ("twelve", "fifteen"):
        text = f"# Mast\n\nThe mast is {length} metres tall.\n"
        run_ingest(data_dir, write_files(folder, {"mast.md": text}), collection="ship")
        with open_engine(FAKE, data_dir, ["ship"], caches=caches) as engine:
            result = engine.ask(QUESTION)
        assert length in result.answer
        assert result.metadata["generations"] == {"ship": 1}
        with writer_lock(data_dir, "test"), open_store(data_dir, for_writing=True) as store:
            drop(store, "ship")


def test_the_engine_tells_how_often_its_caches_served(tmp_path: Path) -> None:
    run_ingest(tmp_path / "data", write_files(tmp_path / "ship", {"mast.md": "The mast is tall.\n"}), collection="ship")
    with open_engine(FAKE, tmp_path / "data", ["ship"]) as engine:
        for _ in range(3):
            engine.search(QUESTION)
        counts = {name: one.as_dict() for name, one in engine.cache_counts.items()}
    assert counts["results"] == {"hits": 2, "misses": 1, "held": 1}
    assert counts["embeddings"] == {"hits": 0, "misses": 1, "held": 1}
