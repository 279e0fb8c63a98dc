"""Whether two profiles differ by more than the chance of the questions, and whether two orders agree.

Sources: Smucker, Allan and Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
Evaluation", CIKM 2007 (the paired randomisation test); Kendall, "The Treatment of Ties in Ranking Problems",
Biometrika 1945 (tau-b).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_query.evaluate.metrics import MEASURES
from elt_llm_query.evaluate.reports import ProfileReport

ROUNDS = 10_000
SEED = 1
_LARGEST_BATCH = 2_000_000  # numbers at once, 16 MB
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Difference:
    """One figure of two profiles on the same questions; `mean` is that of the second less that of the first.

    `low` and `high` bound the mean in 95 of 100 redrawn sets of questions. `p_value` is how often profiles that are
    really alike would differ at least so much.
    """

    figure: str
    mean: float
    low: float
    high: float
    p_value: float
    better: int
    worse: int

    def to_json(self) -> dict[str, Any]:
        """The difference under its names."""
        return {
            "difference": round(self.mean, 4),
            "interval": [round(self.low, 4), round(self.high, 4)],
            "p_value": round(self.p_value, 4),
            "better": self.better,
            "worse": self.worse,
        }


@dataclass(frozen=True)
class Comparison:
    """Two profiles on the same questions."""

    first: str
    second: str
    questions: int
    differences: tuple[Difference, ...]

    def to_json(self) -> dict[str, Any]:
        """The comparison, each difference under its figure."""
        return {
            "first": self.first,
            "second": self.second,
            "queries": self.questions,
            "rounds": ROUNDS,
            "differences": {one.figure: one.to_json() for one in self.differences},
        }


def compare(first: ProfileReport, second: ProfileReport, seed: int = SEED) -> Comparison:
    """Every figure of two reports on the same questions; equal seeds give equal results."""
    differences = tuple(difference(name, first.values(name), second.values(name), seed) for name in MEASURES)
    return Comparison(first.profile, second.profile, first.queries, differences)


def difference(figure: str, first: Sequence[float], second: Sequence[float], seed: int = SEED) -> Difference:
    """The paired difference of one figure, both of shape (questions,), at least one question."""
    paired = np.asarray(second, np.float64) - np.asarray(first, np.float64)
    paired[np.abs(paired) < _TOLERANCE] = 0.0
    low, high = _interval(paired, seed)
    return Difference(
        figure=figure,
        mean=float(paired.mean()),
        low=low,
        high=high,
        p_value=_p_value(paired, seed),
        better=int((paired > 0).sum()),
        worse=int((paired < 0).sum()),
    )


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Agreement of two orders of the same things, -1 to 1 (tau-b); 0 where one of them is no order, all being equal.

    `first[i]` and `second[i]` are the values that thing i is ordered by. Raises ValueError if they differ in length.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    pairs = [
        (_sign(a1 - a2), _sign(b1 - b2)) for (a1, b1), (a2, b2) in combinations(zip(first, second, strict=True), 2)
    ]
    untied = math.sqrt(sum(a != 0 for a, _ in pairs) * sum(b != 0 for _, b in pairs))
    return sum(a * b for a, b in pairs) / untied if untied else 0.0


def _p_value(paired: NDArray[np.float64], seed: int) -> float:
    """Two-sided: each pair may as well have come the other way round. Never 0, as the order seen is one of those."""
    observed = abs(paired.sum()) - _TOLERANCE * max(1, len(paired))

    def as_extreme(generator: np.random.Generator, rows: int) -> NDArray[np.float64]:
        signs = generator.integers(0, 2, (rows, len(paired)), dtype=np.int8) * 2 - 1
        sums: NDArray[np.float64] = np.abs(signs @ paired)
        return sums

    return (1 + int((_rounds(as_extreme, len(paired), seed) >= observed).sum())) / (ROUNDS + 1)


def _interval(paired: NDArray[np.float64], seed: int) -> tuple[float, float]:
    """The percentile bootstrap of the mean, 95 %."""

    def means(generator: np.random.Generator, rows: int) -> NDArray[np.float64]:
        drawn: NDArray[np.float64] = paired[generator.integers(0, len(paired), (rows, len(paired)))].mean(axis=1)
        return drawn

    low, high = np.percentile(_rounds(means, len(paired), seed), [2.5, 97.5])
    return float(low), float(high)


def _rounds(
    draw: Callable[[np.random.Generator, int], NDArray[np.float64]], questions: int, seed: int
) -> NDArray[np.float64]:
    """What `draw` gives for all rounds, some rows at a time; shape (ROUNDS,)."""
    generator = np.random.default_rng(seed)
    return np.concatenate([draw(generator, rows) for rows in _batches(questions)])


def _batches(questions: int) -> Iterator[int]:
    rows = max(1, _LARGEST_BATCH // questions)
    for start in range(0, ROUNDS, rows):
        yield min(rows, ROUNDS - start)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
