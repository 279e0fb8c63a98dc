from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_query.evaluate.datasets import CorpusDocument, Dataset
from elt_llm_query.evaluate.runner import comparison_profiles, evaluate, for_evaluation, rank_documents

MakeGeneration = Callable[..., Any]
TEXTS = {
    "n1": "The referee shows a yellow card for unsporting behaviour.",
    "n2": "The yellow card is recorded by the secretary.",
    "n3": "Annual leave is approved by the line manager.",
}
DATASET = Dataset(
    "rules",
    tuple(CorpusDocument(f"{key}.md", "", text) for key, text in TEXTS.items()),
    {"q1": "who approves annual leave", "q2": "who records the card", "q3": "not judged"},
    {"q1": {"n3.md": 1}, "q2": {"n2.md": 1, "n1.md": 0}},
)


def chunk(source: str, **metadata: Any) -> RetrievedChunk:
    return RetrievedChunk(
        node_id="n", collection="c", source_id="d", source_title="t", source=source, document_hash="0" * 64,
        text="x", context="", span=(0, 1), page=None, section=None, score=0.5, metadata=metadata,
    )  # fmt: skip


def test_each_profile_gets_an_evaluation_report_with_the_metrics_that_are_printed(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    reports = evaluate(DATASET, make_generation(TEXTS), embedding, comparison_profiles(Settings()))
    assert [report.profile for report in reports] == ["bm25", "dense", "fusion", "default", "classic"]
    printed = reports[3].to_json()
    assert printed.keys() == {
        "dataset", "profile", "queries", "ndcg@10", "recall@10", "recall@100", "precision@1", "precision@5", "mrr@10",
        "hit@10", "all@10", "latency_ms",
    }  # fmt: skip
    assert printed["latency_ms"].keys() == {"p50", "p95"}
    assert (printed["dataset"], printed["queries"]) == ("rules", 2)
    assert printed["ndcg@10"] == printed["mrr@10"] == printed["recall@10"] == 1.0


def test_a_document_is_ranked_by_its_best_chunk() -> None:
    chunks = [chunk("a"), chunk("b", alternates=[{"source": "c"}]), chunk("a"), chunk("d")]
    assert rank_documents(chunks) == ["a", "b", "c", "d"]
    assert rank_documents(chunks, depth=2) == ["a", "b"]


def test_the_sources_of_chunks_can_be_mapped_to_corpus_ids(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    renamed = replace(DATASET, relevant={"q1": {"three": 1}, "q2": {"two": 1}})
    generation, profiles = make_generation(TEXTS), {"default": Settings()}
    report = evaluate(renamed, generation, embedding, profiles, {"n2.md": "two", "n3.md": "three"})[0]
    assert report.figures["ndcg@10"] == 1.0


def test_the_top_k_setting_of_a_profile_does_not_change_any_metric(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    narrow = Settings(query=QuerySettings(retriever_top_k=1, reranker_top_k=1, min_relevance_score=0.99))
    wide = evaluate(DATASET, make_generation(TEXTS), embedding, {"wide": Settings(), "narrow": narrow})
    assert wide[0].figures == wide[1].figures
    assert [one.relevant for one in wide[0].results] == [one.relevant for one in wide[1].results]


def test_each_question_result_has_metrics_and_the_ranks_of_relevant_documents(
    make_generation: MakeGeneration, embedding: FakeEmbedding
) -> None:
    found = replace(DATASET, relevant={"q1": {"n3.md": 1, "absent.md": 1}})
    (result,) = evaluate(found, make_generation(TEXTS), embedding, {"default": Settings()})[0].results
    assert (result.identity, result.question) == ("q1", "who approves annual leave")
    assert dict(result.relevant) == {"n3.md": 1, "absent.md": None}
    assert result.figures["recall@10"] == 0.5
    assert result.to_json()["ranks"] == {"n3.md": 1, "absent.md": None}


def test_an_evaluation_keeps_the_ranking_settings_of_the_profile() -> None:
    query = QuerySettings(retriever_top_k=300, rerank_weight=0.7, use_mmr=True, merge_adjacent=True, widen_sentences=2)
    measured = for_evaluation(Settings(query=query)).query
    assert (measured.retriever_top_k, measured.rerank_weight, measured.use_mmr) == (300, 0.7, True)
    assert (measured.merge_adjacent, measured.widen_sentences, measured.cache_size) == (False, 0, 0)


@pytest.mark.parametrize(("name", "strategy", "reranked"), [("bm25", "sparse", False), ("dense", "dense", False)])
def test_the_results_of_a_single_retriever_are_evaluated_without_reranking(
    name: str, strategy: str, reranked: bool
) -> None:
    query = comparison_profiles(Settings())[name].query
    assert (query.strategy, query.use_reranker) == (strategy, reranked)
