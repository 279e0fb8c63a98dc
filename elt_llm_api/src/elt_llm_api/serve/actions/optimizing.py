"""Comparing profiles on a list of queries: what they find, how long it takes, and what reranking changes."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from statistics import fmean
from threading import Event as Flag
from time import perf_counter
from typing import TYPE_CHECKING

from elt_llm_core.errors import UsageError
from elt_llm_core.nearest_names import nearest_names
from elt_llm_core.results import Result, RetrievedChunk
from elt_llm_core.settings import Settings
from elt_llm_query.evaluate.metrics import measured, percentile
from elt_llm_query.evaluate.profiles import for_evaluation
from elt_llm_query.evaluate.runner import rank_documents
from pydantic import BaseModel, ConfigDict, Field

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.asking import Abandoned, Asking, Question
from elt_llm_api.serve.services import Services

if TYPE_CHECKING:
    from elt_llm_query.engine import Engine
    from elt_llm_query.retrieve.pipeline import PassageFinder

MOST_QUERIES, MOST_PROFILES, MOST_COMPARED, LONGEST_QUERY = 50, 5, 50, 4000
FIGURES = ("ndcg@10", "recall@10", "mrr@10")


class OptimizeRequest(BaseModel):
    """What to compare, and on what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    queries: tuple[str, ...] = Field(min_length=1, max_length=MOST_QUERIES)
    labels: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    collections: tuple[str, ...] = ()
    profiles: tuple[str, ...] = Field(("default",), min_length=1, max_length=MOST_PROFILES)
    top_k: int = Field(10, ge=1, le=MOST_COMPARED)


class Compared(Result):
    """What reranking changes among the first passages of a query, or of all of them on the mean."""

    overlap: float = Field(description="Share of the first passages that would be there without it, too; 0 to 1.")
    moved: float = Field(description="By how many places a passage that is there in both stands elsewhere.")
    first_changed: float = Field(description="Share of queries whose best passage is another, 0 to 1.")


class QueryFigures(Result):
    """One query asked with one profile."""

    query: str
    relevance: float = Field(description="Mean score of the first passages.")
    cosine: float | None = Field(description="Mean cosine of the first passages to the query.")
    took_ms: float = Field(description="Time it took to find them, in milliseconds.")
    figures: dict[str, float] = Field(description="Measures of the labelled documents; empty without labels.")
    figures_before: dict[str, float] = Field(description="The same measures without reranking.")
    reranking: Compared | None = Field(description="None where nothing reranks.")


class ProfileFigures(Result):
    """One profile on all queries."""

    profile: str
    relevance: float = Field(description="Mean score of the first passages; comparable between equal rerankers alone.")
    cosine: float | None = Field(description="Mean cosine of the first passages to their query; comparable.")
    latency_p50_ms: float = Field(description="Half of the queries took no longer, in milliseconds.")
    latency_p95_ms: float = Field(description="19 of 20 queries took no longer, in milliseconds.")
    figures: dict[str, float] = Field(description="Mean ndcg@10, recall@10 and mrr@10 of labelled queries, 0 to 1.")
    figures_before: dict[str, float] = Field(description="The same measures without reranking.")
    reranking: Compared | None = Field(description="None where nothing reranks.")
    queries: tuple[QueryFigures, ...]
    notes: tuple[str, ...] = Field(description="Whatever was degraded, cut or left out, in sentences.")


