"""Filtered questions over published collections never return or read an excluded chunk."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, get_args

import numpy as np
import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_core.store.store import open_store
from elt_llm_query.engine import Engine
from elt_llm_query.retrieve.filters import filter_limits, parse_conditions
from elt_llm_query.search import SearchPipeline, SearchResult
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import generated
from stored.filtered_library import COLLECTIONS, FISH, SHARED, Condition, Row, conditions, fill, fulfils
from stored.shelf import writing

QUESTIONS = st.one_of(
    st.just(SHARED),
    st.just("xylophone"),
    st.lists(st.sampled_from(FISH), min_size=1, max_size=4).map(" ".join),
)
WAYS: list[dict[str, Any]] = [
    {},
    {"use_reranker": False},
    {"fusion": "relative_score", "retriever_top_k": 3},
    {"full_context_max_chunks": 1000},
    {"merge_adjacent": True, "widen_sentences": 2},
    {"read_parents": True},
    {"read_parents": True, "widen_sentences": 1, "use_mmr": True, "near_duplicate_cosine": 0.95},
    {"max_per_source": 1, "min_relevance_score": 0.4},
    *({"strategy": name} for name in get_args(QuerySettings.model_fields["strategy"].annotation)),
]


@pytest.fixture(scope="module")
def model() -> FakeEmbedding:
    return FakeEmbedding(64)


class Library:
    """Two open collections with all their chunks."""

    def __init__(self, generations: Sequence[Generation], rows: Sequence[Row]) -> None:
        self.generations = generations
        by_id = {(row.collection, row.node_id): row for row in rows}
        self.rows = {one.collection: [by_id[one.collection, node] for node in one.ids] for one in generations}

    def allowed(self, wanted: Sequence[Condition]) -> dict[str, list[bool]]:
        """Return one mask of allowed chunks for each collection."""
        return {name: [fulfils(row, wanted) for row in rows] for name, rows in self.rows.items()}

    def excluded(self, wanted: Sequence[Condition]) -> list[Row]:
        """Return all chunks that the filter excludes."""
        return [row for rows in self.rows.values() for row in rows if not fulfils(row, wanted)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, model: FakeEmbedding) -> Iterator[Library]:
    data_dir = tmp_path_factory.mktemp("filtered")
    with writing(data_dir) as store:
        rows = fill(store, model)
    with ExitStack() as opened:
        store = opened.enter_context(open_store(data_dir))
        generations = [opened.enter_context(open_generation(store, name, model.fingerprint)) for name in COLLECTIONS]
        yield Library(generations, rows)


def where(wanted: Sequence[Condition]) -> list[str]:
    return [condition.text for condition in wanted]


def way(query: Mapping[str, Any]) -> Settings:
    return Settings(query=QuerySettings.model_validate(query))


def strings_in(value: Any) -> Iterator[str]:
    """Yield every string in a result, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (one for pair in value.items() for part in pair for one in strings_in(part))
    elif isinstance(value, list | tuple):
        yield from (one for part in value for one in strings_in(part))


def assert_nothing_leaks(shown: Any, chunks: Sequence[Any], excluded: Sequence[Row]) -> None:
    """Check that the result has no id of an excluded chunk, and that no text of an excluded chunk was read."""
    assert not {row.node_id for row in excluded} & set(strings_in(shown))
    for chunk in chunks:
        for row in excluded:
            if (row.collection, row.document_id) == (chunk.collection, chunk.source_id):
                assert row.span[1] <= chunk.span[0] or chunk.span[1] <= row.span[0]


def as_shown(found: SearchResult) -> Any:
    return [one.model_dump() for one in (*found.chunks, *found.stages)]


@settings(max_examples=generated(80))
@given(conditions())
def test_the_nodes_that_a_filter_allows_equal_those_of_a_simple_reference_implementation(
    library: Library, wanted: list[Condition]
) -> None:
    limits = filter_limits(parse_conditions(where(wanted)), library.generations)
    for one, allowed in zip(library.generations, limits.allowed, strict=True):
        fulfilling = library.allowed(wanted)[one.collection]
        expected = {node_id for node_id, fits in zip(one.ids, fulfilling, strict=True) if fits}
        assert one.allowed_among(one.ids, allowed) == expected
        assert allowed.count == len(expected)


