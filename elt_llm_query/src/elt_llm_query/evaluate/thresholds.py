"""The least a figure may be before a build fails."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.errors import UsageError

from elt_llm_query.evaluate.metrics import MEASURES
from elt_llm_query.evaluate.reports import ProfileReport

EXAMPLE = "Write it like ndcg@10=0.70, with one of: " + ", ".join(MEASURES)


@dataclass(frozen=True)
class Threshold:
    """A figure and the least it may be, 0 to 1."""

    figure: str
    least: float


def read_threshold(text: str) -> Threshold:
    """Read `figure=value`. Raises UsageError with the figures there are."""
    figure, found, value = text.partition("=")
    figure = figure.strip().lower()
    if not found or figure not in MEASURES:
        raise UsageError(f"'{text}' is no threshold: '{figure}' is no figure that is measured.", hint=EXAMPLE)
    try:
        least = float(value)
    except ValueError as error:
        raise UsageError(f"'{text}' is no threshold: '{value}' is not a number.", hint=EXAMPLE) from error
    if not 0 <= least <= 1:
        raise UsageError(f"'{text}' is no threshold: figures are between 0 and 1.", hint=EXAMPLE)
    return Threshold(figure, least)


def shortfalls(reports: Sequence[ProfileReport], thresholds: Sequence[Threshold]) -> list[str]:
    """A sentence for each figure of a report that is too low; none if all are high enough."""
    return [
        f"{report.profile}: {threshold.figure} is {report.figures[threshold.figure]:.4f},"
        f" under the {threshold.least:g} it must have."
        for report in reports
        for threshold in thresholds
        if report.figures[threshold.figure] < threshold.least
    ]
