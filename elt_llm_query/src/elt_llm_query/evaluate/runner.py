"""Evaluate profiles on labelled questions over one generation."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from elt_llm_core.index.searchable import Searchable
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import ProgressListener, SilentListener
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings.profiles import built_in_profiles
from elt_llm_core.settings.tree import QuerySettings, Settings

from elt_llm_query.evaluate.datasets import Dataset
from elt_llm_query.evaluate.metrics import MEASURES, measure_ranking, percentile
from elt_llm_query.evaluate.reports import ProfileReport, QuestionResult
from elt_llm_query.search import SearchPipeline

DEPTH = 100  # ranks


def comparison_profiles(settings: Settings) -> dict[str, Settings]:
    """Return the profiles to compare: each retriever alone, both fused, the given settings, the profile `classic`."""
    return {
        "bm25": _with(settings, strategy="sparse", use_reranker=False),
        "dense": _with(settings, strategy="dense", use_reranker=False),
        "fusion": _with(settings, strategy="hybrid", use_reranker=False),
        "default": settings,
        "classic": built_in_profiles()["classic"].apply_to(settings),
    }


def with_strategy(settings: Settings, name: str) -> Settings:
    """Return a copy of the settings with the strategy `name`. Raises ValueError for an unknown name."""
    return _with(settings, strategy=name)


def for_evaluation(settings: Settings) -> Settings:
    """Return settings that measure only the ranking: at least 100 candidates per retriever, no shaping, no cache."""
    return _with(
        settings,
        retriever_top_k=max(DEPTH, settings.query.retriever_top_k),
        min_relevance_score=0.0,
        near_duplicate_cosine=1.0,
        max_per_source=0,
        read_parents=False,
        merge_adjacent=False,
        widen_sentences=0,
        cache_size=0,
    )


def _with(settings: Settings, **changed: object) -> Settings:
    query = QuerySettings.model_validate({**settings.query.model_dump(), **changed})
    return settings.model_copy(update={"query": query})


@dataclass(frozen=True)
class EvaluationQuestion:
    """A question to evaluate. `rank` converts chunks to ranked document ids; `grades` maps relevant ids to grades."""

    identity: str
    text: str
    grades: Mapping[str, int]
    rank: Callable[[Sequence[RetrievedChunk]], list[str]]
    kind: str = ""


def evaluate(
    dataset: Dataset,
    generation: Searchable,
    embedding: EmbeddingModel,
    profiles: Mapping[str, Settings],
    corpus_ids: Mapping[str, str] | None = None,
    progress: ProgressListener | None = None,
) -> list[ProfileReport]:
    """Evaluate profiles on a dataset stored in `generation`. `corpus_ids` maps a source to its id in the dataset."""
    named = corpus_ids or {}

    def rank(chunks: Sequence[RetrievedChunk]) -> list[str]:
        return [named.get(source, source) for source in rank_documents(chunks)]

    questions = [EvaluationQuestion(identity, text, grades, rank) for identity, text, grades in dataset.identified()]
    return measure_profiles(dataset.name, questions, generation, embedding, profiles, progress)


def measure_profiles(
    name: str,
    questions: Iterable[EvaluationQuestion],
    generation: Searchable,
    embedding: EmbeddingModel,
    profiles: Mapping[str, Settings],
    progress: ProgressListener | None = None,
) -> list[ProfileReport]:
    """Search for all questions with each profile, and measure the rankings. `questions` must not be empty.

    Each retriever is asked for at least 100 candidates, even if the profile sets fewer, so searches may take longer
    than usual. The reported times include this.
    """
    listed, listener = list(questions), progress or SilentListener()
    listener.stage("ask", len(listed) * len(profiles))
    reports = []
    for profile, settings in profiles.items():
        with SearchPipeline([generation], [embedding], for_evaluation(settings)) as pipeline:
            reports.append(_measure(name, profile, listed, pipeline, listener))
    return reports


def rank_documents(chunks: Sequence[RetrievedChunk], depth: int = DEPTH) -> list[str]:
    """Return sources in the order of their best chunks, each followed by other sources with the same text."""
    ranked: dict[str, None] = {}
    for chunk in chunks:
        ranked.setdefault(chunk.source)
        for alternate in chunk.metadata.get("alternates", ()):
            ranked.setdefault(alternate["source"])
    return list(ranked)[:depth]


def _measure(
    name: str,
    profile: str,
    questions: Sequence[EvaluationQuestion],
    pipeline: SearchPipeline,
    progress: ProgressListener,
) -> ProfileReport:
    results: list[QuestionResult] = []
    notes: dict[str, None] = {}
    for question in questions:
        started = time.perf_counter()
        found = pipeline.search(question.text, top_k=pipeline.most_candidates)
        took_ms = (time.perf_counter() - started) * 1000
        ranked = question.rank(found.chunks)
        ranks = {key: rank for rank, key in enumerate(ranked, 1) if key in question.grades}
        relevant = {key: ranks.get(key) for key in question.grades}
        figures = measure_ranking(ranked, question.grades)
        results.append(QuestionResult(question.identity, question.text, question.kind, figures, relevant, took_ms))
        notes.update(dict.fromkeys(found.notes))
        progress.advance(detail=profile)
    times = [result.took_ms for result in results]
    return ProfileReport(
        dataset=name,
        profile=profile,
        figures={measure: fmean(result.figures[measure] for result in results) for measure in MEASURES},
        latency_p50_ms=percentile(times, 0.5),
        latency_p95_ms=percentile(times, 0.95),
        notes=tuple(notes),
        results=tuple(results),
    )
