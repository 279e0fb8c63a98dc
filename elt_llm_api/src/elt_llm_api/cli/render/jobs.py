"""Print costs, results, reviews and replays of jobs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elt_llm_api.display.text import align_columns, count_noun, local_time, one_line, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_consumer.review.reviews import ReviewOverview
    from elt_llm_consumer.review.sheet import ImportReport
    from elt_llm_consumer.review.stale import StaleRow
    from elt_llm_consumer.runner.costs import RunCost, RunReport
    from elt_llm_consumer.runner.replay import ReplayReport

_MOST_SHOWN = 40
_COLOURS = {"APPROVED": "green", "REJECTED": "red", "NEEDS_CLARIFICATION": "yellow"}


def cost_lines(cost: "RunCost", *, dry_run: bool) -> list[str]:
    """Return the planned work of a run and its cost as lines."""
    parts = [f"{cost.to_make:,} to generate", f"{cost.kept:,} stored"]
    parts += [f"{cost.left_out:,} skipped"] if cost.left_out else []
    parts += [f"{cost.failed:,} that cannot be generated"] if cost.failed else []
    lines = [f"{count_noun(cost.rows, 'row')}: {', '.join(parts)}."]
    if cost.calls:
        calls = count_noun(cost.calls, "call")
        lines.append(f"{one_line(cost.model)}: about {calls}, {cost.prompt_tokens:,} prompt tokens.")
    elif not cost.model:
        lines.append("No language model is used: rules and quotes only.")
    if cost.seconds is not None:
        lines.append(f"About {_duration(cost.seconds)}, estimated from earlier rows.")
    return [*lines, "Nothing was generated."] if dry_run else lines


def print_run_report(report: "RunReport", here: Path) -> None:
    """Print the results of a run: statistics, notes, failed rows, totals and written files."""
    rows = [
        (one_line(name), f"{value:,}" if isinstance(value, int) else one_line(str(value)))
        for name, value in report.figures.items()
    ]
    for line in align_columns(rows):
        click.echo(line)
    for note in report.notes:
        click.echo(strip_control_characters(note))
    _print_failures(report)
    click.echo(_totals(report))
    for file in report.files:
        path = Path(file)
        click.echo(f"written  {one_line(str(path.relative_to(here) if path.is_relative_to(here) else path))}")


def print_review_import(report: "ImportReport") -> None:
    """Print the problems of an imported sheet and its totals."""
    for problem in report.problems:
        click.echo(f"{click.style('wrong', fg='red')}  {one_line(problem)}")
    for note in report.notes:
        click.echo(f"{click.style('differs', fg='yellow')}  {one_line(note)}")
    for conflict in report.conflicts:
        click.echo(f"{click.style('conflict', fg='red')}  {one_line(conflict)}")
    kept = f", {count_noun(len(report.conflicts), 'conflict')}" if report.conflicts else ""
    click.echo(
        f"{count_noun(report.taken, 'review')} imported, {report.unchanged:,} unchanged,"
        f" {report.without_review:,} lines without a review, {len(report.problems):,} wrong{kept}."
    )


def print_review_history(row: str, reviews: Sequence[Mapping[str, str]]) -> None:
    """Print the reviews of a row, oldest first."""
    if not reviews:
        click.echo(f"'{one_line(row)}' has no review.")
    for review in reviews:
        by = f" by {one_line(review['reviewer'])}" if review["reviewer"] else ""
        comment = f": {one_line(review['comment'])}" if review["comment"] else ""
        click.echo(f"{local_time(review['reviewed_at'])}  {review['status']}{by}{comment}")


def print_review_status(overview: "ReviewOverview") -> None:
    """Print every review, then the counts by status."""
    counts = ", ".join(f"{number:,} {status}" for status, number in overview.counts.items()) or "none yet"
    rows = [
        (
            it.status,
            it.table,
            one_line(it.name),
            it.state,
            one_line(it.reviewer),
            local_time(it.reviewed_at),
            one_line(it.comment),
        )
        for it in overview.reviews
    ]
    for line, (status, *_) in zip(align_columns(rows), rows, strict=True):
        click.echo(click.style(line[: len(status)], fg=_COLOURS.get(status)) + line[len(status) :])
    click.echo(f"{overview.kind} of {one_line(overview.job)}: {count_noun(overview.rows, 'row')}: {counts}.")


def print_stale_rows(rows: "Sequence[StaleRow]", kind: str) -> None:
    """Print every row whose source text changed, with the changes."""
    for row in rows:
        click.echo(f"{row.table}  {one_line(row.name)}  {row.status}")
        for change in row.changes:
            click.echo(f"  {one_line(change)}")
    if rows:
        click.echo(
            f"{kind}: the text under {count_noun(len(rows), 'row')} changed. Run the job again to regenerate them."
        )
    else:
        click.echo(f"{kind}: no source text changed.")


def print_replay(replay: "ReplayReport") -> None:
    """Print all differences, then whether the output can be reproduced."""
    for what, lines in (
        ("output", replay.output),
        ("evidence", replay.evidence),
        ("document", replay.documents),
        ("setting", replay.settings),
        ("program", replay.program),
        ("library", replay.libraries),
    ):
        for line in lines[:_MOST_SHOWN]:
            click.echo(f"{what}  {one_line(line)}")
        if len(lines) > _MOST_SHOWN:
            click.echo(f"{what}  ... and {len(lines) - _MOST_SHOWN} more: --json lists them all.")
    verdict = "reproducible" if replay.holds else "not reproducible"
    click.echo(f"{one_line(replay.receipt)}: {click.style(verdict, fg='green' if replay.holds else 'red')}.")


def _print_failures(report: "RunReport") -> None:
    for failure in report.failures[:_MOST_SHOWN]:
        click.echo(f"{click.style('failed', fg='red')}  {one_line(failure.name)}: {one_line(failure.reason)}")
    if len(report.failures) > _MOST_SHOWN:
        click.echo(f"... and {len(report.failures) - _MOST_SHOWN} more: --json lists them all.")
    for hint in dict.fromkeys(failure.hint for failure in report.failures if failure.hint):
        click.echo(strip_control_characters(hint))


def _totals(report: "RunReport") -> str:
    parts = [f"{report.made:,} generated", f"{report.kept:,} kept"]
    parts += [f"{len(report.failures):,} failed"] if report.failures else []
    parts += [f"{report.left_out:,} skipped"] if report.left_out else []
    spent = report.spent
    cost = (
        f"; {count_noun(spent.calls, 'call')}, {spent.prompt_tokens:,} tokens read and {spent.answer_tokens:,} written"
        if spent.calls
        else ""
    )
    name = f"{report.kind} of {one_line(report.job)}"
    return f"{name}: {count_noun(report.rows, 'row')}, {', '.join(parts)} in {report.seconds:.1f} s{cost}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return count_noun(max(1, round(seconds)), "second")
    return count_noun(round(seconds / 60), "minute") if seconds < 5400 else f"{seconds / 3600:.1f} hours"
