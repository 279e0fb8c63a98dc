"""The rerankers: by cosine and keyword scores, by a model that reads each candidate, and the fused order.

By default, `EmbeddingReranker` computes the cosine and keyword score of every candidate and ranks by a weighted mean.
The weight of cosines is adapted to each question: keyword scores count more if a chunk has many of the question's
words. docs/decisions compares the alternatives. The best candidates are also matched with the question word by word.
Sources: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023 (convex
combination of scaled scores); Lucene's coordination factor (a chunk with many of the question's words is better than a
chunk that repeats one of them); Metzler and Croft, "A Markov Random Field Model for Term Dependencies", SIGIR 2005
(words that follow each other in the question and in the chunk).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import numpy as np
from elt_llm_core.errors import ModelError, UnusableReply, UsageError
from elt_llm_core.settings.tree import Settings
from elt_llm_core.utilities import check_type, type_name
from llama_index.core.llms import LLM
from numpy.typing import ArrayLike, NDArray

from elt_llm_query.retrieve.fusion import SearchCandidate, best_first
from elt_llm_query.retrieve.pools import Pool
from elt_llm_query.retrieve.query_variant import keyword_query, replace_alternatives

Scores = NDArray[np.float64]
Cancelled = Callable[[], bool]
"""A function that returns True once the caller no longer wants the result."""

ORDER_SHARE = 0.8
"""Weight of the word-order score relative to the keyword score, whose weight is 1."""
FOREIGN_WEIGHT = 0.9
"""Least weight of cosines if question and collection are in different languages."""
_ROUNDING = 1e-9  # by which a score may exceed 1
CURVE = 0.7
"""Exponent that keeps scores on the scale without word order, for which the confidence was calibrated."""


def min_max(scores: ArrayLike) -> Scores:
    """Scale scores linearly to 0..1; if all scores are equal, each becomes 1."""
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        return values
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.ones_like(values)


def divide_by_maximum(scores: ArrayLike) -> Scores:
    """Divide scores of 0 or more by the greatest score; scores that are all 0 do not change."""
    values = np.asarray(scores, dtype=np.float64)
    greatest = values.max(initial=0.0)
    return values / greatest if greatest > 0 else np.zeros_like(values)


def blend_scaled(reranked: Scores, keyword: Scores, weight: float | Scores) -> Scores:
    """Return weight x reranked + (1 - weight) x keyword. Both scores and the results are between 0 and 1."""
    return np.clip(weight * reranked + (1.0 - weight) * keyword, 0.0, 1.0)


def blend_matches(cosines: Scores, keyword: Scores, order: Scores, weight: float) -> Scores:
    """Return the weighted mean of cosines, keyword scores and word order, raised to the power CURVE.

    The weights are `weight`, 1 - `weight`, and ORDER_SHARE x (1 - `weight`). Scores and results are within 0..1.
    """
    rest = 1.0 - weight
    whole = weight + rest * (1.0 + ORDER_SHARE)
    mean = np.clip((weight * cosines + rest * (keyword + ORDER_SHARE * order)) / whole, 0.0, 1.0)
    return np.power(mean, CURVE)


def scale_cosines(pools: Sequence[Pool], cosines: Sequence[Scores | None]) -> list[Scores]:
    """Scale cosines to 0..1. `pools` are the candidates of each collection; collections without cosines get zeros.

    Collections with the same embedding model are scaled together.
    """
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
    """Scale keyword scores to 0..1 so that several collections can be compared.

    Each score is divided by the greatest score that its collection allows, then by the greatest quotient of all.
    `scores` are BM25 or BM25 x coverage. For one collection, the result is score / greatest score.
    """
    if not pools:
        return []
    if len(pools) == 1:
        return [divide_by_maximum(scores[0])]
    shares = [part / (pool.attainable or 1.0) for pool, part in zip(pools, scores, strict=True)]
    return _split_like(divide_by_maximum(np.concatenate(shares)), scores)


def _split_like(joined: Scores, like: Sequence[Scores]) -> list[Scores]:
    return np.split(joined, np.cumsum([len(part) for part in like])[:-1])


GAP = 3  # greatest distance, in stems, between the two stems of an ordered pair
SHORTEST_PART = 5  # characters; shorter parts of compounds occur in too many words by chance
LONGEST_WHOLE = 40  # characters; longer words are not split into parts


@dataclass(frozen=True, slots=True)
class TermMatch:
    """The weighted shares, 0 to 1, of the question's words and of its neighbouring word pairs that a chunk contains."""

    coverage: float
    order: float


