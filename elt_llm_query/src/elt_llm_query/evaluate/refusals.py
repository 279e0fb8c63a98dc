"""Measure refusals: how well the confidence separates answerable from unanswerable questions.

Source of the risk-coverage curve and its area: Geifman and El-Yaniv, "Selective Classification for Deep Neural
Networks", NeurIPS 2017. Risk is the share of wrong answers among the answers, coverage the share of questions answered.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from elt_llm_core.index.searchable import Searchable
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import AnswerOutcome, RetrievedChunk
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.records import sha256
from elt_llm_core.utilities import Closeable

from elt_llm_query.evaluate.datasets import Dataset, read_answers, read_unanswerable
from elt_llm_query.evaluate.generated_questions import AnswerSpan, GeneratedQuestion
from elt_llm_query.evaluate.reports import rounded
from elt_llm_query.extractive.answerer import Answer, ExtractiveAnswerer
from elt_llm_query.extractive.confidence import (
    SHIPPED_THRESHOLDS,
    SHIPPED_WEIGHTS,
    ConfidenceWeights,
    OutcomeThresholds,
)
from elt_llm_query.grounding.sentences import collection_term_weights
from elt_llm_query.retrieve.cache import CachingEmbedding, DocumentTexts, LruCache
from elt_llm_query.search import SearchPipeline

_MOST_CACHED = 50_000  # vectors; about 80 MB at 384 numbers each

ANSWERABLE, UNANSWERABLE, FOREIGN, REMOVED = "answerable", "unanswerable", "foreign", "document removed"
MOST_READ = 8  # chunks that an answer is quoted from
FEWEST_LEFT = 3  # chunks that must be left after documents were removed; fewer are no test


@dataclass(frozen=True)
class RefusalQuestion:
    """A question for measuring refusals.

    `is_right` decides whether an answer is right, and is used only for answerable questions. The documents with the ids
    in `without` are ignored, so that a question that only they answer becomes unanswerable.
    """

    identity: str
    text: str
    kind: str
    is_right: Callable[[Answer], bool] = field(default=lambda _: False, compare=False)
    without: Collection[str] = ()


@dataclass(frozen=True)
class RefusalOutcome:
    """The result of one question: its confidence, 0 to 1, the evidence for it, and whether the quote is right.

    `certainty`, 0 to 1, is the chance that the best sentence answers the question.
    """

    question: RefusalQuestion
    confidence: float
    right: bool
    evidence: Mapping[str, float]
    thresholds: OutcomeThresholds = SHIPPED_THRESHOLDS
    certainty: float = 1.0

    @property
    def answered(self) -> bool:
        """Whether the confidence is high enough for an answer, certain or not."""
        return self.outcome != "not found"

    @property
    def outcome(self) -> AnswerOutcome:
        """The outcome that the profile's thresholds give this confidence and certainty."""
        return self.thresholds.outcome(self.confidence, self.certainty)

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "id": self.question.identity,
            "kind": self.question.kind,
            "question": self.question.text,
            "confidence": self.confidence,
            "certainty": self.certainty,
            "answered": self.answered,
            "outcome": self.outcome,
            "right": self.right,
        }


class QuotingSession(Closeable):
    """Quotes answers from one generation, with the settings of one profile. Computed vectors are cached."""

    def __init__(
        self,
        generation: Searchable,
        embedding: EmbeddingModel,
        settings: Settings,
        weights: ConfidenceWeights = SHIPPED_WEIGHTS,
    ) -> None:
        self.thresholds = OutcomeThresholds.of(settings.answer)
        self._wide = settings.query.retriever_top_k
        caching = CachingEmbedding(embedding, LruCache(_MOST_CACHED))
        self._pipeline = SearchPipeline([generation], [caching], settings)
        self._answerer = ExtractiveAnswerer(
            caching,
            generation.tokeniser,
            terms=collection_term_weights([generation]),
            weights=weights,
            thresholds=OutcomeThresholds(0.0, 0.0),
            cite=False,
            read_document=DocumentTexts([generation]),
        )

    def chunks(self, question: str, without: Collection[str] = ()) -> Sequence[RetrievedChunk]:
        """Return the chunks to quote from, best first, none of them from the documents in `without`."""
        if not without:
            return sorted(self._pipeline.search(question).chunks, key=lambda chunk: -chunk.score)
        left = [
            chunk
            for chunk in self._pipeline.search(question, top_k=self._wide).chunks
            if chunk.source_id not in without
            and not any(other["source_id"] in without for other in chunk.metadata.get("alternates", ()))
        ]
        return left[:MOST_READ]

    def quote(self, question: str, chunks: Sequence[RetrievedChunk], most_sentences: int = 3) -> Answer:
        """Return the answer quoted from these chunks, without refusing at low confidence."""
        return self._answerer.answer(question, chunks, max_sentences=most_sentences)

    def ask(self, questions: Iterable[RefusalQuestion]) -> list[RefusalOutcome]:
        """Quote an answer to each question.

        Chunks of the documents in the question's `without` are not used; this makes the question unanswerable. If too
        few chunks are left, the question is skipped.
        """
        outcomes = []
        for question in questions:
            chunks = self.chunks(question.text, question.without)
            if question.without and len(chunks) < FEWEST_LEFT:
                continue
            answer = self.quote(question.text, chunks)
            found = answer.reasoning.get("evidence")
            right = question.kind == ANSWERABLE and question.is_right(answer)
            evidence = found if isinstance(found, Mapping) else {}
            outcomes.append(
                RefusalOutcome(question, answer.confidence, right, evidence, self.thresholds, answer.certainty)
            )
        return outcomes

    def close(self) -> None:
        """Stop the threads of the search."""
        self._pipeline.close()


