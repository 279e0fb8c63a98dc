"""Evaluate a collection by generated questions, and compare profiles on a caller's own queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import fmean
from threading import Event
from time import perf_counter
from typing import Annotated

from elt_llm_core.errors import UsageError
from elt_llm_core.results import ResultModel, RetrievedChunk
from elt_llm_core.settings.tree import QuerySettings, Settings
from elt_llm_core.utilities import nearest_names
from elt_llm_query.engine import Engine
from elt_llm_query.evaluate.metrics import measure_ranking, percentile
from elt_llm_query.evaluate.runner import for_evaluation, rank_documents
from elt_llm_query.search import SearchPipeline
from pydantic import Field, StrictInt

from elt_llm_api.serve.access.principal import Principal, ReadableCollection
from elt_llm_api.serve.actions.questions import CollectionNames, QuestionActions, QuestionRequest, raise_if_abandoned
from elt_llm_api.serve.services import RequestModel, ServiceActions

MOST_QUESTIONS = 1000
MOST_EVALUATED_PROFILES = 5


class EvaluationRequest(RequestModel):
    """The collection and the profiles to evaluate, and the number of questions."""

    collection: str = Field(min_length=1, max_length=100, description="Collection to ask.", examples=["samples"])
    profiles: tuple[str, ...] = Field(
        (),
        max_length=MOST_EVALUATED_PROFILES,
        description="Profiles to measure. If empty: each retriever alone, both together, `default` and `classic`.",
        examples=[[]],
    )
    questions: StrictInt = Field(200, ge=1, le=MOST_QUESTIONS, description="Largest number of questions to generate.")
    seed: StrictInt = Field(1, ge=0, le=2**31, description="Another seed generates other questions.")


MOST_QUERIES, MOST_COMPARED_PROFILES, MOST_COMPARED, LONGEST_QUERY = 50, 5, 50, 4000
METRIC_NAMES = ("ndcg@10", "recall@10", "mrr@10")


ChunkKey = tuple[str, str]
"""A collection and a node id."""
Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
DocumentLabel = Annotated[str, Field(min_length=1, max_length=4000)]


@dataclass(frozen=True)
class ProfileComparisonRequest:
    """A request to compare profiles: the profiles, and the queries for the comparison."""

    queries: Annotated[
        tuple[Query, ...], Field(min_length=1, max_length=MOST_QUERIES, description="Questions to search for, 1 to 50.")
    ]
    labels: Annotated[
        dict[Query, Annotated[tuple[DocumentLabel, ...], Field(max_length=1000)]] | None,
        Field(
            max_length=MOST_QUERIES,
            description="Relevant documents (id, path, name or title) by query, which is one of `queries`.",
        ),
    ] = None
    collections: CollectionNames = ()
    profiles: Annotated[
        tuple[Annotated[str, Field(max_length=200)], ...],
        Field(min_length=1, max_length=MOST_COMPARED_PROFILES, description="Profiles to compare, 1 to 5."),
    ] = ("default",)
    top_k: Annotated[int, Field(ge=1, le=MOST_COMPARED, description="Number of chunks to compare.")] = 10


class RerankingEffect(ResultModel):
    """The effect of reranking on the first chunks of one query, or on average over all queries."""

    overlap: float = Field(description="Share of the first chunks that are also first without reranking, 0 to 1.")
    moved: float = Field(description="Mean change of rank of the chunks that are first with and without reranking.")
    first_changed: float = Field(description="Share of queries whose best chunk changes, 0 to 1.")


class QueryMetrics(ResultModel):
    """The results of one query with one profile."""

    query: str
    relevance: float | None = Field(description="Mean score of the first chunks; unset if scores are not comparable.")
    agreement: float = Field(description="Share of the first profile's first chunks that this one also has, 0 to 1.")
    cosine: float | None = Field(description="Mean cosine of the first chunks to the query.")
    took_ms: float = Field(description="Search time in milliseconds.")
    figures: dict[str, float] = Field(description="Metrics of the labelled documents; empty without labels.")
    figures_before: dict[str, float] = Field(description="The same metrics without reranking.")
    reranking: RerankingEffect | None = Field(description="None if the profile does not rerank.")


class ProfileMetrics(ResultModel):
    """The results of all queries with one profile."""

    profile: str
    relevance: float | None = Field(
        description="Mean score of the first chunks; unset if the compared profiles compute scores in different ways."
    )
    agreement: float = Field(description="Share of the first profile's first chunks that this one also has, 0 to 1.")
    cosine: float | None = Field(
        description="Mean cosine of the first chunks to their query; high for profiles that rank by cosine."
    )
    latency_p50_ms: float = Field(description="Median of the search time, in milliseconds.")
    latency_p95_ms: float = Field(description="95th percentile of the search time, in milliseconds.")
    figures: dict[str, float] = Field(description="Mean ndcg@10, recall@10 and mrr@10 of labelled queries, 0 to 1.")
    figures_before: dict[str, float] = Field(description="The same metrics without reranking.")
    reranking: RerankingEffect | None = Field(description="None if the profile does not rerank.")
    queries: tuple[QueryMetrics, ...]
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")


class ProfileComparisonActions(ServiceActions):
    """Compares profiles on the caller's queries, by the metrics of `elt-llm eval`."""

    async def compare(self, principal: Principal, request: ProfileComparisonRequest) -> list[ProfileMetrics]:
        """Return the metrics of each profile, in the requested order.

        All profiles search the same collections. Mean scores are left out if the profiles compute scores in different
        ways. A first search is not measured, because it also loads models. Raises Forbidden, ServerOverloaded,
        UsageError for labels of an unknown query or document and for profiles with different collections, and search
        errors.
        """
        return await self._services.workers.run(lambda abandoned: self._compare(principal, request, abandoned))

    def _compare(
        self, principal: Principal, request: ProfileComparisonRequest, abandoned: Event
    ) -> list[ProfileMetrics]:
        scope = self._common_scope(principal, request)
        settings = {name: for_evaluation(self._services.active.settings_for(name)) for name in request.profiles}
        same_scores = len({_score_settings(one.query) for one in settings.values()}) == 1
        results: list[ProfileMetrics] = []
        first_chunks: dict[str, frozenset[ChunkKey]] = {}
        for profile in request.profiles:
            with self._services.engines.lend(scope, profile) as engine:
                queries, notes = self._measure(engine, settings[profile], request, first_chunks, abandoned)
            if not same_scores:
                queries = [one.model_copy(update={"relevance": None}) for one in queries]
            results.append(_profile_metrics(profile, queries, notes))
        return results

    def _common_scope(self, principal: Principal, request: ProfileComparisonRequest) -> tuple[ReadableCollection, ...]:
        """Return the collections that every profile searches. Raises UsageError if the profiles name different ones."""
        requests = [
            QuestionRequest(question=request.queries[0], collections=request.collections, profile=profile)
            for profile in request.profiles
        ]
        scopes = {QuestionActions(self._services).scope(principal, one) for one in requests}
        if len(scopes) > 1:
            raise UsageError(
                "These profiles search different collections, so their results cannot be compared.",
                hint="Name the collections that all of them should search.",
            )
        return scopes.pop()

    def _measure(
        self,
        engine: Engine,
        settings: Settings,
        request: ProfileComparisonRequest,
        first_chunks: dict[str, frozenset[ChunkKey]],
        abandoned: Event,
    ) -> tuple[list[QueryMetrics], tuple[str, ...]]:
        """Return the metrics of each query, and the notes.

        The best chunks of the first profile are added to `first_chunks`, with which later profiles are compared.
        """
        grades = _relevance_grades(engine, request)
        reranks = _reranks(settings.query)
        unranked = settings.model_copy(update={"query": settings.query.model_copy(update={"use_reranker": False})})
        embeddings = [self._services.embedding]
        with (
            SearchPipeline(engine.generations, embeddings, settings, llm=engine.llm) as search,
            SearchPipeline(engine.generations, embeddings, unranked, llm=engine.llm) as search_unranked,
        ):
            search.search(request.queries[0])
            queries, notes = [], dict[str, None]()
            for query in request.queries:
                raise_if_abandoned(abandoned)
                started = perf_counter()
                result = search.search(query, top_k=search.most_candidates)
                took_ms = (perf_counter() - started) * 1000
                before = search_unranked.search(query, top_k=search.most_candidates).chunks if reranks else None
                metrics = _query_metrics(query, result.chunks, before, request.top_k, grades.get(query, {}))
                keys = frozenset((chunk.collection, chunk.node_id) for chunk in result.chunks[: request.top_k])
                common = first_chunks.setdefault(query, keys)
                agreement = len(keys & common) / len(common) if common else 1.0
                queries.append(metrics.model_copy(update={"took_ms": took_ms, "agreement": agreement}))
                notes.update(dict.fromkeys(result.notes))
        return queries, tuple(notes)


