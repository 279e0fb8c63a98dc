"""The embedding reranker: completes the cosine and keyword score of every candidate and ranks by their blend.

The weight of cosines is adapted to each question: if few chunks match much better by their words, words count more than
if many chunks match about equally; docs/decisions compares the alternatives. The best candidates are also matched
with the question word by word. Sources: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval",
ACM TOIS 2023 (convex combination of scaled scores); Lucene's coordination factor (a chunk with more of the question's
words is better than one with one of them often); Metzler and Croft, "A Markov Random Field Model for Term
Dependencies", SIGIR 2005 (words that follow each other in the question and in the chunk).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elt_llm_query.retrieve.fusion import SearchCandidate, best_first
from elt_llm_query.retrieve.pools import Pool
from elt_llm_query.retrieve.query_variant import replace_alternatives, score_with_alternatives, term_weights

Scores = NDArray[np.float64]
Cancelled = Callable[[], bool]
"""Returns True if nobody waits for the result any more."""

ORDER_SHARE = 0.8
"""Weight of the order of the words relative to their scaled score, whose weight is 1."""
CURVE = 0.7
"""Power that brings scores to the level of those of cosine and keywords alone, by which answers are judged."""


def min_max(scores: ArrayLike) -> Scores:
    """Scale scores to 0..1 over the list; scores that are all equal become 1."""
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        return values
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.ones_like(values)


def divide_by_maximum(scores: ArrayLike) -> Scores:
    """Divide scores of 0 or more by the greatest; all 0 stay 0."""
    values = np.asarray(scores, dtype=np.float64)
    greatest = values.max(initial=0.0)
    return values / greatest if greatest > 0 else np.zeros_like(values)


def blend_scaled(reranked: Scores, keyword: Scores, weight: float | Scores) -> Scores:
    """Weight x reranked + (1 - weight) x keyword, for lists within 0..1; the result is within 0..1 too."""
    return np.clip(weight * reranked + (1.0 - weight) * keyword, 0.0, 1.0)


def blend_matches(cosines: Scores, keyword: Scores, order: Scores, weight: float) -> Scores:
    """Cosines by `weight`, scaled keyword scores and order by 1 and ORDER_SHARE times the rest, then the CURVE.

    All are within 0..1, and so is the result.
    """
    rest = 1.0 - weight
    whole = weight + rest * (1.0 + ORDER_SHARE)
    mean = np.clip((weight * cosines + rest * (keyword + ORDER_SHARE * order)) / whole, 0.0, 1.0)
    return np.power(mean, CURVE)


def scale_cosines(pools: Sequence[Pool], cosines: Sequence[Scores | None]) -> list[Scores]:
    """Scale cosines to 0..1 over all pools of one embedding model; zeros for a pool without any."""
    scaled = [np.zeros(len(pool.candidates)) for pool in pools]
    members: dict[bytes, list[int]] = defaultdict(list)
    for index, pool in enumerate(pools):
        if cosines[index] is not None:
            members[pool.collection.space].append(index)
    for indexes in members.values():
        together = min_max(np.concatenate([part for index in indexes if (part := cosines[index]) is not None]))
        for index, part in zip(indexes, _split_like(together, [scaled[index] for index in indexes]), strict=True):
            scaled[index] = part
    return scaled


def scale_keywords(pools: Sequence[Pool], scores: Sequence[Scores]) -> list[Scores]:
    """Keyword scores as a share of what is attainable in their collection, the greatest scaled to 1.

    They are BM25, or BM25 x coverage, which cannot exceed it. For one collection that is score / greatest score.
    """
    if not pools:
        return []
    if len(pools) == 1:
        return [divide_by_maximum(scores[0])]
    shares = [part / (pool.attainable or 1.0) for pool, part in zip(pools, scores, strict=True)]
    return _split_like(divide_by_maximum(np.concatenate(shares)), scores)


def _split_like(joined: Scores, like: Sequence[Scores]) -> list[Scores]:
    return np.split(joined, np.cumsum([len(part) for part in like])[:-1])


GAP = 3  # a pair is in order if its second stem is at most so many stems behind its first
SHORTEST_PART = 5  # characters: shorter parts of compounds are in too many words by chance
LONGEST_WHOLE = 40  # characters: longer words are not split into parts


@dataclass(frozen=True, slots=True)
class TermMatch:
    """The weighted shares of the question's words, and of its neighbouring pairs, that a chunk has; 0 to 1 each."""

    coverage: float
    order: float


