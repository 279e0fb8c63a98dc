"""The search: understand the question, then retrieve, fuse, rerank and shape the chunks for it.

`SearchPipeline.search` reads top to bottom: understand, filter, run the strategy, shape. A strategy runs one or more
passes. `SearchPass.run` is one pass: route, embed, retrieve, fuse, rerank. Each step is a stage of the trace.
"""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any
from unicodedata import category

import numpy as np
from elt_llm_core.errors import EltError, RetrievalError, SettingsError, UsageError
from elt_llm_core.index.searchable import AllowedChunks, Searchable
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import RetrievedChunk, TraceStage
from elt_llm_core.settings.tree import STRATEGIES, QuerySettings, Settings, StrategyName
from elt_llm_core.utilities import Closeable, check_type
from llama_index.core.llms import LLM

from elt_llm_query.rerank import create_reranker
from elt_llm_query.rerank.reranker import (
    AdaptedWeights,
    ModelSources,
    Reranker,
    RerankResult,
    applied_weights,
    check_ranking,
    reranker_identity,
)
from elt_llm_query.retrieve.cache import QueryCaches
from elt_llm_query.retrieve.filters import Condition, FilterLimits, filter_limits, parse_conditions
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
    PoolScale,
    RerankDetails,
    RetrieveDetails,
    RouteDetails,
    ShapeDetails,
    StageLog,
    UnderstandDetails,
)
from elt_llm_query.shape.shaper import ChunkShaper
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases
from elt_llm_query.understanding.analysis import QuestionAnalyser, apply_filters
from elt_llm_query.understanding.routing import CollectionRouter
from elt_llm_query.understanding.strategies import create_strategy
from elt_llm_query.understanding.strategies.strategy import PassRunner, Strategy

MOST_THREADS = 16
MOST_CHARACTERS = 4000  # of a question
_INVISIBLE = ("Cc", "Cf", "Zs")  # Unicode categories of control characters, signs without width, and spaces
_EXAMPLE = "Ask in words, such as: Who approves leave?"


@dataclass(frozen=True)
class SearchResult:
    """The chunks for one question, best first, and the trace of the search."""

    chunks: tuple[RetrievedChunk, ...]
    stages: tuple[TraceStage, ...]
    notes: tuple[str, ...]
    searched_for: str = ""  # the question with its spelling corrected
    failed: bool = False  # such a result is not cached, because a retry may succeed


