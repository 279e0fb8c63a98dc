"""`elt-llm review import`: take reviews from a sheet that a job wrote and a reviewer filled in."""

from pathlib import Path

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import print_json
from elt_llm_api.review_options import review_options, reviewed_job


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@review_options
@json_option
@pass_command_context
def command(context: CommandContext, file: Path, job: str, kind: str | None, as_json: bool) -> int:
    """Take status, reviewer and comment of each row from a .csv or .xlsx that the job wrote.

    Reviews survive whatever makes the rows anew, and are in the next outputs. Exit code 1 if a line names a row, a
    table or a status that there is not; each is told, and the others are taken.
    """
    from elt_llm_consumer.review.importing import import_reviews
    from elt_llm_consumer.review.sheet import read_sheet

    from elt_llm_api.render_jobs import print_import

    with reviewed_job(context, job, kind) as reviewed:
        report = import_reviews(read_sheet(context.working_directory / file), reviewed.state, reviewed.name)
    if as_json:
        print_json(report.to_json())
    else:
        print_import(report)
    return report.exit_code