class QuestionMatcher:
    """Compares chunks with one question. Words are stems; `weights` has one above 0 for each stem of the question."""

    def __init__(self, question_stems: Sequence[str], weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._total = sum(weights.values())
        self._pairs = {
            (first, second): min(weights[first], weights[second])
            for first, second in pairwise(question_stems)
            if first != second
        }
        self._pairs_total = sum(self._pairs.values())
        self._long = [stem for stem in weights if SHORTEST_PART <= len(stem) <= LONGEST_WHOLE]
        self._wholes: dict[str, set[str]] = defaultdict(set)
        for stem in self._long:
            for start in range(len(stem) - SHORTEST_PART + 1):
                for end in range(start + SHORTEST_PART, len(stem) + 1):
                    if end - start < len(stem):
                        self._wholes[stem[start:end]].add(stem)

    def match(self, stems: Sequence[str]) -> TermMatch:
        """Match one chunk, its stems in the order of its words."""
        if not self._total:
            return TermMatch(0.0, 0.0)
        matched = self.matched(stems)
        weights = (weight for stem, weight in self._weights.items() if stem in matched)
        coverage = min(1.0, sum(weights) / self._total)
        # A question of one word has no order: it is in order wherever it occurs.
        return TermMatch(coverage, self._order(stems) if self._pairs else coverage)

    def matched(self, stems: Sequence[str]) -> set[str]:
        """The question's stems that a chunk has; a compound counts for its part and a part for its compound."""
        present = set(stems)
        matched = self._weights.keys() & present
        for part in self._wholes.keys() & present:
            matched |= self._wholes[part]
        text = " ".join(stems)
        return matched | {stem for stem in self._long if stem not in matched and stem in text}

    def _order(self, stems: Sequence[str]) -> float:
        hits = [(position, stem) for position, stem in enumerate(stems) if stem in self._weights]
        matched = set()
        for number, (position, stem) in enumerate(hits):
            for earlier_position, earlier in reversed(hits[max(0, number - GAP) : number]):
                if position - earlier_position <= GAP and (earlier, stem) in self._pairs:
                    matched.add((earlier, stem))
        return min(1.0, sum(weight for pair, weight in self._pairs.items() if pair in matched) / self._pairs_total)


HEAD_SIZE = 30  # candidates of all collections together; more cost time and change no figure


def head_positions(scores: Sequence[Scores]) -> list[list[int]]:
    """Per pool the indexes of those among the HEAD_SIZE best of all pools, ties with the last included."""
    joined = np.concatenate([*scores, np.zeros(0)])
    least = np.partition(joined, -HEAD_SIZE)[-HEAD_SIZE] if len(joined) > HEAD_SIZE else 0.0
    return [np.flatnonzero(one >= least).tolist() for one in scores]


def match_scores(pool: Pool, keyword_scores: Scores, indexes: Sequence[int]) -> tuple[Scores, Scores]:
    """Coverage and order of every candidate: measured at `indexes`, elsewhere the least they can be.

    No word adds more to a BM25 score than its weight, so its share of what is attainable is a share that is covered.
    """
    coverage = np.minimum(1.0, keyword_scores / (pool.attainable or 1.0))
    order = np.zeros(len(coverage))
    if indexes:
        generation = pool.collection.generation
        question_stems = generation.keyword.tokeniser.stems(pool.keywords)
        matcher = QuestionMatcher(question_stems, term_weights(question_stems, generation))
        stems = generation.stems([pool.candidates[index].node_id for index in indexes])
        if pool.names:
            stems = [replace_alternatives(one, pool.names, generation) for one in stems]
        for index, match in zip(indexes, map(matcher.match, stems), strict=True):
            coverage[index], order[index] = match.coverage, match.order
    return coverage, order


FLATNESS_RANK = 10  # the keyword score at this rank, divided by the greatest, is how flat the scores are
USUAL_FLATNESS = 0.45  # gives the configured weight; most questions have .35, so words count a little more
FLATNESS_SLOPE = 0.4


def adapt_weight(weight: float, keywords: Sequence[Scores]) -> float:
    """The weight of cosines, 0 to 1, given BM25 scores within 0..1 of all pools, the greatest 1.

    weight + 0.4 x (flatness - 0.45) x 4 x weight x (1 - weight): from .32 to .72 if .5 is configured; 0 and 1 stay.
    """
    joined = np.concatenate([*keywords, np.zeros(FLATNESS_RANK)])
    if not joined.any():
        return weight
    flatness = float(np.partition(joined, -FLATNESS_RANK)[-FLATNESS_RANK])
    return min(1.0, max(0.0, weight + FLATNESS_SLOPE * (flatness - USUAL_FLATNESS) * 4.0 * weight * (1.0 - weight)))


def applied_weight(weight: float, pools: Sequence[Pool], candidates: Sequence[SearchCandidate]) -> float:
    """The weight with which the embedding reranker ranked these candidates."""
    filled = [pool for pool in pools if pool.candidates]
    scores: dict[str, list[float]] = {pool.collection.name: [] for pool in filled}
    for one in candidates:
        if one.collection in scores:
            scores[one.collection].append(one.keyword_score or 0.0)
    return adapt_weight(weight, scale_keywords(filled, [np.array(part) for part in scores.values()]))


@dataclass(frozen=True)
class RerankResult:
    """A ranking with notes, and each candidate's score as the reranker's model returned it."""

    candidates: list[SearchCandidate]
    notes: tuple[str, ...] = ()
    model_scores: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True)
