"""`elt-llm review` and `elt-llm replay`: reviews of job rows, stale rows, and whether an output can be reproduced."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elt_llm_api.cli.job_commands import open_reviewed_job, review_options
from elt_llm_api.cli.options import CommandContext, LazyGroup, json_command
from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.text import align_columns, count_noun, local_time, one_line, print_result

if TYPE_CHECKING:
    from elt_llm_consumer.review.reviews import ReviewOverview

_COLOURS = {"APPROVED": "green", "REJECTED": "red", "NEEDS_CLARIFICATION": "yellow"}
command = LazyGroup.of_module(__name__, help="Import and list reviews of the rows of a job.")


@json_command
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--replace", is_flag=True, help="Replace reviews that are newer than the sheet too.")
@review_options
def import_command(
    context: CommandContext, file: Path, replace: bool, job: str, kind: str | None, as_json: bool
) -> int:
    """Import status, reviewer and comment of each row from a .csv or .xlsx file that the job wrote.

    Reviews survive new runs and appear in the next outputs. A review that is newer than the sheet is kept and reported
    as a conflict. Exit code 1 if there is a conflict, or a line has an unknown row, table or status; each is reported,
    and the other lines are imported.
    """
    from elt_llm_consumer.review.sheet import import_reviews, read_sheet

    with open_reviewed_job(context, job, kind) as reviewed:
        report = import_reviews(
            read_sheet(context.working_directory / file), reviewed.state, reviewed.name, replace=replace
        )
    print_result(asdict(report), message_lines("review_import", report=report), as_json=as_json)
    return report.exit_code


@json_command
@review_options
def stale_command(context: CommandContext, job: str, kind: str | None, as_json: bool) -> None:
    """List each row with a quote that moved, that is missing, or whose surrounding text in the document changed."""
    from elt_llm_consumer.review.stale import read_sources, stale_rows

    with open_reviewed_job(context, job, kind) as reviewed:
        found = stale_rows(reviewed.state, reviewed.name, read_sources(reviewed.file, reviewed.loaded))
        name = reviewed.name
    document = {"job": name.job, "kind": name.kind, "stale": [asdict(row) for row in found]}
    print_result(document, message_lines("stale", rows=found, kind=f"{name.kind} of {name.job}"), as_json=as_json)


@json_command
@review_options
def status_command(context: CommandContext, job: str, kind: str | None, as_json: bool) -> None:
    """List the reviews of a job, each as fresh, as stale (its row has changed since), or as without a row."""
    from elt_llm_consumer.review.reviews import review_overview

    with open_reviewed_job(context, job, kind) as reviewed:
        found = review_overview(reviewed.state, reviewed.name)
    print_result(asdict(found), _review_lines(found), as_json=as_json)


@json_command
@click.argument("row", metavar="ROW")
@review_options
def history_command(context: CommandContext, row: str, job: str, kind: str | None, as_json: bool) -> None:
    """List who reviewed a row when and how, oldest first. ROW is its name or its key."""
    from elt_llm_consumer.review.reviews import review_history

    with open_reviewed_job(context, job, kind) as reviewed:
        found = review_history(reviewed.state, reviewed.name, row)
    said = [
        {name: getattr(it, name) for name in ("status", "reviewer", "comment", "reviewed_at", "applied")}
        for it in found
    ]
    shown = {"row": row, "reviews": said}
    print_result(shown, message_lines("review_history", **shown), as_json=as_json)


@json_command
@click.argument("receipt", type=click.Path(path_type=Path), metavar="RECEIPT")
def replay_command(context: CommandContext, receipt: Path, as_json: bool) -> int:
    """Compare a job's receipt, the record of a run, with the current output, documents, settings and program.

    Nothing is generated. Exit code 0 if a run now would write the same output, else 1. Changed versions of libraries
    are reported, but do not count as a difference.
    """
    from elt_llm_consumer.runner.replay import replay

    report = replay(context.working_directory / receipt, context.load())
    print_result(report.to_json(), message_lines("replay", replay=report), as_json=as_json)
    return int(not report.holds)


def _review_lines(overview: "ReviewOverview") -> Iterator[str]:
    """Return a line for every review, then the counts by status."""
    stale = Counter(it.status for it in overview.reviews if it.state == "stale")
    counted = (
        f"{number:,} {status}" + (f" ({stale[status]:,} stale)" if stale[status] else "")
        for status, number in overview.counts.items()
    )
    counts = ", ".join(counted) or "none yet"
    reviews = [
        (it.status, it.table, it.name, it.state, it.reviewer, local_time(it.reviewed_at), it.comment)
        for it in overview.reviews
    ]
    rows = [list(map(one_line, review)) for review in reviews]
    for line, (status, *_) in zip(align_columns(rows), rows, strict=True):
        yield click.style(line[: len(status)], fg=_COLOURS.get(status)) + line[len(status) :]
    yield f"{overview.kind} of {one_line(overview.job)}: {count_noun(overview.rows, 'row')}: {counts}."
