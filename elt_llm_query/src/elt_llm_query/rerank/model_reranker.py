"""A reranker that has a model judge each candidate, and blends its scores with those of the keywords."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from elt_llm_core.errors import ModelError

from elt_llm_query.rerank.blend import Scores, min_max
from elt_llm_query.rerank.embedding import EmbeddingReranker
from elt_llm_query.rerank.reranker import Reranker
from elt_llm_query.rerank.scorer import Cancelled, Judged, PassageScorer
from elt_llm_query.retrieve.candidates import Candidate, best_first
from elt_llm_query.retrieve.collections import Pool


@dataclass(frozen=True)
class Reranked:
    """A ranking, what has to be told about it, and each candidate's score as its model gave it."""

    candidates: list[Candidate]
    notes: tuple[str, ...] = ()
    model_scores: tuple[tuple[str, float | None], ...] = ()


class ModelReranker:
    """Ranks by weight x min-max model score + (1 - weight) x keyword score, as the embedding reranker blends.

    The model reads the passages themselves, so its scores are scaled over the candidates of all collections together.
    Keyword scores are those of the embedding reranker. Where the strategy asks no keywords the model decides alone.
    A passage that the model gave no score takes the mean of the others; a model that fails altogether leaves the
    ranking to the embedding reranker, and the notes say so.
    """

    calls_model = True
    needs_vector = False

    def __init__(self, scorer: PassageScorer, weight: float = 0.5) -> None:
        self.scorer = scorer
        self.weight = weight
        self._keywords = EmbeddingReranker(weight=0.0)
        self._instead = EmbeddingReranker(weight=weight)

    @property
    def name(self) -> str:
        """The scorer's name."""
        return self.scorer.name

    @property
    def notes(self) -> tuple[str, ...]:
        """The scorer's standing notes."""
        return self.scorer.notes

    def rerank(self, question: str, pools: Sequence[Pool]) -> list[Candidate]:
        """All candidates, best first, ties by node id."""
        return self.rerank_and_tell(question, pools).candidates

    def rerank_and_tell(self, question: str, pools: Sequence[Pool], cancelled: Cancelled | None = None) -> Reranked:
        """The ranking with what this question's scores leave to be told; a slow model looks at `cancelled`."""
        candidates = [candidate for pool in pools for candidate in pool.candidates]
        if not candidates:
            return Reranked([])
        judged = self._judge(question, pools, cancelled)
        given = tuple((one.node_id, score) for one, score in zip(candidates, judged.scores, strict=True))
        if all(score is None for score in judged.scores):
            note = f"The {self.name} reranker gave no scores: the passages are ranked by cosine and keywords."
            return Reranked(self._instead.rerank(question, pools), (*judged.notes, note), given)
        return Reranked(self._blended(question, pools, _scaled(judged.scores)), judged.notes, given)

    def _judge(self, question: str, pools: Sequence[Pool], cancelled: Cancelled | None) -> Judged:
        passages = [text for pool in pools for text in _texts(pool)]
        try:
            judged = self.scorer.judge(question, passages, cancelled)
        except ModelError as failure:
            return Judged((None,) * len(passages), (f"The {self.name} reranker did not work: {failure}",))
        usable = [score if score is not None and math.isfinite(score) else None for score in judged.scores]
        return Judged(tuple(usable), judged.notes)

    def _blended(self, question: str, pools: Sequence[Pool], scaled: Scores) -> list[Candidate]:
        completed = {(one.collection, one.node_id): one for one in self._keywords.rerank(question, pools)}
        found = [completed[one.collection, one.node_id] for pool in pools for one in pool.candidates]
        keywords = np.array([one.score for one in found])
        weights = np.repeat(
            [self.weight if pool.weighs_keywords else 1.0 for pool in pools], [len(pool.candidates) for pool in pools]
        )
        scores = np.clip(weights * scaled + (1.0 - weights) * keywords, 0.0, 1.0)
        return best_first([replace(one, score=float(score)) for one, score in zip(found, scores, strict=True)])


def rerank_and_tell(
    reranker: Reranker, question: str, pools: Sequence[Pool], cancelled: Cancelled | None = None
) -> Reranked:
    """The ranking of any reranker; only one that asks a model has more to tell of a single question."""
    if isinstance(reranker, ModelReranker):
        return reranker.rerank_and_tell(question, pools, cancelled)
    return Reranked(reranker.rerank(question, pools))


def identity_of(reranker: Reranker) -> tuple[str, ...]:
    """Equal for rerankers of the same settings that ask the same model."""
    return (reranker.name, reranker.scorer.description) if isinstance(reranker, ModelReranker) else (reranker.name,)


def _texts(pool: Pool) -> list[str]:
    """What was embedded and indexed of each candidate: the context of a passage, then its text."""
    nodes = pool.collection.generation.nodes([candidate.node_id for candidate in pool.candidates])
    return [f"{node.context}\n{node.text}" if node.context else node.text for node in nodes]


def _scaled(scores: Sequence[float | None]) -> Scores:
    """Scores stretched to 0..1; where there is none, the mean of the others. At least one is given."""
    present = np.array([score is not None for score in scores])
    stretched = min_max([score for score in scores if score is not None])
    scaled = np.full(len(scores), stretched.mean())
    scaled[present] = stretched
    return scaled
