"""Print results and reviews of jobs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.text import align_columns, count_noun, local_time, one_line

if TYPE_CHECKING:
    from elt_llm_consumer.review.reviews import ReviewOverview
    from elt_llm_consumer.runner.costs import RunReport

_COLOURS = {"APPROVED": "green", "REJECTED": "red", "NEEDS_CLARIFICATION": "yellow"}


def run_lines(report: "RunReport", here: Path) -> Iterator[str]:
    """Return the statistics, notes, failed rows, totals and files of a run; files below `here` by relative path."""
    figures = [
        (one_line(name), f"{value:,}" if isinstance(value, int) else one_line(str(value)))
        for name, value in report.figures.items()
    ]
    paths = map(Path, report.files)
    files = [str(path.relative_to(here) if path.is_relative_to(here) else path) for path in paths]
    return message_lines("run", report=report, figures=align_columns(figures), files=files)


def review_lines(overview: "ReviewOverview") -> Iterator[str]:
    """Return a line for every review, then the counts by status."""
    counts = ", ".join(f"{number:,} {status}" for status, number in overview.counts.items()) or "none yet"
    reviews = [
        (it.status, it.table, it.name, it.state, it.reviewer, local_time(it.reviewed_at), it.comment)
        for it in overview.reviews
    ]
    rows = [list(map(one_line, review)) for review in reviews]
    for line, (status, *_) in zip(align_columns(rows), rows, strict=True):
        yield click.style(line[: len(status)], fg=_COLOURS.get(status)) + line[len(status) :]
    yield f"{overview.kind} of {one_line(overview.job)}: {count_noun(overview.rows, 'row')}: {counts}."
