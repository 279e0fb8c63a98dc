"""The search: understand the question, retrieve, fuse, rerank and shape its chunks.

`SearchPipeline.search` reads top to bottom: understand, filter, run the strategy, shape. A strategy runs one or more
passes, and `SearchPass.run` is one of them: route, embed, retrieve, fuse, rerank. Each step is a stage of the trace.
"""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any
from unicodedata import category

import numpy as np
from elt_llm_core.collection.generation import Generation
from elt_llm_core.errors import EltError, RetrievalError, UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import RetrievedChunk, TraceStage
from elt_llm_core.settings.tree import STRATEGIES, QuerySettings, Settings, StrategyName
from elt_llm_core.utilities import Closeable

from elt_llm_query.rerank import create_reranker
from elt_llm_query.rerank.embedding import RerankResult, applied_weight
from elt_llm_query.rerank.reranker import ModelSources, Reranker, reranker_identity
from elt_llm_query.retrieve.cache import CacheCounts, QueryCaches, create_caches
from elt_llm_query.retrieve.filters import Condition, FilterMasks, Mask, condition_masks, parse_conditions
from elt_llm_query.retrieve.fusion import adapted_dense_weight
from elt_llm_query.retrieve.pools import (
    CollectionResults,
    OpenCollection,
    Pool,
    Vector,
    cut_to_budget,
    fuse_collections,
    open_collections,
    retrieve_from_collections,
    retriever_budgets,
)
from elt_llm_query.retrieve.query_variant import BOTH_RETRIEVERS, QueryVariant, RetrieverChoice
from elt_llm_query.retrieve.trace import (
    EmbedDetails,
    FilterDetails,
    FuseDetails,
    RerankDetails,
    RetrieveDetails,
    RouteDetails,
    ShapeDetails,
    StageLog,
    UnderstandDetails,
)
from elt_llm_query.shape.shaper import ChunkShaper
from elt_llm_query.strategies import create_strategy
from elt_llm_query.strategies.strategy import Strategy
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases
from elt_llm_query.understanding.analysis import QuestionAnalyser, QuestionAnalysis, apply_filters
from elt_llm_query.understanding.routing import CollectionRouter

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

MOST_THREADS = 16
MOST_CHARACTERS = 4000
_INVISIBLE = ("Cc", "Cf", "Zs")  # Unicode categories of control characters, signs without width, and spaces
_EXAMPLE = "Ask in words, such as: elt-llm ask 'Who approves leave?'"


@dataclass(frozen=True)
class SearchResult:
    """The chunks for one question, best first, with the trace of the search."""

    chunks: tuple[RetrievedChunk, ...]
    stages: tuple[TraceStage, ...]
    notes: tuple[str, ...]
    searched_for: str = ""
    """The question with its spelling corrected."""
    failed: bool = False
    """Whether something failed, as the notes report: such a result is not cached, because a retry may succeed."""


@dataclass(frozen=True)
class SearchContext:
    """What all questions of a pipeline share. `embed` may cache the vectors of questions."""

    collections: tuple[OpenCollection, ...]
    reranker: Reranker
    query: QuerySettings
    router: CollectionRouter
    analyser: QuestionAnalyser
    embed: Callable[[EmbeddingModel, str], Vector]
    cache_counts: Callable[[], CacheCounts]