class QuestionMatcher:
    """Compares chunks with one question by their stems. `weights` has a positive weight for each question stem."""

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
        """Return how much of the question a chunk contains. `stems` are the chunk's stems in the order of its words."""
        if not self._total:
            return TermMatch(0.0, 0.0)
        matched = self.matched(stems)
        weights = (weight for stem, weight in self._weights.items() if stem in matched)
        coverage = min(1.0, sum(weights) / self._total)
        # A question of one word has no word pairs, so its coverage counts as order too.
        return TermMatch(coverage, self._order(stems) if self._pairs else coverage)

    def matched(self, stems: Sequence[str]) -> set[str]:
        """Return the question's stems that a chunk contains. A compound and each of its parts match each other."""
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


HEAD_SIZE = 30  # candidates of all collections together; a larger head takes longer and improves no metric


def head_positions(scores: Sequence[Scores]) -> list[list[int]]:
    """Return, for each collection, the indexes of its candidates among the HEAD_SIZE best of all collections.

    Candidates that tie with the last of them are included, so there may be more than HEAD_SIZE.
    """
    joined = np.concatenate([*scores, np.zeros(0)])
    least = np.partition(joined, -HEAD_SIZE)[-HEAD_SIZE] if len(joined) > HEAD_SIZE else 0.0
    return [np.flatnonzero(one >= least).tolist() for one in scores]


def match_scores(pool: Pool, keyword_scores: Scores, indexes: Sequence[int]) -> tuple[Scores, Scores]:
    """Return two arrays with a value for each candidate: `coverage` and `order`, as in `TermMatch`.

    The values are exact at `indexes`. All others are lower bounds: 0 for the order and, for the coverage, the keyword
    score divided by the greatest possible one. (A matched word adds at most its weight to a BM25 score.)
    """
    coverage = np.minimum(1.0, keyword_scores / (pool.attainable or 1.0))
    order = np.zeros(len(coverage))
    if indexes:
        generation = pool.collection.generation
        matcher = QuestionMatcher(pool.stems, pool.weights)
        stems = generation.stems([pool.candidates[index].node_id for index in indexes])
        if pool.variant.names:
            stems = [replace_alternatives(one, pool.variant.names, generation) for one in stems]
        for index, match in zip(indexes, map(matcher.match, stems), strict=True):
            coverage[index], order[index] = match.coverage, match.order
    return coverage, order


FLATNESS_RANK = 10  # flatness is the keyword score at this rank divided by the greatest keyword score
USUAL_FLATNESS = 0.45  # flatness at which the configured weight is unchanged; most questions have .35
FLATNESS_SLOPE = 0.4
WEIGHT_GAIN = 0.3  # added to a configured weight of .5 if no word of the question is in any chunk
COVERAGE_COST = 0.2  # of this gain, if one chunk has all words of the question


@dataclass(frozen=True)
class AdaptedWeights:
    """The weight of cosines (relative to keyword scores, 0 to 1), adapted to one question in two ways.

    `by_coverage` is higher if people ask in other words than the text: weight + gain x 4 x weight x (1 - weight) with
    gain = (0.3 - 0.2 x coverage) x (1 - likeness x coverage). Coverage is the weighted share, 0 to 1, of the question's
    words in the chunk that has most of them, and likeness, 0 to 1, how much the question looks like a list of keywords.
    `by_flatness` is weight + 0.4 x (flatness - 0.45) x 4 x weight x (1 - weight). Flatness is the tenth-best keyword
    score, 0 to 1, of all collections, or 0 if there are fewer. Configured weights of 0 and 1 do not change.
    Decisions 19 and 59 in docs/decisions have the measurements.
    """

    by_coverage: float
    by_flatness: float

    def of(self, pool: Pool) -> float:
        """Return the weight in a collection: by coverage for English texts and a model for English, else by flatness.

        It is also by flatness if small child chunks are searched: few words of a question in a short chunk are no sign
        of a paraphrase. If the question is in another language than the texts, it is at least FOREIGN_WEIGHT, because
        languages share few words except names and numbers.
        """
        if pool.collection.is_foreign(pool.variant.language):
            return max(self.by_flatness, FOREIGN_WEIGHT)
        counts_coverage = pool.collection.only_english and not pool.collection.has_child_chunks
        return self.by_coverage if counts_coverage else self.by_flatness


