"""How well the confidence tells questions with an answer from those without: AUROC, risk and coverage.

Source of the curve and its area: Geifman and El-Yaniv, "Selective Classification for Deep Neural Networks", NeurIPS
2017. Risk is the share of what is answered that is wrong, coverage the share that is answered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elt_llm_query.evaluate.quoting import ANSWERABLE, Ended

SHOWN = tuple(step / 10 for step in range(1, 11))


@dataclass(frozen=True)
class Point:
    """Answering from a confidence of `threshold` on: the share answered, and how much of that is wrong; 0 to 1."""

    threshold: float
    coverage: float
    risk: float


@dataclass(frozen=True)
class Refusals:
    """How a kind of unanswerable questions is told from the answerable ones; all figures 0 to 1.

    `curve` has a point for each confidence met, the highest first; `area` is that under it, the mean risk (AURC).
    """

    kind: str
    questions: int
    refused: float
    auroc: float
    curve: tuple[Point, ...]
    area: float

    def to_json(self) -> dict[str, Any]:
        """For reports."""
        return {
            "questions": self.questions,
            "refused": round(self.refused, 4),
            "auroc": round(self.auroc, 4),
            "aurc": round(self.area, 4),
            "curve": [
                {"coverage": round(at.coverage, 4), "risk": round(at.risk, 4), "threshold": round(at.threshold, 4)}
                for at in at_coverages(self.curve)
            ],
        }


@dataclass(frozen=True)
class RefusalReport:
    """What `elt-llm eval --abstention` tells: `by_kind` has at least one kind without an answer."""

    name: str
    answerable: int
    right: float
    wrongly_refused: float
    by_kind: Mapping[str, Refusals]
    ends: tuple[Ended, ...]

    def to_json(self) -> dict[str, Any]:
        """The figures, and every question's end."""
        return {
            "dataset": self.name,
            "answerable": self.answerable,
            "right": round(self.right, 4),
            "wrongly_refused": round(self.wrongly_refused, 4),
            "kinds": {kind: refusals.to_json() for kind, refusals in self.by_kind.items()},
            "results": [end.to_json() for end in self.ends],
        }


def report(name: str, ends: Sequence[Ended]) -> RefusalReport:
    """The figures of at least one answerable question and one of another kind."""
    answerable = [end for end in ends if end.posed.kind == ANSWERABLE]
    kinds = dict.fromkeys(end.posed.kind for end in ends if end.posed.kind != ANSWERABLE)
    return RefusalReport(
        name=name,
        answerable=len(answerable),
        right=sum(end.right for end in answerable) / len(answerable),
        wrongly_refused=sum(not end.answered for end in answerable) / len(answerable),
        by_kind={kind: _of_kind(kind, answerable, [end for end in ends if end.posed.kind == kind]) for kind in kinds},
        ends=tuple(ends),
    )


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """The chance that one drawn from the first exceeds one drawn from the second, ties counting half; 0 to 1.

    Both have at least one value. It is the rank-sum statistic of Mann and Whitney (1947), scaled.
    """
    ordered = sorted([(value, True) for value in higher] + [(value, False) for value in lower])
    ranks, start = 0.0, 0
    while start < len(ordered):
        end = start
        while end < len(ordered) and ordered[end][0] == ordered[start][0]:
            end += 1
        ranks += sum(first for _, first in ordered[start:end]) * (start + 1 + end) / 2
        start = end
    return (ranks - len(higher) * (len(higher) + 1) / 2) / (len(higher) * len(lower))


def risk_and_coverage(scored: Sequence[tuple[float, bool]]) -> tuple[Point, ...]:
    """A point for each confidence met, the highest first; each value is a confidence and whether the answer is right.

    Equal confidences are answered together: none of them can be told from the others.
    """
    ordered = sorted(scored, key=lambda one: -one[0])
    points: list[Point] = []
    wrong = 0
    for number, (confidence, right) in enumerate(ordered, 1):
        wrong += not right
        if number == len(ordered) or ordered[number][0] != confidence:
            points.append(Point(confidence, number / len(ordered), wrong / number))
    return tuple(points)


def area(curve: Sequence[Point]) -> float:
    """The mean risk over all coverages (AURC), 0 to 1; a point holds for the coverage it adds."""
    covered = [0.0, *(at.coverage for at in curve)]
    return sum(at.risk * (at.coverage - before) for at, before in zip(curve, covered, strict=False))


def at_coverages(curve: Sequence[Point], coverages: Sequence[float] = SHOWN) -> list[Point]:
    """The first point that covers as much, for each of these coverages."""
    return [next(at for at in curve if at.coverage >= min(coverage, 1.0) - 1e-9) for coverage in coverages]


def _of_kind(kind: str, answerable: Sequence[Ended], others: Sequence[Ended]) -> Refusals:
    curve = risk_and_coverage([(end.confidence, end.right) for end in (*answerable, *others)])
    return Refusals(
        kind=kind,
        questions=len(others),
        refused=sum(not end.answered for end in others) / len(others),
        auroc=auroc([end.confidence for end in answerable], [end.confidence for end in others]),
        curve=curve,
        area=area(curve),
    )
