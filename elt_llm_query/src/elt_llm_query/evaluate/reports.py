"""What measuring brings: the figures of a profile, and those of each question asked with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class AskedResult:
    """One question's end. `relevant` holds the rank (from 1) of each right place, None where it was not found."""

    identity: str
    question: str
    kind: str
    figures: Mapping[str, float]
    relevant: Mapping[str, int | None]
    took_ms: float

    def to_json(self) -> dict[str, Any]:
        """The result under the names of the figures; time in milliseconds."""
        return {
            "id": self.identity,
            "question": self.question,
            **({"kind": self.kind} if self.kind else {}),
            **_rounded(self.figures),
            "ranks": dict(self.relevant),
            "took_ms": round(self.took_ms, 1),
        }


@dataclass(frozen=True)
class ProfileReport:
    """The figures of one profile on one set, each 0 to 1: means over the questions that have a right place."""

    dataset: str
    profile: str
    figures: Mapping[str, float]
    latency_p50_ms: float
    latency_p95_ms: float
    notes: tuple[str, ...] = ()
    results: tuple[AskedResult, ...] = field(default=(), repr=False)

    @property
    def queries(self) -> int:
        """How many questions were asked."""
        return len(self.results)

    @property
    def ndcg_at_10(self) -> float:
        """The figure that profiles are compared by first."""
        return self.figures["ndcg@10"]

    def values(self, figure: str) -> list[float]:
        """One figure of every question, in the order asked, which is the same for every profile."""
        return [result.figures[figure] for result in self.results]

    def to_json(self) -> dict[str, Any]:
        """The figures under the names they are printed with; times in milliseconds."""
        return {
            "dataset": self.dataset,
            "profile": self.profile,
            "queries": self.queries,
            **_rounded(self.figures),
            "latency_ms": {"p50": round(self.latency_p50_ms, 1), "p95": round(self.latency_p95_ms, 1)},
        }


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}
