"""Shows what a run of a job will cost, what it came to, how reviews stand, and whether an output still holds."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elt_llm_api.render import aligned, counted, local_time, one_line, plain

if TYPE_CHECKING:
    from elt_llm_consumer.replay import Replay
    from elt_llm_consumer.review.importing import ImportReport
    from elt_llm_consumer.review.overview import ReviewOverview
    from elt_llm_consumer.review.stale import StaleRow
    from elt_llm_consumer.runner_report import Cost, RunReport

_MOST_SHOWN = 40
_COLOURS = {"APPROVED": "green", "REJECTED": "red", "NEEDS_CLARIFICATION": "yellow"}


def cost_lines(cost: "Cost", *, dry_run: bool) -> list[str]:
    """What there is to do before anything is done."""
    told = [f"{cost.to_make:,} to make", f"{cost.kept:,} at hand"]
    told += [f"{cost.left_out:,} left out"] if cost.left_out else []
    told += [f"{cost.failed:,} that cannot be made"] if cost.failed else []
    lines = [f"{counted(cost.rows, 'row')}: {', '.join(told)}."]
    if cost.calls:
        calls = counted(cost.calls, "call")
        lines.append(f"{one_line(cost.model)}: about {calls}, {cost.prompt_tokens:,} tokens to read.")
    elif not cost.model:
        lines.append("No language model is in use: rules and quotes do all.")
    if cost.seconds is not None:
        lines.append(f"About {_duration(cost.seconds)}, as rows took before.")
    return [*lines, "Nothing was made."] if dry_run else lines


def print_run(report: "RunReport", here: Path) -> None:
    """Figures, notes, rows that failed, and the files."""
    rows = [
        (one_line(name), f"{value:,}" if isinstance(value, int) else one_line(str(value)))
        for name, value in report.figures.items()
    ]
    for line in aligned(rows):
        click.echo(line)
    for note in report.notes:
        click.echo(plain(note))
    _print_failures(report)
    click.echo(_sums(report))
    for file in report.files:
        path = Path(file)
        click.echo(f"written  {one_line(str(path.relative_to(here) if path.is_relative_to(here) else path))}")


def print_import(report: "ImportReport") -> None:
    """What became of every line of a sheet; all that is wrong with it."""
    for problem in report.problems:
        click.echo(f"{click.style('wrong', fg='red')}  {one_line(problem)}")
    for note in report.notes:
        click.echo(f"{click.style('differs', fg='yellow')}  {one_line(note)}")
    click.echo(
        f"{counted(report.taken, 'review')} taken, {report.unchanged:,} known already,"
        f" {report.without_review:,} lines without a review, {len(report.problems):,} wrong."
    )


def print_overview(overview: "ReviewOverview") -> None:
    """Counts by status, then each review that was given."""
    told = ", ".join(f"{number:,} {status}" for status, number in overview.counts.items()) or "none was written yet"
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
    for line, (status, *_) in zip(aligned(rows), rows, strict=True):
        click.echo(click.style(line[: len(status)], fg=_COLOURS.get(status)) + line[len(status) :])
    click.echo(f"{overview.kind} of {one_line(overview.job)}: {counted(overview.rows, 'row')}: {told}.")


def print_stale(rows: "Sequence[StaleRow]", kind: str) -> None:
    """Every row whose source text changed, and where."""
    for row in rows:
        click.echo(f"{row.table}  {one_line(row.name)}  {row.status}")
        for change in row.changes:
            click.echo(f"  {one_line(change)}")
    if rows:
        click.echo(f"{kind}: the text under {counted(len(rows), 'row')} changed. Run the job again to make them anew.")
    else:
        click.echo(f"{kind}: every quote stands where its row says, in documents as they were.")


def print_replay(replay: "Replay") -> None:
    """Whether it holds, and everything that does not."""
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
    said = "holds" if replay.holds else "does not hold any more"
    click.echo(f"{one_line(replay.receipt)}: {click.style(said, fg='green' if replay.holds else 'red')}.")


def _print_failures(report: "RunReport") -> None:
    for failure in report.failures[:_MOST_SHOWN]:
        click.echo(f"{click.style('failed', fg='red')}  {one_line(failure.name)}: {one_line(failure.reason)}")
    if len(report.failures) > _MOST_SHOWN:
        click.echo(f"... and {len(report.failures) - _MOST_SHOWN} more: --json lists them all.")
    for hint in dict.fromkeys(failure.hint for failure in report.failures if failure.hint):
        click.echo(plain(hint))


def _sums(report: "RunReport") -> str:
    told = [f"{report.made:,} made", f"{report.kept:,} kept"]
    told += [f"{len(report.failures):,} failed"] if report.failures else []
    told += [f"{report.left_out:,} left out"] if report.left_out else []
    spent = report.spent
    cost = (
        f"; {counted(spent.calls, 'call')}, {spent.prompt_tokens:,} tokens read and {spent.answer_tokens:,} written"
        if spent.calls
        else ""
    )
    name = f"{report.kind} of {one_line(report.job)}"
    return f"{name}: {counted(report.rows, 'row')}, {', '.join(told)} in {report.seconds:.1f} s{cost}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    return counted(round(seconds / 60), "minute") if seconds < 5400 else f"{seconds / 3600:.1f} hours"