def _reranks(query: QuerySettings) -> bool:
    return query.use_reranker and query.reranker_strategy != "none"


def _score_settings(query: QuerySettings) -> tuple[object, ...]:
    """Return the settings that determine the scale of scores. If they are equal in two profiles, so are the scales."""
    if _reranks(query):
        return query.strategy, query.reranker_strategy, query.reranker_model, query.rerank_weight
    return query.strategy, query.fusion, query.dense_weight, query.use_hybrid_search


def _query_metrics(
    query: str,
    chunks: Sequence[RetrievedChunk],
    before: Sequence[RetrievedChunk] | None,
    top_k: int,
    grades: Mapping[str, int],
) -> QueryMetrics:
    first = chunks[:top_k]
    cosines = [chunk.cosine for chunk in first if chunk.cosine is not None]
    return QueryMetrics(
        query=query,
        relevance=fmean(chunk.score for chunk in first) if first else 0.0,
        agreement=1.0,
        cosine=fmean(cosines) if cosines else None,
        took_ms=0.0,
        figures=_chunk_metrics(chunks, grades),
        figures_before=_chunk_metrics(chunks if before is None else before, grades),
        reranking=None if before is None else _reranking_effect(first, before[:top_k]),
    )


def _chunk_metrics(chunks: Sequence[RetrievedChunk], grades: Mapping[str, int]) -> dict[str, float]:
    if not grades:
        return {}
    figures = measure_ranking(rank_documents(chunks), grades)
    return {name: figures[name] for name in METRIC_NAMES}