class _CompletedPool:
    """A pool with the cosine and keyword score of every candidate; cosines are None without a question vector."""

    pool: Pool
    cosines: Scores | None
    keyword_scores: Scores

    def weight(self, weight: float) -> float:
        """The weight of cosines in this pool, if both kinds of scores have this one."""
        return 0.0 if self.cosines is None else weight if self.pool.uses_keywords else 1.0

    def scored(self, scores: Scores, coverage: Scores, order: Scores) -> list[SearchCandidate]:
        """The candidates with their scores and the parts of those; None for parts that do not count."""
        own = self.pool.candidates
        nothing = [None] * len(own)
        keyword_parts = (self.keyword_scores, coverage, order)
        columns = zip(
            own,
            scores.tolist(),
            nothing if self.cosines is None else self.cosines.tolist(),
            *(part.tolist() if self.pool.uses_keywords else nothing for part in keyword_parts),
            strict=True,
        )
        # dataclasses.replace would take five times as long.
        return [
            SearchCandidate(
                one.node_id,
                one.collection,
                one.dense_rank,
                cosine,
                one.keyword_rank,
                keyword_score,
                one.fused_score,
                score,
                *matches,
            )
            for one, score, cosine, keyword_score, *matches in columns
        ]


class EmbeddingReranker:
    """Ranks by cosine, words and their order; no model is called.

    The score is ((weight x C + (1 - weight) x (K + 0.8 x O)) / (weight + (1 - weight) x 1.8)) ^ 0.7: C is the cosine
    scaled to 0..1 over the candidates, K = BM25 x coverage divided by its greatest; coverage and O (order) are those
    of `TermMatch`. The weight is the configured one, shifted by `adapt_weight`.
    A candidate of one retriever is scored by the other as well: its cosine from the stored vectors, its BM25 score
    from the keyword index, 0 if it matches nothing. If the strategy does not use keywords, the cosine decides alone;
    if the question could not be embedded, the keywords do. `retrieve/pools` explains what is scaled together when
    several collections are searched.
    """

    name = "embedding"
    calls_model = False
    needs_vector = True

    def __init__(self, weight: float = 0.5, *, notes: tuple[str, ...] = ()) -> None:
        self.weight = weight
        self.notes = notes

    def rerank(self, _question: str, pools: Sequence[Pool], _cancelled: Cancelled | None = None, /) -> RerankResult:
        """Rank all candidates with all scores, best first, ties by node id."""
        completed = [_complete(pool) for pool in pools if pool.candidates]
        pools = [one.pool for one in completed]
        cosines = scale_cosines(pools, [one.cosines for one in completed])
        bm25 = scale_keywords(pools, [one.keyword_scores for one in completed])
        weight = adapt_weight(self.weight, bm25)
        first = [
            blend_scaled(cosine, keyword, one.weight(self.weight))
            for cosine, keyword, one in zip(cosines, bm25, completed, strict=True)
        ]
        matched = [
            match_scores(one.pool, one.keyword_scores, indexes if one.pool.uses_keywords else [])
            for one, indexes in zip(completed, head_positions(first), strict=True)
        ]
        covered = [one.keyword_scores * coverage for one, (coverage, _) in zip(completed, matched, strict=True)]
        ranked = [
            candidate
            for one, (coverage, order), cosine, keyword in zip(
                completed, matched, cosines, scale_keywords(pools, covered), strict=True
            )
            for candidate in one.scored(blend_matches(cosine, keyword, order, one.weight(weight)), coverage, order)
        ]
        return RerankResult(best_first(ranked))


def _complete(pool: Pool) -> _CompletedPool:
    generation = pool.collection.generation
    positions = generation.positions([candidate.node_id for candidate in pool.candidates])
    cosines: Scores | None = None
    if pool.vector is not None:
        products = np.asarray(generation.vectors[positions] @ pool.vector, dtype=np.float64)
        # Rounded to the precision of 32 bits, so that equal vectors tie whatever the order of the sum.
        cosines = np.clip(np.round(products, 6), -1.0, 1.0)
    keyword_scores = np.zeros(len(positions))
    if pool.uses_keywords:

        def score(text: str) -> NDArray[np.float32]:
            return generation.keyword.scores_at(text, positions)

        scores = score_with_alternatives(score(pool.keywords), pool.names, generation, score)
        keyword_scores = scores.astype(np.float64)
    return _CompletedPool(pool, cosines, keyword_scores)
