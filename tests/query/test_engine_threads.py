"""Sixteen threads ask one engine different questions, and each result equals the result of a single thread."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import QueryResult
from elt_llm_core.settings.tree import EmbeddingSettings, QuerySettings, Settings
from elt_llm_query.engine import Engine, open_engine
from elt_llm_query.search import SearchResult
from sampling import FULL
from stored.filtered_library import FISH, fill
from stored.shelf import writing

pytestmark = pytest.mark.halved


THREADS = 16
FILTERS: list[list[str]] = [[], ["kind=table"], ["year>=2000"], ["collection=market"], ["page in 1,2", "topics!=a"]]
Asked = tuple[str, list[str], int | None]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("askers")
    with writing(folder) as store:
        fill(store, FakeEmbedding())
    return folder


def questions() -> list[Asked]:
    """Return different questions, some with filters or a smaller top_k: 24, or 200 in a full test run."""
    chance = random.Random(16)  # noqa: S311 - repeatable, not secret
    return [
        (f"report {number} {' '.join(chance.sample(FISH, 2))}", FILTERS[number % 5], [None, 1, 7][number % 3])
        for number in range(200 if FULL else 24)
    ]


def comparable_search(found: SearchResult) -> Any:
    """Return a search result without times and cache details."""
    stages = [
        (stage.name, stage.kept, {key: value for key, value in stage.details.items() if key != "cache"})
        for stage in found.stages
    ]
    return found.chunks, found.notes, stages


def comparable_answer(result: QueryResult) -> Any:
    return result.model_dump(exclude={"latency_ms", "trace"})


@pytest.mark.parametrize("cache_size", [0, 20])
def test_answers_of_concurrent_threads_equal_answers_of_a_single_thread(data_dir: Path, cache_size: int) -> None:
    query = QuerySettings(cache_size=cache_size)
    settings = Settings(embedding=EmbeddingSettings(provider="fake"), query=query)

    def both(engine: Engine, asked: Asked) -> tuple[Any, Any]:
        question, where, top_k = asked
        return comparable_search(engine.search(question, where=where, top_k=top_k)), comparable_answer(
            engine.ask(question, where=where)
        )

    every = questions()
    assert len({question for question, _, _ in every}) == len(every)
    with open_engine(settings, data_dir, ["harbour", "market"]) as engine:
        alone = [both(engine, asked) for asked in every]
    with open_engine(settings, data_dir, ["harbour", "market"]) as engine, ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(lambda asked: both(engine, asked), every)) == alone