class SearchPipeline(Closeable):
    """Searches pinned generations. Everything is built once, here; searching builds and changes nothing.

    One object may be used from many threads. `embeddings` has a model for each fingerprint among the generations;
    FingerprintMismatch is raised if one is missing. `caches` may be shared with other pipelines: cached values are
    keyed by generations, settings and models. Unset, the pipeline has its own, as configured. `llm` is for rerankers
    and strategies that use a model; ModelError or SettingsError is raised for a reranker without its model. `aliases`
    are alternative names to search for.
    """

    def __init__(
        self,
        generations: Sequence[Generation],
        embeddings: Sequence[EmbeddingModel],
        settings: Settings,
        *,
        make_reranker: Callable[[QuerySettings], Reranker] | None = None,
        llm: "LLM | None" = None,
        caches: QueryCaches[SearchResult] | None = None,
        aliases: Aliases = NO_ALIASES,
    ) -> None:
        query = self._query = settings.query
        self.caches = caches or create_caches(query)
        threads = max(1, min(MOST_THREADS, 2 * len(generations)))
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="retrieval")
        self._collections = open_collections(generations, embeddings, query, self._executor)
        make = make_reranker or partial(create_reranker, sources=ModelSources.of(settings, llm))
        self._reranker = make(query)
        self._strategies: dict[str, Strategy] = {name: create_strategy(name, query, llm) for name in STRATEGIES}
        self._analyser = QuestionAnalyser(generations, query, aliases)
        self._context = SearchContext(
            self._collections,
            self._reranker,
            query,
            CollectionRouter(self._collections, query.route_above, query.route_to),
            self._analyser,
            self.caches.vectors.embed,
            lambda: self.caches.vectors.counts,
        )
        self._shaper = ChunkShaper(self._collections, query, settings.llm.max_context_tokens)
        states = tuple((one.identity, *one.notes) for one in generations)
        self.key: Hashable = (states, settings.model_dump_json(), aliases, *reranker_identity(self._reranker))
        """Everything but the question that a result depends on: equal for pipelines with the same results."""

    def search(
        self,
        question: str,
        *,
        top_k: int | None = None,
        where: Sequence[str] = (),
        strategy: StrategyName | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> SearchResult:
        """The chunks for a question, at most top_k, that fulfil all conditions of `where`.

        `top_k` and `strategy` default to the settings. A model that helps to search is stopped once `cancelled` returns
        True, and the result is not cached. Raises UsageError for a question without words, an unknown strategy and
        invalid filters, RetrievalError if no retriever of any collection worked.
        """
        conditions = parse_conditions(where)
        chosen = self._strategy(strategy or self._query.strategy)
        log = StageLog()
        with log.stage(UnderstandDetails.stage) as stage:
            text = normalise_question(question)
            key = (self.key, chosen.name, text, top_k, conditions)
            cached = self.caches.results.get(key)
            cache = {"hit": cached is not None, **self.caches.results.counts.as_dict()}
            known = cached or self._analyser.analyse(text, conditions, partial(self._allowed_masks, conditions))
            details = UnderstandDetails.of(known.stages[0]) if isinstance(known, SearchResult) else known.details()
            stage.record(0, replace(details, question=text, strategy=chosen.name, cache=cache))
        if isinstance(known, SearchResult):
            return _replayed(known, log)
        result = self._search(known, chosen, top_k, conditions, log, cancelled)
        if not result.failed:
            self.caches.results.put(key, result)
        return result

    def _search(
        self,
        analysis: QuestionAnalysis,
        strategy: Strategy,
        top_k: int | None,
        conditions: Sequence[Condition],
        log: StageLog,
        cancelled: Callable[[], bool] | None,
    ) -> SearchResult:
        limits = self._filter(analysis, conditions, log)
        passes = SearchPass(self._context, limits, log, cancelled)
        reranked = strategy.search(QueryVariant(analysis.text), passes)
        with log.stage(ShapeDetails.stage) as stage:
            most = top_k or self._default_top_k
            shaped = self._shaper.shape(reranked.candidates, most, stage, to_read=top_k is None, limits=limits)
        notes = (
            *analysis.notes,
            *(note for one in self._collections for note in one.generation.notes),
            *self._reranker.notes,
            *strategy.notes,
            *passes.notes,
            *passes.failures,
            *reranked.notes,
            *(limits.notes if limits else ()),
            *shaped.notes,
        )
        chunks = tuple(chunk.to_chunk() for chunk in shaped.chunks)
        return SearchResult(
            chunks, log.stages, tuple(dict.fromkeys(notes)), analysis.text, failed=bool(passes.failures)
        )

    def _filter(self, analysis: QuestionAnalysis, conditions: Sequence[Condition], log: StageLog) -> FilterMasks | None:
        """The nodes that fulfil the conditions and those that the question suggests; None without conditions."""
        suggested = analysis.suggested if self._query.filters_from_question == "apply" else ()
        if not conditions and not suggested:
            return None
        with log.stage(FilterDetails.stage) as stage:
            limits, applied = apply_filters(conditions, suggested, [one.generation for one in self._collections])
            left = {one.name: int(mask.sum()) for one, mask in zip(self._collections, limits.masks, strict=True)}
            of_all = {one.name: len(one.generation.ids) for one in self._collections}
            stage.record(sum(left.values()), FilterDetails(where=list(map(str, applied)), left=left, of_all=of_all))
        return limits

    @property
    def cache_counts(self) -> dict[str, CacheCounts]:
        """Hits, misses and size of each cache by its name."""
        return self.caches.counts

    @property
    def most_candidates(self) -> int:
        """The most chunks that the retrievers can return together."""
        return 2 * self._query.retriever_top_k * max(1, len(self._collections))

    @property
    def _default_top_k(self) -> int:
        return self._query.similarity_top_k if self._reranker.name == "none" else self._query.reranker_top_k

    def _strategy(self, name: str) -> Strategy:
        strategy = self._strategies.get(name)
        if strategy is None:
            raise UsageError(
                f"There is no strategy '{name}'.", hint=f"Strategies are: {', '.join(sorted(self._strategies))}."
            )
        return strategy

    def _allowed_masks(self, conditions: Sequence[Condition]) -> Sequence[Mask] | None:
        return condition_masks(conditions, [one.generation for one in self._collections]).masks if conditions else None

    def close(self) -> None:
        """Stop the threads; the generations and the models belong to the caller."""
        self._executor.shutdown(wait=True)


class SearchPass:
    """Runs the passes of one question; each records its stages in the log. Not to be shared between questions."""

    def __init__(
        self,
        context: SearchContext,
        limits: FilterMasks | None,
        log: StageLog,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """`cancelled` returns True if nobody waits any more; models that help to search check it."""
        self._context = context
        self._masks = limits.masks if limits else None
        self.log = log
        self.cancelled = cancelled
        self._failures: list[str] = []
        self._notes: list[str] = []

    def run(self, variant: QueryVariant, retrievers: RetrieverChoice) -> RerankResult:
        """Run one pass: all candidates of the retrievers, reranked by the text of the variant.

        Raises RetrievalError if no retriever of any collection worked.
        """
        variant = self._context.analyser.complete(variant)
        collections, masks = self._route(variant)
        vectors = self._embed(variant, retrievers, collections)
        results = self._retrieve(variant, retrievers, vectors, collections, masks)
        pools = self._fuse(variant, retrievers, results, vectors)
        return self._rerank(variant.text, pools)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out so far, in sentences."""
        return tuple(dict.fromkeys(self._notes))

    @property
    def failures(self) -> tuple[str, ...]:
        """What failed so far, in sentences; a question with failures is searched again the next time."""
        return tuple(dict.fromkeys(self._failures))

    @property
    def collections(self) -> tuple[OpenCollection, ...]:
        """The collections that may be searched; of many, each pass searches the best."""
        return self._context.collections

    def report_failure(self, sentence: str) -> None:
        """Record that something failed and was left out, so that the result is not cached."""
        self._failures.append(sentence)

    def _route(self, variant: QueryVariant) -> tuple[tuple[OpenCollection, ...], tuple[Mask, ...] | None]:
        """The collections of this pass with their masks: all, or the best of many, which a stage records."""
        started = perf_counter()
        route = self._context.router.route(variant, self._masks)
        if route is None:
            return self._context.collections, self._masks
        with self.log.stage(RouteDetails.stage, started) as stage:
            details = RouteDetails(
                question=variant.text,
                keywords=variant.keywords,
                collections=route.details,
                common_names=list(route.common_names),
            )
            stage.record(len(route.searched), details)
        self._notes += [route.note] if route.note else []
        chosen = tuple(self._context.collections[index] for index in route.searched)
        return chosen, tuple(self._masks[index] for index in route.searched) if self._masks else None

    def _embed(
        self, variant: QueryVariant, retrievers: RetrieverChoice, collections: Sequence[OpenCollection]
    ) -> dict[bytes, Vector]:
        """One vector per embedding model. Without any, the keywords may still be searched, else the model's error."""
        embedded = collections if retrievers.dense or self._context.reranker.needs_vector else ()
        vectors: dict[bytes, Vector] = {}
        failures: list[EltError] = []
        with self.log.stage(EmbedDetails.stage) as stage:
            for space, embedding in {one.space: one.embedding for one in embedded}.items():
                try:
                    vectors[space] = self._vector(embedding, variant)
                except EltError as failure:
                    failures.append(failure)
            details = EmbedDetails(
                question=variant.text,
                hypothetical_answers=list(variant.hypothetical_answers),
                cache=self._context.cache_counts().as_dict(),
            )
            stage.record(len(vectors), details)
        by_keywords = retrievers.keyword and not all(one.keywords_missing for one in collections)
        if failures and not by_keywords:
            raise RetrievalError(f"The question could not be embedded: {failures[0]}", hint=failures[0].hint)
        self._failures += [f"The question could not be embedded: {failure}" for failure in failures]
        return vectors

    def _vector(self, embedding: EmbeddingModel, variant: QueryVariant) -> Vector:
        vector = self._context.embed(embedding, variant.text)
        if not variant.hypothetical_answers:
            return vector
        mean = np.vstack([vector, embedding.embed_texts(variant.hypothetical_answers)]).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return np.asarray(mean / length if length else vector, dtype=np.float32)

    def _retrieve(
        self,
        variant: QueryVariant,
        retrievers: RetrieverChoice,
        vectors: dict[bytes, Vector],
        collections: tuple[OpenCollection, ...],
        masks: tuple[Mask, ...] | None,
    ) -> list[CollectionResults]:
        with self.log.stage(RetrieveDetails.stage) as stage:
            findable = (
                [int(mask.sum()) for mask in masks] if masks else [len(one.generation.ids) for one in collections]
            )
            limits = retriever_budgets(findable, self._context.query)
            results = retrieve_from_collections(variant, retrievers, collections, vectors, masks, limits)
            counts = [len(one.hits.dense) + len(one.hits.keyword) for one in results]
            details = RetrieveDetails(
                keywords=variant.keywords,
                names={one.name: list(one.others) for one in variant.names},
                budget={
                    one.name: {"of each retriever": limit, "nodes": nodes, "brought": count}
                    for one, limit, nodes, count in zip(collections, limits, findable, counts, strict=True)
                },
                collections={
                    one.collection.name: {"dense": one.hits.dense, "keyword": one.hits.keyword} for one in results
                },
            )
            stage.record(sum(counts), details)
        self._failures += [note for one in results for note in one.notes]
        return results

    def _fuse(
        self,
        variant: QueryVariant,
        retrievers: RetrieverChoice,
        results: Sequence[CollectionResults],
        vectors: dict[bytes, Vector],
    ) -> list[Pool]:
        with self.log.stage(FuseDetails.stage) as stage:
            pools = fuse_collections(variant, retrievers, results, vectors)
            weight = adapted_dense_weight(self._context.query.dense_weight, variant.likeness)
            details = FuseDetails(
                method=self._context.query.fusion,
                weights={"dense": weight, "keyword": 1.0 - weight} if retrievers == BOTH_RETRIEVERS else None,
                collections={
                    pool.collection.name: [(candidate.node_id, candidate.fused_score) for candidate in pool.candidates]
                    for pool in pools
                },
            )
            stage.record(sum(len(pool.candidates) for pool in pools), details)
        return pools

    def _rerank(self, question: str, pools: list[Pool]) -> RerankResult:
        """All candidates in one ranking, without those beyond the budget of a reranker that calls a model."""
        reranker = self._context.reranker
        with self.log.stage(RerankDetails.stage) as stage:
            read = cut_to_budget(pools, self._context.query) if reranker.calls_model else pools
            reranked = reranker.rerank(question, read, self.cancelled)
            details = self._rerank_details(question, read, reranked)
            if reranker.calls_model:
                details = replace(details, model_scores=list(reranked.model_scores), **_budget(pools, read))
            stage.record(len(reranked.candidates), details)
        self._failures += reranked.notes
        return reranked

    def _rerank_details(self, question: str, pools: list[Pool], reranked: RerankResult) -> RerankDetails:
        weight = self._context.query.rerank_weight
        if all(score is None for _, score in reranked.model_scores):
            weight = applied_weight(weight, pools, reranked.candidates)
        return RerankDetails(
            question=question,
            method=self._context.reranker.name,
            weight=weight,
            ranking=[(candidate.node_id, candidate.score) for candidate in reranked.candidates],
            parts=[(candidate.node_id, candidate.parts()) for candidate in reranked.candidates],
            collections={
                pool.collection.name: {
                    "candidates": len(pool.candidates),
                    "attainable": pool.attainable if pool.uses_keywords else None,
                    "embedding": None if pool.vector is None else str(pool.collection.embedding.fingerprint),
                }
                for pool in pools
            },
        )


def _budget(pools: Sequence[Pool], read: Sequence[Pool]) -> dict[str, Any]:
    """Details on how many candidates of each pool the reranker's model read."""
    pairs = list(zip(pools, read, strict=True))
    return {
        "budget": {
            cut.collection.name: {"read": len(cut.candidates), "brought": len(pool.candidates)} for pool, cut in pairs
        },
        "beyond_budget": [
            candidate.node_id for pool, cut in pairs for candidate in pool.candidates[len(cut.candidates) :]
        ],
    }


def search_once(
    question: str, generations: Sequence[Generation], embedding: EmbeddingModel, settings: Settings
) -> SearchResult:
    """Open a pipeline, search once and close it."""
    with SearchPipeline(generations, [embedding], settings) as pipeline:
        return pipeline.search(question)


def normalise_question(question: str) -> str:
    """Collapse the question's white space. Raises UsageError if nothing is left, or far too much."""
    text = " ".join(question.split())
    if all(category(character) in _INVISIBLE for character in text):
        raise UsageError("The question is empty.", hint=_EXAMPLE)
    if not any(category(character)[0] in "LN" for character in text):
        raise UsageError("The question has no words.", hint=_EXAMPLE)
    if len(text) > MOST_CHARACTERS:
        raise UsageError(
            f"The question has {len(text)} characters; at most {MOST_CHARACTERS} are supported.",
            hint="Ask the question alone, without the text it is about.",
        )
    return text


def _replayed(result: SearchResult, log: StageLog) -> SearchResult:
    """A cached result; its later stages are those of the first search, and took no time now."""
    before = tuple(stage.model_copy(update={"took_ms": 0.0}) for stage in result.stages[1:])
    return replace(result, stages=(*log.stages, *before))
