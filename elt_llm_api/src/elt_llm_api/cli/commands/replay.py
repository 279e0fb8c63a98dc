"""`elt-llm replay`: check whether the output of a job can be reproduced."""

from pathlib import Path

import click

from elt_llm_api.cli.options import CommandContext, json_command
from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.text import print_result


@json_command
@click.argument("receipt", type=click.Path(path_type=Path), metavar="RECEIPT")
def command(context: CommandContext, receipt: Path, as_json: bool) -> int:
    """Compare a receipt with the current output, quotes, documents, settings and program.

    Nothing is generated. Exit code 0 if a run now would write the same output, else 1. Changed versions of libraries
    are reported, but do not count as a difference.
    """
    from elt_llm_consumer.runner.replay import replay

    report = replay(context.working_directory / receipt, context.load())
    print_result(report.to_json(), message_lines("replay", replay=report), as_json=as_json)
    return int(not report.holds)