SHOWN = tuple(step / 10 for step in range(1, 11))  # coverages in reports


@dataclass(frozen=True)
class CoveragePoint:
    """A point of the risk-coverage curve, if only questions with at least the confidence `threshold` are answered.

    `coverage` is the share of questions that are answered, and `risk` the share of wrong answers among these.
    """

    threshold: float
    coverage: float
    risk: float


@dataclass(frozen=True)
class RefusalFigures:
    """How well the confidence separates one kind of unanswerable questions from all answerable ones.

    `questions` is the number of unanswerable questions; `refused` and `not_certain` are the shares of them that are
    refused, and that are refused or uncertain. `curve` is the risk-coverage curve of these and the answerable
    questions: the share of wrong answers among the answered questions (risk) against the share of questions that are
    answered (coverage). It has a point for each distinct confidence, highest first. `area` is the area under it, the
    mean risk (AURC).
    """

    questions: int
    refused: float
    not_certain: float
    auroc: float
    curve: tuple[CoveragePoint, ...]
    area: float

    def to_json(self) -> dict[str, Any]:
        """Return the metrics as JSON."""
        shares = {"refused": self.refused, "refused_or_uncertain": self.not_certain}
        curve = [
            rounded({"coverage": at.coverage, "risk": at.risk, "threshold": at.threshold})
            for at in points_at_coverages(self.curve)
        ]
        areas = {"auroc": self.auroc, "aurc": self.area}
        return {"questions": self.questions, **rounded(shares | areas), "curve": curve}