def _reranking_effect(after: Sequence[RetrievedChunk], before: Sequence[RetrievedChunk]) -> RerankingEffect:
    ranks = {(chunk.collection, chunk.node_id): rank for rank, chunk in enumerate(before)}
    keys = [(chunk.collection, chunk.node_id) for chunk in after]
    moves = [abs(rank - ranks[key]) for rank, key in enumerate(keys) if key in ranks]
    return RerankingEffect(
        overlap=len(moves) / len(keys) if keys else 1.0,
        moved=fmean(moves) if moves else 0.0,
        first_changed=float(bool(keys) and ranks.get(keys[0]) != 0),
    )


def _profile_metrics(profile: str, queries: Sequence[QueryMetrics], notes: tuple[str, ...]) -> ProfileMetrics:
    times = [one.took_ms for one in queries]
    cosines = [one.cosine for one in queries if one.cosine is not None]
    scores = [one.relevance for one in queries if one.relevance is not None]
    effects = [one.reranking.model_dump() for one in queries if one.reranking]
    return ProfileMetrics(
        profile=profile,
        relevance=fmean(scores) if scores else None,
        agreement=fmean(one.agreement for one in queries),
        cosine=fmean(cosines) if cosines else None,
        latency_p50_ms=percentile(times, 0.5),
        latency_p95_ms=percentile(times, 0.95),
        figures=_mean_values([one.figures for one in queries if one.figures]),
        figures_before=_mean_values([one.figures_before for one in queries if one.figures]),
        reranking=RerankingEffect(**_mean_values(effects)) if effects else None,
        queries=tuple(queries),
        notes=notes,
    )


def _mean_values(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: fmean(row[name] for row in rows) for name in rows[0]} if rows else {}


def _relevance_grades(engine: Engine, request: ProfileComparisonRequest) -> dict[str, dict[str, int]]:
    """Return the paths of the labelled documents of each query, all with grade 1.

    A label is the id, the path, the file name or the title of a document. Raises UsageError for an unknown document.
    """
    if not request.labels:
        return {}
    unknown = next((query for query in request.labels if query not in request.queries), None)
    if unknown is not None:
        raise UsageError(
            f"A label names the query '{unknown[:100]}', which is not among the queries.",
            hint="Write the query of a label as in the list of queries.",
        )
    paths: dict[str, set[str]] = {}
    for generation in engine.generations:
        for document in generation.documents():
            names = document.document_id, document.source, PurePosixPath(document.source).name, document.title
            for name in names:
                paths.setdefault(name, set()).add(document.source)
    for name in (name for names in request.labels.values() for name in names if name not in paths):
        hint = nearest_names(name, sorted(paths))
        raise UsageError(f"There is no document '{name[:200]}', which a label names.", hint=hint)
    return {query: {path: 1 for name in names for path in paths[name]} for query, names in request.labels.items()}
