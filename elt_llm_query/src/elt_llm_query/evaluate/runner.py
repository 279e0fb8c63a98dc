"""Measuring profiles on questions whose right places are known, asked of one generation."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import Progress, SilentProgress
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.settings import Settings

from elt_llm_query.evaluate.datasets import Dataset
from elt_llm_query.evaluate.metrics import MEASURES, measured, percentile
from elt_llm_query.evaluate.profiles import DEPTH, for_evaluation
from elt_llm_query.evaluate.reports import AskedResult, ProfileReport
from elt_llm_query.retrieve.pipeline import PassageFinder
from elt_llm_query.retrieve.searchable import Searchable


@dataclass(frozen=True)
class Asked:
    """One question to measure with. `rank` turns passages, best first, into keys, some of which `grades` may hold."""

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
    progress: Progress | None = None,
) -> list[ProfileReport]:
    """One report per profile, in order.

    The generation holds the set's corpus, one document each, whose `source` is the corpus id, or is turned into it by
    `corpus_ids`. 100 documents are ranked, each by its best chunk.
    """
    rank = partial(_corpus_ids, named=corpus_ids or {})
    asked = [Asked(identity, text, grades, rank) for identity, text, grades in dataset.identified()]
    return measure_profiles(dataset.name, asked, generation, embedding, profiles, progress)


def measure_profiles(
    name: str,
    questions: Iterable[Asked],
    generation: Searchable,
    embedding: EmbeddingModel,
    profiles: Mapping[str, Settings],
    progress: Progress | None = None,
) -> list[ProfileReport]:
    """One report per profile, in order, on one or more questions.

    Both legs are asked for at least 100; the time of a question is that of finding so many passages.
    """
    asked, told = list(questions), progress or SilentProgress()
    told.stage("ask", len(asked) * len(profiles))
    return [
        _measure(name, profile, asked, PassageFinder([generation], [embedding], for_evaluation(settings)), told)
        for profile, settings in profiles.items()
    ]


def rank_documents(chunks: Sequence[RetrievedChunk], depth: int = DEPTH) -> list[str]:
    """Corpus ids in the order of their best chunk, other places of a chunk's text right behind it."""
    ranked: dict[str, None] = {}
    for chunk in chunks:
        ranked.setdefault(chunk.source)
        for alternate in chunk.metadata.get("alternates", ()):
            ranked.setdefault(alternate["source"])
    return list(ranked)[:depth]


def _corpus_ids(chunks: Sequence[RetrievedChunk], named: Mapping[str, str]) -> list[str]:
    return [named.get(source, source) for source in rank_documents(chunks)]


def _measure(
    name: str, profile: str, questions: Sequence[Asked], opened: PassageFinder, progress: Progress
) -> ProfileReport:
    results: list[AskedResult] = []
    notes: dict[str, None] = {}
    with opened as finder:
        for asked in questions:
            begun = time.perf_counter()
            found = finder.find(asked.text, top_k=finder.most_candidates)
            results.append(_result(asked, found.chunks, (time.perf_counter() - begun) * 1000))
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


def _result(asked: Asked, chunks: Sequence[RetrievedChunk], took_ms: float) -> AskedResult:
    ranked = asked.rank(chunks)
    places = {key: rank for rank, key in enumerate(ranked, 1) if key in asked.grades}
    return AskedResult(
        identity=asked.identity,
        question=asked.text,
        kind=asked.kind,
        figures=measured(ranked, asked.grades),
        relevant={key: places.get(key) for key in asked.grades},
        took_ms=took_ms,
    )