def adapt_weight(
    weight: float, keywords: Sequence[Scores], coverage: float = 0.0, likeness: float = 0.0
) -> AdaptedWeights:
    """Adapt the configured `weight`. `keywords` has an array of keyword scores, 0 to 1, for each collection."""
    joined = np.concatenate([*keywords, np.zeros(FLATNESS_RANK)])
    if not joined.any():
        return AdaptedWeights(weight, weight)
    flatness = float(np.partition(joined, -FLATNESS_RANK)[-FLATNESS_RANK])
    gain = (WEIGHT_GAIN - COVERAGE_COST * coverage) * (1.0 - likeness * coverage)
    gains = (gain, FLATNESS_SLOPE * (flatness - USUAL_FLATNESS))
    return AdaptedWeights(*(min(1.0, max(0.0, weight + one * 4.0 * weight * (1.0 - weight))) for one in gains))


def applied_weights(weight: float, pools: Sequence[Pool], candidates: Sequence[SearchCandidate]) -> AdaptedWeights:
    """Return the weights of cosines with which the embedding reranker ranked `candidates`.

    `weight` is the configured one, and `pools` are the candidates of each collection before the ranking.
    """
    filled = [pool for pool in pools if pool.candidates]
    scores: dict[str, list[float]] = {pool.collection.name: [] for pool in filled}
    for one in candidates:
        if one.collection in scores:
            scores[one.collection].append(one.keyword_score or 0.0)
    keywords = scale_keywords(filled, [np.array(part) for part in scores.values()])
    coverage = max((one.coverage or 0.0 for one in candidates), default=0.0)
    return adapt_weight(weight, keywords, coverage, max((pool.variant.likeness for pool in filled), default=0.0))


@dataclass(frozen=True)
class RerankResult:
    """A ranking with notes. `model_scores` pairs each node id with the score from the reranker's model, not scaled."""

    candidates: list[SearchCandidate]
    notes: tuple[str, ...] = ()
    model_scores: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True)
class _CompletedPool:
    """The candidates of one collection (a `Pool`) with the cosine and the keyword score of every candidate.

    Without a question vector, `cosines` is None.
    """

    pool: Pool
    cosines: Scores | None
    keyword_scores: Scores

    def weight(self, adapted: AdaptedWeights) -> float:
        """Return the weight of cosines here: 0 without cosines, 1 without keyword scores, else the adapted one."""
        if self.cosines is None:
            return 0.0
        return adapted.of(self.pool) if self.pool.uses_keywords else 1.0

    def scored(self, scores: Scores, coverage: Scores, order: Scores) -> list[SearchCandidate]:
        """Return the candidates with their scores and metrics. Metrics that did not count for the score are None."""
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
    """A reranker by cosine, keyword score and word order, which calls no model.

    The score is ((weight x C + (1 - weight) x (K + 0.8 x O)) / (weight + (1 - weight) x 1.8)) ^ 0.7. C is the cosine
    scaled to 0..1 over the candidates. K is BM25 x coverage, divided by its greatest value. `TermMatch` defines
    coverage and O (order). `AdaptedWeights` has the weights.
    Every candidate gets both scores, whichever retriever returned the candidate: its cosine from the stored vectors,
    its BM25 score from the keyword index. If the strategy does not use keywords, only the cosine counts. If the
    question could not be embedded, only the keywords count. `retrieve/pools` explains the scaling over several
    collections.
    """

    name = "embedding"
    calls_model = False
    needs_vector = True

    def __init__(self, weight: float = 0.5, *, notes: tuple[str, ...] = ()) -> None:
        self.weight = weight
        self.notes = notes

    def rerank(self, _question: str, pools: Sequence[Pool], _cancelled: Cancelled | None = None, /) -> RerankResult:
        """Rank all candidates, best first; equal scores are ordered by node id."""
        completed = [_complete(pool) for pool in pools if pool.candidates]
        pools = [one.pool for one in completed]
        cosines = scale_cosines(pools, [one.cosines for one in completed])
        bm25 = scale_keywords(pools, [one.keyword_scores for one in completed])
        configured = AdaptedWeights(self.weight, self.weight)
        first = [
            blend_scaled(cosine, keyword, one.weight(configured))
            for cosine, keyword, one in zip(cosines, bm25, completed, strict=True)
        ]
        matched = [
            match_scores(one.pool, one.keyword_scores, indexes if one.pool.uses_keywords else [])
            for one, indexes in zip(completed, head_positions(first), strict=True)
        ]
        covered = [one.keyword_scores * coverage for one, (coverage, _) in zip(completed, matched, strict=True)]
        parts = [coverage for one, (coverage, _) in zip(completed, matched, strict=True) if one.pool.uses_keywords]
        most = float(np.concatenate(parts).max()) if parts else 0.0
        adapted = adapt_weight(self.weight, bm25, most, pools[0].variant.likeness if pools else 0.0)
        ranked = [
            candidate
            for one, (coverage, order), cosine, keyword in zip(
                completed, matched, cosines, scale_keywords(pools, covered), strict=True
            )
            for candidate in one.scored(blend_matches(cosine, keyword, order, one.weight(adapted)), coverage, order)
        ]
        return RerankResult(best_first(ranked))


