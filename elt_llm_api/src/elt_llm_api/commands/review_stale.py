"""`elt-llm review stale`: the rows whose source text changed since they were written."""

from dataclasses import asdict

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import print_json
from elt_llm_api.review_options import review_options, reviewed_job


@click.command()
@review_options
@json_option
@pass_command_context
def command(context: CommandContext, job: str, kind: str | None, as_json: bool) -> int:
    """List each row of which a quote is not at its place any more, or whose document changed around it."""
    from elt_llm_consumer.review.stale import read_sources, stale_rows

    from elt_llm_api.render_jobs import print_stale

    with reviewed_job(context, job, kind) as reviewed:
        found = stale_rows(reviewed.state, reviewed.name, read_sources(reviewed.file, reviewed.loaded))
        name = reviewed.name
    if as_json:
        print_json({"job": name.job, "kind": name.kind, "stale": [asdict(row) for row in found]})
    else:
        print_stale(found, f"{name.kind} of {name.job}")
    return 0