class SearchPipeline(Closeable):
    """A search over pinned generations. Retrievers, reranker and strategies are built once and serve many threads.

    `embeddings` contains a model for each fingerprint among the generations. Several pipelines may share `caches`,
    whose keys contain the generations, settings and models; by default the pipeline has its own caches. `llm` is for
    rerankers and strategies that call a language model. `aliases` are alternative names to search for.
    Raises FingerprintMismatch if a generation's embedding model is missing from `embeddings`, and ModelError or
    SettingsError if the reranker's model cannot be used.
    """

    def __init__(
        self,
        generations: Sequence[Searchable],
        embeddings: Sequence[EmbeddingModel],
        settings: Settings,
        *,
        make_reranker: Callable[[QuerySettings], Reranker] | None = None,
        llm: LLM | None = None,
        caches: QueryCaches[SearchResult] | None = None,
        aliases: Aliases = NO_ALIASES,
    ) -> None:
        query = self.query = settings.query
        self._generations = tuple(generations)
        try:
            self._where = tuple(parse_conditions(query.where))
        except UsageError as error:
            raise SettingsError(f"query.where: {error}", hint=error.hint) from error
        self.caches = caches or QueryCaches(query.cache_size, query.cache_ttl)
        threads = max(1, min(MOST_THREADS, 2 * len(generations)))
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="retrieval")
        self.collections = open_collections(generations, embeddings, query, self._executor)
        check_type("make_reranker", make_reranker or create_reranker, Callable, "a function that returns a reranker")
        make = make_reranker or partial(create_reranker, sources=ModelSources.of(settings, llm))
        self.reranker = make(query)
        check_type("The result of make_reranker", self.reranker, Reranker, "a Reranker such as ModelReranker(scorer)")
        self._strategies: dict[str, Strategy] = {name: create_strategy(name, query, llm) for name in STRATEGIES}
        self.analyser = QuestionAnalyser(generations, query, aliases)
        self.router = CollectionRouter(self.collections, query.route_above, query.route_to)
        self._shaper = ChunkShaper(self.collections, query, settings.llm.max_context_tokens)
        states = tuple((one.identity, *one.notes) for one in generations)
        self.key: Hashable = (states, settings.model_dump_json(), aliases, *reranker_identity(self.reranker))
        """A cache key. Two pipelines with equal keys return equal results for every question."""

    def search(
        self,
        question: str,
        *,
        top_k: int | None = None,
        where: Sequence[str] = (),
        strategy: StrategyName | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> SearchResult:
        """Return at most `top_k` chunks, best first, that fulfil all filters in `where` and the settings.

        By default, `top_k` and `strategy` are those of the settings. Once `cancelled` returns True, model calls of the
        search stop, and the result is not cached. Raises UsageError for a question without words, an unknown strategy,
        a `top_k` below 1 and invalid filters, RetrievalError if every retriever of every collection failed.
        """
        if top_k is not None and top_k < 1:
            raise UsageError(f"top_k is {top_k}; at least 1 chunk is returned.", hint="Pass 1 or more, or None.")
        conditions = (*self._where, *parse_conditions(where))
        chosen = self._strategies.get(strategy or self.query.strategy)
        if chosen is None:
            known_names = ", ".join(sorted(self._strategies))
            raise UsageError(f"There is no strategy '{strategy}'.", hint=f"Strategies are: {known_names}.")
        log = StageLog()
        with log.stage(UnderstandDetails.stage) as stage:
            text = normalise_question(question)
            key = (self.key, chosen.name, text, top_k, conditions)
            cached = self.caches.results.get(key)
            cache = {"hit": cached is not None, **asdict(self.caches.results.counts)}
            allowed = (lambda: filter_limits(conditions, self._generations).allowed) if conditions else None
            known = cached or self.analyser.analyse(text, conditions, allowed)
            details = UnderstandDetails.of(known.stages[0]) if isinstance(known, SearchResult) else known
            stage.record(0, replace(details, question=text, strategy=chosen.name, cache=cache))
        if isinstance(known, SearchResult):
            # The stages after the first come from the cached search, so they took no time in this search.
            before = tuple(stage.model_copy(update={"took_ms": 0.0}) for stage in known.stages[1:])
            return replace(known, stages=(*log.stages, *before))
        result = self._search(known, chosen, top_k, conditions, log, cancelled)
        if not result.failed:
            self.caches.results.put(key, result)
        return result

    def _search(
        self,
        analysis: UnderstandDetails,
        strategy: Strategy,
        top_k: int | None,
        conditions: Sequence[Condition],
        log: StageLog,
        cancelled: Callable[[], bool] | None,
    ) -> SearchResult:
        query, limits = self.query, self._filter(analysis, conditions, log)
        passes = SearchPass(self, limits, log, cancelled)
        reranked = strategy.search(QueryVariant(analysis.question), passes)
        with log.stage(ShapeDetails.stage) as stage:
            most = top_k or (query.similarity_top_k if self.reranker.name == "none" else query.reranker_top_k)
            shaped, more = self._shaper.shape(reranked.candidates, most, stage, to_read=top_k is None, limits=limits)
        notes = (
            *(
                f"No document has the word '{typed}'; '{meant}' was searched for instead."
                for typed, meant in analysis.corrected.items()
            ),
            *(note for one in self.collections for note in one.generation.notes),
            *self.reranker.notes,
            *strategy.notes,
            *passes.notes,
            *passes.failures,
            *reranked.notes,
            *(limits.notes if limits else ()),
            *more,
        )
        chunks = tuple(chunk.to_chunk() for chunk in shaped)
        failed = bool(passes.failures)
        return SearchResult(chunks, log.stages, tuple(dict.fromkeys(notes)), analysis.question, failed)

    def _filter(
        self, analysis: UnderstandDetails, conditions: Sequence[Condition], log: StageLog
    ) -> FilterLimits | None:
        """Return the chunks that fulfil the given and suggested conditions, or None if there are no conditions."""
        suggested = analysis.suggested if self.query.filters_from_question == "apply" else ()
        if not conditions and not suggested:
            return None
        with log.stage(FilterDetails.stage) as stage:
            limits, applied = apply_filters(conditions, suggested, self._generations)
            left = {one.name: own.count for one, own in zip(self.collections, limits.allowed, strict=True)}
            of_all = {one.name: one.generation.size for one in self.collections}
            stage.record(sum(left.values()), FilterDetails(where=list(map(str, applied)), left=left, of_all=of_all))
        return limits

    @property
    def most_candidates(self) -> int:
        """The greatest number of chunks that the retrievers of all collections can return together."""
        return 2 * self.query.retriever_top_k * max(1, len(self.collections))

    def close(self) -> None:
        """Stop the retrieval threads. The caller closes the generations and the models."""
        self._executor.shutdown(wait=True)


class SearchPass(PassRunner):
    """Runs the search passes for one question over a pipeline's collections."""

    def __init__(
        self, pipeline: SearchPipeline, limits: FilterLimits | None, log: StageLog, cancelled: Callable[[], bool] | None
    ) -> None:
        super().__init__(pipeline.collections, log, cancelled)
        self._pipeline = pipeline
        self._allowed = limits.allowed if limits else None
        self.notes: list[str] = []
        """Notes on collections that the search passes so far left out."""

    def run(self, variant: QueryVariant, retrievers: RetrieverChoice) -> RerankResult:
        """Return all candidates, reranked for the variant's text. Raises RetrievalError if every retriever failed."""
        variant = self._pipeline.analyser.complete(variant)
        collections, allowed = self._route(variant)
        vectors = self._embed(variant, retrievers, collections)
        results = self._retrieve(variant, retrievers, vectors, collections, allowed)
        return self._rerank(variant.text, self._fuse(variant, retrievers, results, vectors))

    def _route(self, variant: QueryVariant) -> tuple[tuple[OpenCollection, ...], tuple[AllowedChunks, ...] | None]:
        """Choose the collections for this pass. Return them with their allowed chunks, and record them in a stage."""
        started = perf_counter()
        route = self._pipeline.router.route(variant, self._allowed)
        if route is None:
            return self.collections, self._allowed
        with self.log.stage(RouteDetails.stage, started) as stage:
            details = RouteDetails(
                question=variant.text,
                keywords=variant.keywords,
                collections=route.details,
                common_names=list(route.common_names),
            )
            stage.record(len(route.searched), details)
        self.notes += [route.note] if route.note else []
        chosen = tuple(self.collections[index] for index in route.searched)
        return chosen, tuple(self._allowed[index] for index in route.searched) if self._allowed else None

    def _embed(
        self, variant: QueryVariant, retrievers: RetrieverChoice, collections: Sequence[OpenCollection]
    ) -> dict[bytes, Vector]:
        """Return the question's vector for each embedding model. Raises RetrievalError if nothing can be searched."""
        embedded = collections if retrievers.dense or self._pipeline.reranker.needs_vector else ()
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
                cache=asdict(self._pipeline.caches.counts["embeddings"]),
            )
            stage.record(len(vectors), details)
        by_keywords = retrievers.keyword and not all(one.keywords_missing for one in collections)
        if failures and not by_keywords:
            raise RetrievalError(f"The question could not be embedded: {failures[0]}", hint=failures[0].hint)
        self.failures += [f"The question could not be embedded: {failure}" for failure in failures]
        return vectors

    def _vector(self, embedding: EmbeddingModel, variant: QueryVariant) -> Vector:
        vector = self._pipeline.caches.embed(embedding, variant.text)
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
        allowed: tuple[AllowedChunks, ...] | None,
    ) -> list[CollectionResults]:
        with self.log.stage(RetrieveDetails.stage) as stage:
            findable = [one.count for one in allowed] if allowed else [one.generation.size for one in collections]
            limits = retriever_budgets(findable, self._pipeline.query)
            results = retrieve_from_collections(variant, retrievers, collections, vectors, allowed, limits)
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
        self.failures += [note for one in results for note in one.notes]
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
            weight = adapted_dense_weight(self._pipeline.query.dense_weight, variant.likeness)
            details = FuseDetails(
                method=self._pipeline.query.fusion,
                weights={"dense": weight, "keyword": 1.0 - weight} if retrievers == BOTH_RETRIEVERS else None,
                collections={
                    pool.collection.name: [(candidate.node_id, candidate.fused_score) for candidate in pool.candidates]
                    for pool in pools
                },
            )
            stage.record(sum(len(pool.candidates) for pool in pools), details)
        return pools

    def _rerank(self, question: str, pools: list[Pool]) -> RerankResult:
        reranker, query = self._pipeline.reranker, self._pipeline.query
        with self.log.stage(RerankDetails.stage) as stage:
            read = cut_to_budget(pools, query) if reranker.calls_model else pools
            reranked = check_ranking(reranker.name, read, reranker.rerank(question, read, self.cancelled))
            weights = AdaptedWeights(query.rerank_weight, query.rerank_weight)
            if all(score is None for _, score in reranked.model_scores):
                weights = applied_weights(query.rerank_weight, read, reranked.candidates)
            details = RerankDetails(
                question=question,
                method=reranker.name,
                weight=weights.by_coverage,
                ranking=[(candidate.node_id, candidate.score) for candidate in reranked.candidates],
                parts=[(candidate.node_id, candidate.parts()) for candidate in reranked.candidates],
                collections={pool.collection.name: _pool_scale(pool, weights) for pool in read},
                model_scores=list(reranked.model_scores) if reranker.calls_model else None,
                **(_budget(pools, read) if reranker.calls_model else {}),
            )
            stage.record(len(reranked.candidates), details)
        self.failures += reranked.notes
        return reranked


def _pool_scale(pool: Pool, weights: AdaptedWeights) -> PoolScale:
    scale = PoolScale(
        candidates=len(pool.candidates),
        attainable=pool.attainable if pool.uses_keywords else None,
        embedding=None if pool.vector is None else str(pool.collection.embedding.fingerprint),
    )
    own = weights.of(pool)
    return scale if own == weights.by_coverage else {**scale, "weight": own}


def _budget(pools: Sequence[Pool], read: Sequence[Pool]) -> dict[str, Any]:
    pairs = list(zip(pools, read, strict=True))
    return {
        "budget": {
            cut.collection.name: {"read": len(cut.candidates), "brought": len(pool.candidates)} for pool, cut in pairs
        },
        "beyond_budget": [
            candidate.node_id for pool, cut in pairs for candidate in pool.candidates[len(cut.candidates) :]
        ],
    }


def normalise_question(question: str) -> str:
    """Collapse the white space of a question. Raises UsageError if the question has no words or is too long."""
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
