"""The contract of every reranker: exactly the given candidates, in a reproducible order; keyword order at weight 0."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import get_args

import pytest
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.models.fakes import FakeEmbedding, ScriptedLLM
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.pipeline import TextDocument, ingest_texts
from elt_llm_query.rerank import create_reranker
from elt_llm_query.rerank.reranker import EmbeddingReranker, ModelReranker, ModelSources, Reranker
from elt_llm_query.rerank.scorers import CohereScorer
from elt_llm_query.retrieve.fusion import SearchCandidate
from elt_llm_query.retrieve.pools import OpenCollection, Pool, open_collections
from elt_llm_query.retrieve.query_variant import QueryVariant
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from model_servers.tiny_cross_encoder import write_tiny_cross_encoder
from sampling import generated

TEXTS = {
    "rules": [
        "The referee shows a yellow card for unsporting behaviour.",
        "A yellow card is recorded by the secretary of the club.",
        "A card of any colour is shown by the referee alone.",
        "Goalkeepers wear colours that differ from other players.",
    ],
    "office": [
        "Annual leave is approved by the line manager.",
        "Fixtures are published in August by the secretary.",
        "The secretary records who was shown a card.",
        "Leave is recorded by the secretary.",
    ],
}
QUESTION = "who records a yellow card"
EVERY_STRATEGY = get_args(QuerySettings.model_fields["reranker_strategy"].annotation)
REPLY = "1: 7\n2: 3.5\n[3] = 7/10\n4: eleven\nPassage 5: 12\n6: 2\n6: 9\n8: 0"

Make = Callable[[str, float], Reranker]


class LengthRerank(BaseNodePostprocessor):
    """Imitates a hosted service: longer chunks score higher, and the longest is missing from the response."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        ranked = sorted(nodes, key=lambda one: -len(one.text))
        return [NodeWithScore(node=one.node, score=len(one.text) / 1000) for one in ranked[1:]]


