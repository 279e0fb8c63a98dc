"""`elt-llm review status`: which rows have which review, and which reviews are of what a row said before."""

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import print_json
from elt_llm_api.review_options import review_options, reviewed_job


@click.command()
@review_options
@json_option
@pass_command_context
def command(context: CommandContext, job: str, kind: str | None, as_json: bool) -> int:
    """List the reviews of a job: fresh, stale where the row says something else by now, or without a row."""
    from elt_llm_consumer.review.overview import overview

    from elt_llm_api.render_jobs import print_overview

    with reviewed_job(context, job, kind) as reviewed:
        found = overview(reviewed.state, reviewed.name)
    if as_json:
        print_json(found.to_json())
    else:
        print_overview(found)
    return 0
