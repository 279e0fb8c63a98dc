"""Significance of the difference between two profiles.

Source: Smucker, Allan and Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
Evaluation", CIKM 2007 (the paired randomisation test).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_query.evaluate.metrics import MEASURES
from elt_llm_query.evaluate.reports import ProfileReport

ROUNDS = 10_000
SEED = 1
_LARGEST_BATCH = 2_000_000  # random numbers drawn at once, 16 MB
_TOLERANCE = 1e-12  # smaller differences are rounding errors


@dataclass(frozen=True)
class FigureDifference:
    """The difference in one metric between two profiles: the second profile's mean minus the first's.

    `low` and `high` are the bounds of the 95 % bootstrap interval of `mean`. `p_value` is the chance of a difference at
    least this large if the two profiles were equally good.
    """

    figure: str
    mean: float
    low: float
    high: float
    p_value: float
    better: int
    worse: int

    def to_json(self) -> dict[str, Any]:
        """Return the rounded difference as JSON."""
        return {
            "difference": round(self.mean, 4),
            "interval": [round(self.low, 4), round(self.high, 4)],
            "p_value": round(self.p_value, 4),
            "better": self.better,
            "worse": self.worse,
        }


@dataclass(frozen=True)
class ProfileComparison:
    """The differences between two profiles on the same questions."""

    first: str
    second: str
    questions: int
    differences: tuple[FigureDifference, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON, with the differences by metric."""
        return {
            "first": self.first,
            "second": self.second,
            "queries": self.questions,
            "rounds": ROUNDS,
            "differences": {one.figure: one.to_json() for one in self.differences},
        }


def compare_reports(first: ProfileReport, second: ProfileReport, seed: int = SEED) -> ProfileComparison:
    """Compare every metric in two reports on the same questions. Equal seeds give equal results."""
    differences = tuple(paired_difference(name, first.values(name), second.values(name), seed) for name in MEASURES)
    return ProfileComparison(first.profile, second.profile, first.queries, differences)


def paired_difference(
    figure: str, first: Sequence[float], second: Sequence[float], seed: int = SEED
) -> FigureDifference:
    """Compute the difference in one metric. `first` and `second` have one value for each question, at least one."""
    paired = np.asarray(second, np.float64) - np.asarray(first, np.float64)
    paired[np.abs(paired) < _TOLERANCE] = 0.0

    def means(generator: np.random.Generator, rows: int) -> NDArray[np.float64]:
        return np.asarray(paired[generator.integers(0, len(paired), (rows, len(paired)))].mean(axis=1))

    def totals(generator: np.random.Generator, rows: int) -> NDArray[np.float64]:
        signs = generator.integers(0, 2, (rows, len(paired)), dtype=np.int8) * 2 - 1
        return np.asarray(np.abs(signs @ paired))

    # The sum is compared with sums under random signs. The observed signs count as a sample, so the p-value is above 0.
    observed = abs(paired.sum()) - _TOLERANCE * max(1, len(paired))
    as_extreme = int((_resample(totals, len(paired), seed) >= observed).sum())
    low, high = np.percentile(_resample(means, len(paired), seed), [2.5, 97.5])  # the percentile bootstrap
    return FigureDifference(
        figure=figure,
        mean=float(paired.mean()),
        low=float(low),
        high=float(high),
        p_value=(1 + as_extreme) / (ROUNDS + 1),
        better=int((paired > 0).sum()),
        worse=int((paired < 0).sum()),
    )


def _resample(
    draw: Callable[[np.random.Generator, int], NDArray[np.float64]], questions: int, seed: int
) -> NDArray[np.float64]:
    """Call `draw` in batches until ROUNDS random results were drawn. Return them, shape (ROUNDS,)."""
    generator = np.random.default_rng(seed)
    rows = max(1, _LARGEST_BATCH // questions)
    return np.concatenate([draw(generator, min(rows, ROUNDS - start)) for start in range(0, ROUNDS, rows)])
