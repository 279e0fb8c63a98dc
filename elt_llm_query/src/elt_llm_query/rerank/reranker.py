"""The reranker protocol, the reranker that calls a model, and the one that keeps the fused order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from elt_llm_core.errors import ModelError
from elt_llm_core.settings.tree import Settings

from elt_llm_query.rerank.embedding import (
    Cancelled,
    EmbeddingReranker,
    RerankResult,
    Scores,
    blend_scaled,
    min_max,
    scale_keywords,
)
from elt_llm_query.retrieve.fusion import SearchCandidate, best_first
from elt_llm_query.retrieve.pools import Pool

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


class Reranker(Protocol):
    """Scores every candidate of every pool (the candidates of one collection), 0 to 1, and merges the pools."""

    @property
    def name(self) -> str:
        """The name shown in the trace."""

    @property
    def calls_model(self) -> bool:
        """Whether a model reads each candidate. If so, the caller must limit the number of candidates."""

    @property
    def needs_vector(self) -> bool:
        """Whether the reranker needs the embedding of the question, even if only keywords are searched."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that are added to every search result."""

    def rerank(self, question: str, pools: Sequence[Pool], cancelled: Cancelled | None = None, /) -> RerankResult:
        """Rank all candidates, best first, ties by node id. A slow model stops once `cancelled` returns True."""


@dataclass(frozen=True)
class ChunkScores:
    """One score per chunk, on the model's own scale; greater is better. A chunk that was not scored has None."""

    scores: tuple[float | None, ...]
    notes: tuple[str, ...] = ()


class ChunkScorer(Protocol):
    """A model that scores how well each chunk answers a question."""

    @property
    def name(self) -> str:
        """The name shown in the trace."""

    @property
    def description(self) -> str:
        """The model's name and the settings that affect its scores."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that are added to every search result."""

    def score(self, question: str, chunks: Sequence[str], cancelled: Cancelled | None = None) -> ChunkScores:
        """Return one score per chunk. Raises ModelError if the model cannot be called.

        A slow model stops once `cancelled` returns True, and the remaining scores are None.
        """


@dataclass(frozen=True)
class ModelSources:
    """Where a reranker looks for its model: the language model, a folder and, if allowed, hosted services."""

    llm: "LLM | None" = None
    models_dir: Path | None = None
    allow_remote: bool = False

    @classmethod
    def of(cls, settings: Settings, llm: "LLM | None" = None) -> Self:
        """Build the sources from the settings and the language model in use."""
        return cls(llm, settings.storage.models_dir, settings.network.allow_remote_models)


NO_MODELS = ModelSources()


class FusedOrderReranker:
    """Keeps the fused order. A candidate's score is its fused score divided by the greatest possible fused score.

    If only one retriever was used, the score is the retriever's own metric: the cosine (0 if negative), or the BM25
    score divided by the best BM25 score.
    """

    name = "none"
    calls_model = False
    needs_vector = False
    notes = ("No reranker is in use, so the chunks are in the fused order.",)

    def rerank(self, _question: str, pools: Sequence[Pool], _cancelled: Cancelled | None = None, /) -> RerankResult:
        """Rank all candidates, best first; equal scores are ordered by node id."""
        bm25 = [np.array([one.keyword_score or 0.0 for one in pool.candidates], dtype=np.float64) for pool in pools]
        candidates: list[SearchCandidate] = []
        for pool, keywords in zip(pools, scale_keywords(pools, bm25), strict=True):
            own, dense = pool.candidates, pool.retrievers.dense
            if not (dense and pool.retrievers.keyword):
                scores = [min(1.0, max(0.0, one.cosine or 0.0)) for one in own] if dense else keywords.tolist()
                own = tuple(replace(one, score=score) for one, score in zip(own, scores, strict=True))
            candidates += own
        return RerankResult(best_first(candidates))


class ModelReranker:
    """Ranks by weight x model score + (1 - weight) x keyword score, both scaled to 0..1.

    Model scores are scaled by min-max over the candidates of all collections together. The embedding reranker computes
    the keyword scores. Without keyword scores, only the model score counts. A chunk that the model did not score gets
    the mean score. If the model returns no scores at all, the embedding reranker ranks the chunks, and a note reports
    this.
    """

    calls_model = True
    needs_vector = False

    def __init__(self, scorer: ChunkScorer, weight: float = 0.5) -> None:
        self.scorer = scorer
        self.weight = weight
        self.name = scorer.name
        self._keywords = EmbeddingReranker(weight=0.0)
        self._fallback = EmbeddingReranker(weight=weight)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the model that scores the chunks."""
        return self.scorer.notes

    def rerank(self, question: str, pools: Sequence[Pool], cancelled: Cancelled | None = None, /) -> RerankResult:
        """Rank all candidates, best first. The result also contains the model's own scores, and notes on failures."""
        candidates = [candidate for pool in pools for candidate in pool.candidates]
        if not candidates:
            return RerankResult([])
        judged = self._score(question, pools, cancelled)
        by_node = tuple((one.node_id, score) for one, score in zip(candidates, judged.scores, strict=True))
        if all(score is None for score in judged.scores):
            note = f"The {self.name} reranker returned no scores: the chunks are ranked by cosine and keywords."
            return RerankResult(self._fallback.rerank(question, pools).candidates, (*judged.notes, note), by_node)
        completed = {one.key: one for one in self._keywords.rerank(question, pools).candidates}
        ordered = [completed[one.key] for one in candidates]
        weights = np.repeat(
            [self.weight if pool.uses_keywords else 1.0 for pool in pools], [len(pool.candidates) for pool in pools]
        )
        keywords = np.array([one.score for one in ordered])
        scores = blend_scaled(_scaled_scores(judged.scores), keywords, weights)
        ranked = best_first([replace(one, score=float(score)) for one, score in zip(ordered, scores, strict=True)])
        return RerankResult(ranked, judged.notes, by_node)

    def _score(self, question: str, pools: Sequence[Pool], cancelled: Cancelled | None) -> ChunkScores:
        # The keyword index and the embeddings were built from the same text: a chunk's context, then its own text.
        nodes = [
            node
            for pool in pools
            for node in pool.collection.generation.nodes([candidate.node_id for candidate in pool.candidates])
        ]
        texts = [f"{node.context}\n{node.text}" if node.context else node.text for node in nodes]
        try:
            judged = self.scorer.score(question, texts, cancelled)
        except ModelError as failure:
            return ChunkScores((None,) * len(texts), (f"The {self.name} reranker did not work: {failure}",))
        usable = [score if score is not None and math.isfinite(score) else None for score in judged.scores]
        return ChunkScores(tuple(usable), judged.notes)


def reranker_identity(reranker: Reranker) -> tuple[str, ...]:
    """Return a cache key that is equal for two rerankers with the same name and the same model."""
    return (reranker.name, reranker.scorer.description) if isinstance(reranker, ModelReranker) else (reranker.name,)


def _scaled_scores(scores: Sequence[float | None]) -> Scores:
    """Scale scores to 0..1, and replace each missing score by the mean. At least one score must be present."""
    present = np.array([score is not None for score in scores])
    known = min_max([score for score in scores if score is not None])
    scaled = np.full(len(scores), known.mean())
    scaled[present] = known
    return scaled