class Optimizing:
    """Compares for callers, on what they may read. Figures are those of `elt-llm eval`, on the caller's queries."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def compare(self, principal: Principal, asked: OptimizeRequest) -> list[ProfileFigures]:
        """One entry for each profile, in order; the first question of each warms it up and is asked again.

        Raises Forbidden, Overloaded, UsageError for labels that name no query or no document, and what searching does.
        """
        return await self._services.workers.run(lambda gone: self._compare(principal, asked, gone))

    def _compare(self, principal: Principal, asked: OptimizeRequest, gone: Flag) -> list[ProfileFigures]:
        found = []
        for profile in asked.profiles:
            question = Question(question=asked.queries[0], collections=asked.collections, profile=profile)
            scope = Asking(self._services).scope(principal, question)
            with self._services.engines.lend(scope, profile) as engine:
                grades = _grades(engine, asked)
                found.append(self._measure(engine, profile, asked, grades, gone))
        return found

    def _measure(
        self,
        engine: "Engine",
        profile: str,
        asked: OptimizeRequest,
        grades: Mapping[str, Mapping[str, int]],
        gone: Flag,
    ) -> ProfileFigures:
        from elt_llm_query.retrieve.pipeline import PassageFinder

        settings = for_evaluation(self._services.in_force.settings_for(profile))
        embeddings = [self._services.embedding]
        plain = _not_reranked(settings)
        with (
            PassageFinder(engine.generations, embeddings, settings, llm=engine.llm) as finder,
            PassageFinder(engine.generations, embeddings, plain, llm=engine.llm) as unranked,
        ):
            finder.find(asked.queries[0])
            reranks = settings.query.use_reranker and settings.query.reranker_strategy != "none"
            queries, notes = [], dict[str, None]()
            for query in asked.queries:
                if gone.is_set():
                    raise Abandoned("Nobody waits for this any more.")
                one, said = _query(query, finder, unranked if reranks else None, asked.top_k, grades.get(query, {}))
                queries.append(one)
                notes.update(dict.fromkeys(said))
        return _profile(profile, queries, tuple(notes))


def _query(
    query: str, finder: "PassageFinder", unranked: "PassageFinder | None", top_k: int, grades: Mapping[str, int]
) -> tuple[QueryFigures, tuple[str, ...]]:
    begun = perf_counter()
    found = finder.find(query, top_k=finder.most_candidates)
    took_ms = (perf_counter() - begun) * 1000
    before = unranked.find(query, top_k=unranked.most_candidates).chunks if unranked else found.chunks
    first = found.chunks[:top_k]
    cosines = [chunk.cosine for chunk in first if chunk.cosine is not None]
    one = QueryFigures(
        query=query,
        relevance=fmean(chunk.score for chunk in first) if first else 0.0,
        cosine=fmean(cosines) if cosines else None,
        took_ms=took_ms,
        figures=_figures(found.chunks, grades),
        figures_before=_figures(before, grades),
        reranking=_compared(first, before[:top_k]) if unranked else None,
    )
    return one, found.notes


def _figures(chunks: Sequence[RetrievedChunk], grades: Mapping[str, int]) -> dict[str, float]:
    if not grades:
        return {}
    figures = measured(rank_documents(chunks), grades)
    return {name: figures[name] for name in FIGURES}


def _compared(now: Sequence[RetrievedChunk], before: Sequence[RetrievedChunk]) -> Compared:
    places = {(chunk.collection, chunk.node_id): place for place, chunk in enumerate(before)}
    keys = [(chunk.collection, chunk.node_id) for chunk in now]
    both = [abs(place - places[key]) for place, key in enumerate(keys) if key in places]
    return Compared(
        overlap=len(both) / len(keys) if keys else 1.0,
        moved=fmean(both) if both else 0.0,
        first_changed=float(bool(keys) and places.get(keys[0]) != 0),
    )


def _profile(profile: str, queries: Sequence[QueryFigures], notes: tuple[str, ...]) -> ProfileFigures:
    times = [one.took_ms for one in queries]
    cosines = [one.cosine for one in queries if one.cosine is not None]
    labelled = [one for one in queries if one.figures]
    compared = [one.reranking for one in queries if one.reranking]
    return ProfileFigures(
        profile=profile,
        relevance=fmean(one.relevance for one in queries),
        cosine=fmean(cosines) if cosines else None,
        latency_p50_ms=percentile(times, 0.5),
        latency_p95_ms=percentile(times, 0.95),
        figures={name: fmean(one.figures[name] for one in labelled) for name in FIGURES} if labelled else {},
        figures_before={name: fmean(one.figures_before[name] for one in labelled) for name in FIGURES}
        if labelled
        else {},
        reranking=Compared(
            overlap=fmean(one.overlap for one in compared),
            moved=fmean(one.moved for one in compared),
            first_changed=fmean(one.first_changed for one in compared),
        )
        if compared
        else None,
        queries=tuple(queries),
        notes=notes,
    )


def _not_reranked(settings: Settings) -> Settings:
    return settings.model_copy(update={"query": settings.query.model_copy(update={"use_reranker": False})})


def _grades(engine: "Engine", asked: OptimizeRequest) -> dict[str, dict[str, int]]:
    """For each labelled query the paths of its documents, all of grade 1."""
    if not asked.labels:
        return {}
    unknown = next((query for query in asked.labels if query not in asked.queries), None)
    if unknown is not None:
        raise UsageError(f"Labels name a query that is not asked: '{unknown[:100]}'.", hint="Use the same words.")
    named = _documents_by_name(engine)
    return {query: {path: 1 for name in names for path in _paths(name, named)} for query, names in asked.labels.items()}


def _documents_by_name(engine: "Engine") -> dict[str, set[str]]:
    """The paths of the documents that an id, a path, a file name or a title names."""
    named: dict[str, set[str]] = {}
    for generation in engine.generations:
        for document in generation.documents():
            names = document.document_id, document.source, PurePosixPath(document.source).name, document.title
            for name in names:
                named.setdefault(name, set()).add(document.source)
    return named


def _paths(name: str, named: Mapping[str, set[str]]) -> set[str]:
    if name not in named:
        raise UsageError(
            f"There is no document '{name[:200]}' to be relevant.", hint=nearest_names(name, sorted(named))
        )
    return named[name]
