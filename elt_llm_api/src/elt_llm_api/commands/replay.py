"""`elt-llm replay`: whether an output that a job wrote still holds."""

from pathlib import Path

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import print_json


@click.command()
@click.argument("receipt", type=click.Path(path_type=Path), metavar="RECEIPT")
@json_option
@pass_command_context
def command(context: CommandContext, receipt: Path, as_json: bool) -> int:
    """Compare a receipt with what there is: the output, the quotes, the documents, the settings, the program.

    Makes nothing and asks no model to write. Exit code 0 if it holds: a run now would write the same from the same;
    1 if not. Other versions of libraries are told, and are no reason to doubt it.
    """
    from elt_llm_consumer.replay import replay

    from elt_llm_api.render_jobs import print_replay

    found = replay(context.working_directory / receipt, context.load())
    if as_json:
        print_json(found.to_json())
    else:
        print_replay(found)
    return int(not found.holds)
