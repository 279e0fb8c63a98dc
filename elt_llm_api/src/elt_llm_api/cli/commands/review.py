"""`elt-llm review`: import reviews of job rows, list their status, and list stale rows."""

from dataclasses import asdict
from pathlib import Path

import click

from elt_llm_api.cli.job_commands import open_reviewed_job, review_options
from elt_llm_api.cli.options import CommandContext, CommandEntry, LazyGroup, json_option, pass_command_context
from elt_llm_api.display.text import print_json

_HELP = {
    "import": "Import reviews from a filled-in sheet.",
    "status": "List the reviews of rows.",
    "history": "List all reviews of one row.",
    "stale": "List rows whose source text changed.",
}
_SUBCOMMANDS = [CommandEntry(name, __name__, text, attribute=f"{name}_command") for name, text in _HELP.items()]
command = LazyGroup("review", _SUBCOMMANDS, help="Import and list reviews of the rows of a job.")


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--replace", is_flag=True, help="Replace reviews that are newer than the sheet too.")
@review_options
@json_option
@pass_command_context
def import_command(
    context: CommandContext, file: Path, replace: bool, job: str, kind: str | None, as_json: bool
) -> int:
    """Import status, reviewer and comment of each row from a .csv or .xlsx file that the job wrote.

    Reviews survive new runs and appear in the next outputs. A review that is newer than the sheet is kept and reported
    as a conflict. Exit code 1 if there is a conflict, or a line has an unknown row, table or status; each is reported,
    and the other lines are imported.
    """
    from elt_llm_consumer.review.sheet import import_reviews, read_sheet

    from elt_llm_api.cli.render.jobs import print_review_import

    with open_reviewed_job(context, job, kind) as reviewed:
        report = import_reviews(
            read_sheet(context.working_directory / file), reviewed.state, reviewed.name, replace=replace
        )
    if as_json:
        print_json(report.to_json())
    else:
        print_review_import(report)
    return report.exit_code


@click.command()
@review_options
@json_option
@pass_command_context
def stale_command(context: CommandContext, job: str, kind: str | None, as_json: bool) -> int:
    """List each row whose quote moved, vanished, or has changed text around it in its document."""
    from elt_llm_consumer.review.stale import read_sources, stale_rows

    from elt_llm_api.cli.render.jobs import print_stale_rows

    with open_reviewed_job(context, job, kind) as reviewed:
        found = stale_rows(reviewed.state, reviewed.name, read_sources(reviewed.file, reviewed.loaded))
        name = reviewed.name
    if as_json:
        print_json({"job": name.job, "kind": name.kind, "stale": [asdict(row) for row in found]})
    else:
        print_stale_rows(found, f"{name.kind} of {name.job}")
    return 0


@click.command()
@review_options
@json_option
@pass_command_context
def status_command(context: CommandContext, job: str, kind: str | None, as_json: bool) -> int:
    """List the reviews of a job: fresh, stale if the row has changed since, or without a row."""
    from elt_llm_consumer.review.reviews import review_overview

    from elt_llm_api.cli.render.jobs import print_review_status

    with open_reviewed_job(context, job, kind) as reviewed:
        found = review_overview(reviewed.state, reviewed.name)
    if as_json:
        print_json(found.to_json())
    else:
        print_review_status(found)
    return 0


@click.command()
@click.argument("row", metavar="ROW")
@review_options
@json_option
@pass_command_context
def history_command(context: CommandContext, row: str, job: str, kind: str | None, as_json: bool) -> int:
    """List who reviewed a row when and how, oldest first. ROW is its name or its key."""
    from elt_llm_consumer.review.reviews import review_history

    from elt_llm_api.cli.render.jobs import print_review_history

    with open_reviewed_job(context, job, kind) as reviewed:
        found = review_history(reviewed.state, reviewed.name, row)
    said = [
        {"status": it.status, "reviewer": it.reviewer, "comment": it.comment, "reviewed_at": it.reviewed_at}
        for it in found
    ]
    if as_json:
        print_json({"row": row, "reviews": said})
    else:
        print_review_history(row, said)
    return 0