def _complete(pool: Pool) -> _CompletedPool:
    generation = pool.collection.generation
    query = keyword_query(pool.variant.keywords, pool.variant.names, generation) if pool.uses_keywords else None
    products, bm25 = generation.completed([candidate.node_id for candidate in pool.candidates], pool.vector, query)
    cosines: Scores | None = None
    if products is not None:
        # Rounded to the precision of 32 bits, so that equal vectors tie whatever the order of the sum.
        cosines = np.clip(np.round(np.asarray(products, dtype=np.float64), 6), -1.0, 1.0)
    keyword_scores = np.zeros(len(pool.candidates)) if bm25 is None else bm25.astype(np.float64)
    return _CompletedPool(pool, cosines, keyword_scores)


@runtime_checkable
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


@runtime_checkable
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

    llm: LLM | None = field(default=None, repr=False)  # may show its key
    models_dir: Path | None = None
    allow_remote: bool = False

    @classmethod
    def of(cls, settings: Settings, llm: LLM | None = None) -> Self:
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
        """Rank by this scorer. Raises UsageError for a scorer without a documented part, or a weight outside 0..1."""
        check_type("The scorer", scorer, ChunkScorer, "a ChunkScorer: it has name, description, notes and score")
        if not 0.0 <= weight <= 1.0:
            raise UsageError(f"The weight of a reranker is {weight}, not a number from 0 to 1.")
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
            return _usable_scores(self.name, self.scorer.score(question, texts, cancelled), len(texts))
        except ModelError as failure:
            return ChunkScores((None,) * len(texts), (f"The {self.name} reranker did not work: {failure}",))


def _usable_scores(name: str, judged: object, count: int) -> ChunkScores:
    """Return the scores, with None for one that is not finite, and a note on these. Raises UnusableReply for others."""
    if not isinstance(judged, ChunkScores):
        raise UnusableReply(f"its method score returned {type_name(judged)}, not ChunkScores.")
    if len(judged.scores) != count:
        raise UnusableReply(f"it returned {len(judged.scores)} scores for {count} chunks.")
    try:
        scores = [None if score is None else float(score) for score in judged.scores]
    except (TypeError, ValueError) as error:
        raise UnusableReply(f"one of its scores is not a number: {error}.") from error
    usable = tuple(score if score is not None and math.isfinite(score) else None for score in scores)
    lost = usable.count(None) - scores.count(None)
    note = f"{lost} of {count} scores of the {name} reranker are not finite: these chunks get the mean."
    return ChunkScores(usable, (*judged.notes, note) if lost else judged.notes)


def check_ranking(name: str, pools: Sequence[Pool], result: object) -> RerankResult:
    """Return a reranker's result. Raises UnusableReply if a candidate is missing, or if scores or order are invalid."""
    if not isinstance(result, RerankResult):
        raise UnusableReply(f"The reranker {name} returned {type_name(result)}, not a RerankResult.")
    scores = [one.score for one in result.candidates]
    given = sorted(one.key for pool in pools for one in pool.candidates)
    mistakes = {
        "each given candidate once": given != sorted(one.key for one in result.candidates),
        "scores from 0 to 1": not all(0.0 <= score <= 1.0 + _ROUNDING for score in scores),
        "the best candidates first": scores != sorted(scores, reverse=True),
    }
    if wrong := [wanted for wanted, is_wrong in mistakes.items() if is_wrong]:
        raise UnusableReply(f"The reranker {name} did not return {' and '.join(wrong)}.")
    return result


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