@settings(max_examples=generated(25))
@given(conditions(), QUESTIONS, st.integers(1, 80))
def test_both_retrievers_return_the_best_of_the_nodes_that_a_filter_allows(
    library: Library, model: FakeEmbedding, wanted: list[Condition], question: str, top_k: int
) -> None:
    with SearchPipeline(library.generations, [model], way({"retriever_top_k": top_k, "cache_size": 0})) as pipeline:
        found = pipeline.search(question, where=where(wanted))
    [details] = [stage.details["collections"] for stage in found.stages if stage.name == "retrieve"]
    vector = model.embed_question(question)
    for generation in library.generations:
        allowed = np.array(library.allowed(wanted)[generation.collection], dtype=bool)
        scores = generation.keyword.scores(question)
        best = np.flatnonzero(allowed & (scores > 0))
        best = best[np.lexsort((best, -scores[best]))][:top_k]
        hits = details[generation.collection]
        assert [node_id for node_id, _ in hits["keyword"]] == [generation.ids[place] for place in best.tolist()]
        assert [score for _, score in hits["keyword"]] == pytest.approx(scores[best].tolist())
        cosines = generation.vectors(generation.ids) @ vector
        nearest = sorted(cosines[allowed].tolist(), reverse=True)[:top_k]
        places = [generation.ids.index(node_id) for node_id, _ in hits["dense"]]
        assert len(set(places)) == len(places)
        assert all(allowed[places])
        assert [score for _, score in hits["dense"]] == pytest.approx(nearest, abs=1e-5)
        assert cosines[places].tolist() == pytest.approx(nearest, abs=1e-5)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("query", WAYS, ids=str)
@settings(max_examples=generated(8))
@given(wanted=conditions(), question=QUESTIONS, top_k=st.sampled_from([None, 1, 5, 200]))
def test_no_configuration_returns_or_reads_nodes_that_a_filter_excludes(
    library: Library,
    model: FakeEmbedding,
    query: dict[str, Any],
    wanted: list[Condition],
    question: str,
    top_k: int | None,
) -> None:
    with SearchPipeline(library.generations, [model], way(query)) as pipeline:
        pipeline.search(question, top_k=top_k)  # a filtered search must not return the cached results of this search
        found = pipeline.search(question, top_k=top_k, where=where(wanted))
        again = pipeline.search(question, top_k=top_k, where=where(wanted))
    assert_nothing_leaks(as_shown(found), found.chunks, library.excluded(wanted))
    assert again.chunks == found.chunks
    assert_nothing_leaks(as_shown(again), again.chunks, library.excluded(wanted))


@settings(max_examples=generated(12))
@given(st.lists(st.one_of(st.just([]), conditions()), min_size=2, max_size=5), QUESTIONS)
def test_a_cache_never_returns_a_result_for_a_different_filter(
    library: Library, model: FakeEmbedding, filters: list[list[Condition]], question: str
) -> None:
    with SearchPipeline(library.generations, [model], way({"cache_size": 0})) as pipeline:
        alone = [pipeline.search(question, where=where(wanted)).chunks for wanted in filters]
    with SearchPipeline(library.generations, [model], way({})) as pipeline:
        for _ in range(2):
            assert [pipeline.search(question, where=where(wanted)).chunks for wanted in filters] == alone


@settings(max_examples=generated(15))
@given(conditions(), QUESTIONS)
def test_a_reranking_model_never_reads_chunks_that_a_filter_excludes(
    library: Library, model: FakeEmbedding, wanted: list[Condition], question: str
) -> None:
    llm = ScriptedLLM(["1: 7\n2: 3"] * 50)
    query = {"reranker_strategy": "llm", "reranker_retrieve_k": 200}
    with SearchPipeline(library.generations, [model], way(query), llm=llm) as pipeline:
        found = pipeline.search(question, where=where(wanted))
    assert_nothing_leaks(as_shown(found), found.chunks, library.excluded(wanted))
    left = {row.text for rows in library.rows.values() for row in rows if fulfils(row, wanted)}
    blocks = [block for prompt in llm.prompts for block in prompt.split("\n</passage>")[:-1]]
    assert {block.rsplit('">\n', 1)[1] for block in blocks} <= left
    assert bool(blocks) == bool(left)


@settings(max_examples=generated(20))
@given(conditions(), QUESTIONS, st.sampled_from([{}, {"widen_sentences": 2, "read_parents": True}]))
def test_answers_never_quote_or_cite_chunks_that_a_filter_excludes(
    library: Library, model: FakeEmbedding, wanted: list[Condition], question: str, query: dict[str, Any]
) -> None:
    with Engine(library.generations, model, way(query)) as engine:
        engine.ask(question)
        result = engine.ask(question, where=where(wanted))
    excluded = library.excluded(wanted)
    assert_nothing_leaks(result.model_dump(), result.chunks, excluded)
    for citation in result.citations:
        for row in excluded:
            if (row.collection, row.document_id) == (citation.collection, citation.source_id):
                assert row.span[1] <= citation.span[0] or citation.span[1] <= row.span[0]
