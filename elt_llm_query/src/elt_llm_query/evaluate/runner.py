"""Measuring profiles on a labelled set that was ingested into a collection of its own."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings import Settings

from elt_llm_query.evaluate.datasets import Dataset
from elt_llm_query.evaluate.metrics import ndcg, percentile, recall, reciprocal_rank
from elt_llm_query.evaluate.profiles import DEPTH, for_evaluation
from elt_llm_query.retrieve.pipeline import PassageFinder
from elt_llm_query.retrieve.searchable import Searchable


@dataclass(frozen=True)
class ProfileReport:
    """The figures of one profile on one set: means over the questions that have a relevant document."""

    dataset: str
    profile: str
    queries: int
    ndcg_at_10: float
    recall_at_10: float
    recall_at_100: float
    mrr_at_10: float
    latency_p50_ms: float
    latency_p95_ms: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The figures under the names they are printed with; times in milliseconds."""
        return {
            "dataset": self.dataset,
            "profile": self.profile,
            "queries": self.queries,
            "ndcg@10": round(self.ndcg_at_10, 4),
            "recall@10": round(self.recall_at_10, 4),
            "recall@100": round(self.recall_at_100, 4),
            "mrr@10": round(self.mrr_at_10, 4),
            "latency_ms": {"p50": round(self.latency_p50_ms, 1), "p95": round(self.latency_p95_ms, 1)},
        }


def evaluate(
    dataset: Dataset,
    generation: Searchable,
    embedding: EmbeddingModel,
    profiles: Mapping[str, Settings],
    corpus_ids: Mapping[str, str] | None = None,
) -> list[ProfileReport]:
    """One report per profile, in order.

    The generation holds the set's corpus, one document each, whose `source` is the corpus id, or is turned into it by
    `corpus_ids`. Both legs are asked for at least 100, and 100 documents are ranked, each by its best chunk; the time
    of a question is that of finding so many passages.
    """
    return [
        _measure(dataset, name, PassageFinder([generation], [embedding], for_evaluation(settings)), corpus_ids or {})
        for name, settings in profiles.items()
    ]


def rank_documents(chunks: Sequence[RetrievedChunk], depth: int = DEPTH) -> list[str]:
    """Corpus ids in the order of their best chunk, other places of a chunk's text right behind it."""
    ranked: dict[str, None] = {}
    for chunk in chunks:
        ranked.setdefault(chunk.source)
        for alternate in chunk.metadata.get("alternates", ()):
            ranked.setdefault(alternate["source"])
    return list(ranked)[:depth]


def _measure(dataset: Dataset, profile: str, opened: PassageFinder, corpus_ids: Mapping[str, str]) -> ProfileReport:
    rankings: list[tuple[list[str], Mapping[str, int]]] = []
    times: list[float] = []
    notes: dict[str, None] = {}
    with opened as finder:
        for question, grades in dataset.judged():
            begun = time.perf_counter()
            found = finder.find(question, top_k=finder.most_candidates)
            times.append((time.perf_counter() - begun) * 1000)
            ranked = [corpus_ids.get(source, source) for source in rank_documents(found.chunks)]
            rankings.append((ranked, grades))
            notes.update(dict.fromkeys(found.notes))
    return ProfileReport(
        dataset=dataset.name,
        profile=profile,
        queries=len(rankings),
        ndcg_at_10=fmean(ndcg(ranked, grades, 10) for ranked, grades in rankings),
        recall_at_10=fmean(recall(ranked, grades, 10) for ranked, grades in rankings),
        recall_at_100=fmean(recall(ranked, grades, 100) for ranked, grades in rankings),
        mrr_at_10=fmean(reciprocal_rank(ranked, grades, 10) for ranked, grades in rankings),
        latency_p50_ms=percentile(times, 0.5),
        latency_p95_ms=percentile(times, 0.95),
        notes=tuple(notes),
    )
