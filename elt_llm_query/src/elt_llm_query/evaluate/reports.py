"""Evaluation reports on profiles, and thresholds that their metrics must reach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from elt_llm_core.errors import UsageError

from elt_llm_query.evaluate.metrics import MEASURES


@dataclass(frozen=True)
class QuestionResult:
    """The result of one question. `relevant` maps each relevant document to its rank (from 1), or None if not found."""

    identity: str
    question: str
    kind: str
    figures: Mapping[str, float]
    relevant: Mapping[str, int | None]
    took_ms: float

    def to_json(self) -> dict[str, Any]:
        """Return the metrics by name as JSON. The time is in milliseconds."""
        return {
            "id": self.identity,
            "question": self.question,
            **({"kind": self.kind} if self.kind else {}),
            **rounded(self.figures),
            "ranks": dict(self.relevant),
            "took_ms": round(self.took_ms, 1),
        }


@dataclass(frozen=True)
class ProfileReport:
    """The metrics of one profile on one dataset: means over all questions, 0 to 1."""

    dataset: str
    profile: str
    figures: Mapping[str, float]
    latency_p50_ms: float
    latency_p95_ms: float
    notes: tuple[str, ...] = ()
    results: tuple[QuestionResult, ...] = field(default=(), repr=False)

    @property
    def queries(self) -> int:
        """The number of questions that were asked."""
        return len(self.results)

    def values(self, figure: str) -> list[float]:
        """Return one metric for every question. The order of questions is the same for every profile."""
        return [result.figures[figure] for result in self.results]

    def to_json(self) -> dict[str, Any]:
        """Return the metrics as JSON, keyed by the names that reports print. Times are in milliseconds."""
        return {
            "dataset": self.dataset,
            "profile": self.profile,
            "queries": self.queries,
            **rounded(self.figures),
            "latency_ms": {"p50": round(self.latency_p50_ms, 1), "p95": round(self.latency_p95_ms, 1)},
        }


def rounded(figures: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics, rounded for JSON."""
    return {name: round(value, 4) for name, value in figures.items()}


EXAMPLE = "Write it like ndcg@10=0.70, with one of: " + ", ".join(MEASURES)


@dataclass(frozen=True)
class FigureThreshold:
    """A metric and its lowest accepted value, 0 to 1."""

    figure: str
    least: float


def read_threshold(text: str) -> FigureThreshold:
    """Parse `metric=value`. Raises UsageError for anything else; its hint lists the metrics."""
    figure, separator, value = text.partition("=")
    figure = figure.strip().lower()
    if not separator or figure not in MEASURES:
        raise UsageError(f"'{text}' is not a threshold: there is no metric '{figure}'.", hint=EXAMPLE)
    try:
        least = float(value)
    except ValueError as error:
        raise UsageError(f"'{text}' is not a threshold: '{value}' is not a number.", hint=EXAMPLE) from error
    if not 0 <= least <= 1:
        raise UsageError(f"'{text}' is not a threshold: metrics are between 0 and 1.", hint=EXAMPLE)
    return FigureThreshold(figure, least)


def shortfalls(reports: Sequence[ProfileReport], thresholds: Sequence[FigureThreshold]) -> list[str]:
    """Return a sentence for each metric of each report that is below its threshold."""
    return [
        f"{report.profile}: {threshold.figure} is {report.figures[threshold.figure]:.4f},"
        f" below the threshold of {threshold.least:g}."
        for report in reports
        for threshold in thresholds
        if report.figures[threshold.figure] < threshold.least
    ]