@pytest.fixture(scope="module")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OpenCollection, ...]]:
    """Two published collections, open."""
    model = FakeEmbedding(64)
    with ExitStack() as opened:
        store = opened.enter_context(open_store(tmp_path_factory.mktemp("store"), for_writing=True))
        generations = []
        for name, texts in TEXTS.items():
            given_texts = [TextDocument(f"{name}{place}", "", text) for place, text in enumerate(texts)]
            ingest_texts(name, given_texts, Settings(), model, store, SilentListener())
            generations.append(opened.enter_context(open_generation(store, name, model.fingerprint)))
        executor = opened.enter_context(ThreadPoolExecutor(4))
        yield open_collections(generations, [model], QuerySettings(), executor)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Build a reranker from its strategy and weight."""
    models = tmp_path_factory.mktemp("models")
    write_tiny_cross_encoder(models / "ms-marco-MiniLM-L-6-v2", [text for texts in TEXTS.values() for text in texts])

    def of(strategy: str, weight: float) -> Reranker:
        if strategy == "cohere":
            return ModelReranker(CohereScorer(LengthRerank(), "any"), weight)
        query = QuerySettings.model_validate({"reranker_strategy": strategy, "rerank_weight": weight})
        return create_reranker(query, ModelSources(ScriptedLLM([REPLY] * 100), models))

    return of


def pools_of(collections: Sequence[OpenCollection], chosen: Sequence[tuple[bool, bool]], question: str) -> list[Pool]:
    """The candidates of both collections. `chosen` has, for each node: is it a candidate, is it found by keywords?"""
    pools = []
    for place, collection in enumerate(collections):
        ids = list(collection.generation.every_id())
        kept = chosen[place * len(ids) : (place + 1) * len(ids)]
        candidates = tuple(
            SearchCandidate(
                node_id,
                collection.name,
                None if by_keyword else rank,
                None,
                rank if by_keyword else None,
                None,
                1 / rank,
            )
            for rank, (node_id, (wanted, by_keyword)) in enumerate(zip(ids, kept, strict=True), 1)
            if wanted
        )
        pools.append(
            Pool(collection, candidates, collection.embedding.embed_question(question), QueryVariant(question))
        )
    return pools


def names_of(candidates: Sequence[SearchCandidate]) -> list[tuple[str, str]]:
    return [(one.collection, one.node_id) for one in candidates]


CHOICES = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=8, max_size=8)
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
QUESTIONS = st.sampled_from([QUESTION, "leave", "xyzzy", "secretary club august"])


@pytest.mark.parametrize("strategy", EVERY_STRATEGY)
@settings(max_examples=generated(15))
@given(chosen=CHOICES, weight=WEIGHTS, question=QUESTIONS)
def test_a_reranker_returns_every_candidate_exactly_once(
    collections: tuple[OpenCollection, ...],
    make: Make,
    strategy: str,
    chosen: list[tuple[bool, bool]],
    weight: float,
    question: str,
) -> None:
    pools = pools_of(collections, chosen, question)
    ranked = make(strategy, weight).rerank(question, pools).candidates
    assert sorted(names_of(ranked)) == sorted(names_of([one for pool in pools for one in pool.candidates]))
    assert all(0.0 <= one.score <= 1.0 for one in ranked)
    assert ranked == sorted(ranked, key=lambda one: (-one.score, one.node_id))


@pytest.mark.parametrize("strategy", EVERY_STRATEGY)
@settings(max_examples=generated(15))
@given(chosen=CHOICES, weight=WEIGHTS)
def test_a_reranker_gives_the_same_candidates_the_same_ranking_each_time(
    collections: tuple[OpenCollection, ...],
    make: Make,
    strategy: str,
    chosen: list[tuple[bool, bool]],
    weight: float,
) -> None:
    pools = pools_of(collections, chosen, QUESTION)
    reranker = make(strategy, weight)
    first = reranker.rerank(QUESTION, pools)
    assert reranker.rerank(QUESTION, pools) == first == make(strategy, weight).rerank(QUESTION, pools)


@pytest.mark.parametrize("strategy", EVERY_STRATEGY)
def test_a_reranker_keeps_the_scores_of_the_retrievers(
    collections: tuple[OpenCollection, ...], make: Make, strategy: str
) -> None:
    pools = pools_of(collections, [(True, place % 2 == 0) for place in range(8)], QUESTION)
    before = {(one.collection, one.node_id): one for pool in pools for one in pool.candidates}
    for one in make(strategy, 0.5).rerank(QUESTION, pools).candidates:
        said = before[one.collection, one.node_id]
        assert (one.dense_rank, one.keyword_rank, one.fused_score) == (
            said.dense_rank,
            said.keyword_rank,
            said.fused_score,
        )


@pytest.mark.parametrize("strategy", [name for name in EVERY_STRATEGY if name != "none"])
@settings(max_examples=generated(15))
@given(chosen=CHOICES, question=QUESTIONS)
def test_at_weight_0_a_reranker_ranks_candidates_by_keyword_score(
    collections: tuple[OpenCollection, ...],
    make: Make,
    strategy: str,
    chosen: list[tuple[bool, bool]],
    question: str,
) -> None:
    pools = pools_of(collections, chosen, question)
    by_keywords = EmbeddingReranker(weight=0.0).rerank(question, pools).candidates
    assert names_of(make(strategy, 0.0).rerank(question, pools).candidates) == names_of(by_keywords)


@pytest.mark.parametrize("strategy", EVERY_STRATEGY)
def test_without_candidates_a_reranker_returns_an_empty_ranking(
    collections: tuple[OpenCollection, ...], make: Make, strategy: str
) -> None:
    assert make(strategy, 0.5).rerank(QUESTION, []).candidates == []
    assert make(strategy, 0.5).rerank(QUESTION, pools_of(collections, [(False, False)] * 8, QUESTION)).candidates == []


@pytest.mark.parametrize("strategy", EVERY_STRATEGY)
def test_a_reranker_reports_its_name_and_requirements(make: Make, strategy: str) -> None:
    reranker = make(strategy, 0.5)
    assert reranker.name == {"auto": "cross-encoder"}.get(strategy, strategy)
    assert reranker.calls_model is (strategy not in {"embedding", "none"})
    assert all(note.endswith(".") for note in reranker.notes)