@dataclass(frozen=True)
class RefusalReport:
    """The metrics of refusals. `by_kind` has the metrics for each kind of unanswerable question, at least one."""

    name: str
    answerable: int
    right: float
    uncertain: float
    wrongly_refused: float
    by_kind: Mapping[str, RefusalFigures]
    outcomes: tuple[RefusalOutcome, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the metrics and the result of every question as JSON."""
        return {
            "dataset": self.name,
            "answerable": self.answerable,
            **rounded({"right": self.right, "uncertain": self.uncertain, "wrongly_refused": self.wrongly_refused}),
            "kinds": {kind: refusals.to_json() for kind, refusals in self.by_kind.items()},
            "results": [outcome.to_json() for outcome in self.outcomes],
        }


def refusal_report(name: str, outcomes: Sequence[RefusalOutcome]) -> RefusalReport:
    """Compute the metrics. `outcomes` includes at least one answerable and one unanswerable question."""
    by_kind: dict[str, list[RefusalOutcome]] = {}
    for outcome in outcomes:
        by_kind.setdefault(outcome.question.kind, []).append(outcome)
    answerable = by_kind.pop(ANSWERABLE)
    return RefusalReport(
        name=name,
        answerable=len(answerable),
        right=fmean(one.right for one in answerable),
        uncertain=fmean(one.outcome == "uncertain" for one in answerable),
        wrongly_refused=fmean(not one.answered for one in answerable),
        by_kind={kind: _figures_of_kind(answerable, others) for kind, others in by_kind.items()},
        outcomes=tuple(outcomes),
    )


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return the chance, 0 to 1, that a value of the first list exceeds a value of the second list.

    Ties count half. Both lists contain at least one value. The result is the rank-sum statistic of Mann and Whitney
    (1947), scaled to this range.
    """
    ordered = np.sort(lower)
    below, not_above = (np.searchsorted(ordered, higher, side) for side in ("left", "right"))
    return float((below + not_above).sum() / 2 / (len(higher) * len(lower)))


def risk_and_coverage(scored: Sequence[tuple[float, bool]]) -> tuple[CoveragePoint, ...]:
    """Return the risk-coverage curve: a point for each distinct confidence, highest first.

    `scored` has the confidence of each answer, and whether the answer is right.
    """
    confidence = np.array([one for one, _ in scored])
    wrong = np.array([not right for _, right in scored])
    points = []
    for threshold in sorted(set(confidence.tolist()), reverse=True):
        answered = confidence >= threshold
        points.append(CoveragePoint(threshold, float(answered.mean()), float(wrong[answered].mean())))
    return tuple(points)


def area_under_risk(curve: Sequence[CoveragePoint]) -> float:
    """Return the mean risk over all coverages (AURC), 0 to 1. Each point is weighted by the coverage it adds."""
    covered = [0.0, *(at.coverage for at in curve)]
    return sum(at.risk * (at.coverage - before) for at, before in zip(curve, covered, strict=False))


def points_at_coverages(curve: Sequence[CoveragePoint], coverages: Sequence[float] = SHOWN) -> list[CoveragePoint]:
    """Return, for each value in `coverages`, the first point of the curve whose coverage is at least this value."""
    return [next(at for at in curve if at.coverage >= min(coverage, 1.0) - 1e-9) for coverage in coverages]


def _figures_of_kind(answerable: Sequence[RefusalOutcome], others: Sequence[RefusalOutcome]) -> RefusalFigures:
    curve = risk_and_coverage([(one.confidence, one.right) for one in (*answerable, *others)])
    return RefusalFigures(
        questions=len(others),
        refused=fmean(not one.answered for one in others),
        not_certain=fmean(one.outcome != "answered" for one in others),
        auroc=auroc([one.confidence for one in answerable], [one.confidence for one in others]),
        curve=curve,
        area=area_under_risk(curve),
    )


def questions_of_dataset(dataset: Dataset, directory: Path) -> list[RefusalQuestion]:
    """Return a dataset's questions with relevant documents, and its unanswerable questions, if any.

    An answer is right if it contains one of the question's answers or, for a question without answers, cites a relevant
    document.
    """
    answers = read_answers(directory)
    answerable = [
        RefusalQuestion(identity, text, ANSWERABLE, _right(answers.get(identity, ()), grades))
        for identity, text, grades in dataset.identified()
    ]
    unanswerable = read_unanswerable(directory).items()
    return answerable + [RefusalQuestion(identity, text, UNANSWERABLE) for identity, text in unanswerable]


def questions_of_collection(questions: Sequence[GeneratedQuestion]) -> list[RefusalQuestion]:
    """Return each question twice: once as it is, and once with the documents that answer it removed."""

    def is_answer(answer: Answer, spans: Sequence[AnswerSpan]) -> bool:
        return any(span.is_in(one.source_id, *one.span) for span in spans for one in answer.citations)

    doubled: list[RefusalQuestion] = []
    for number, question in enumerate(questions, 1):
        identity, documents = f"own-{number:04}", {span.document_id for span in question.spans}
        doubled.append(RefusalQuestion(identity, question.text, ANSWERABLE, partial(is_answer, spans=question.spans)))
        doubled.append(RefusalQuestion(f"{identity}-without", question.text, REMOVED, without=documents))
    return doubled


def questions_without_answer(questions: Iterable[str]) -> list[RefusalQuestion]:
    """Return a question of the kind FOREIGN, which is not about the collection's subject, for each distinct text."""
    return [
        RefusalQuestion(f"foreign-{number:04}", text, FOREIGN)
        for number, text in enumerate(dict.fromkeys(questions), 1)
    ]


def sample_questions(questions: Sequence[RefusalQuestion], number: int | None, seed: int) -> list[RefusalQuestion]:
    """Draw at most `number` questions of each kind (None: all), in the given order. Equal seeds draw the same."""
    if number is None:
        return list(questions)
    shuffled = sorted(questions, key=lambda one: sha256(str(seed), one.kind, one.identity))
    kinds = {one.kind for one in questions}
    kept = {one.identity for kind in kinds for one in [one for one in shuffled if one.kind == kind][:number]}
    return [one for one in questions if one.identity in kept]


def contains_answer(text: str, answers: Collection[str]) -> bool:
    """Return whether a text contains at least one of the answers, ignoring case and white space."""
    plain = _plain(text)
    return any(_plain(answer) in plain for answer in answers)


def _right(answers: Collection[str], grades: Mapping[str, int]) -> Callable[[Answer], bool]:
    if answers:
        return lambda answer: contains_answer(answer.text, answers)
    return lambda answer: any(citation.source in grades for citation in answer.citations)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
