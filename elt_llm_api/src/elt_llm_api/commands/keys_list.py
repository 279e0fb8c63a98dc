"""`elt-llm keys list`: which keys there are."""

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import aligned, local_time, print_json


@click.command()
@json_option
@pass_command_context
def command(context: CommandContext, as_json: bool) -> int:
    """List the keys with what each allows; their secrets are kept nowhere."""
    from dataclasses import asdict

    from elt_llm_core.state.database import open_state
    from elt_llm_core.state.keys import Keys

    state = open_state(context.load().data_dir)
    try:
        keys = Keys(state).all()
    finally:
        state.close()
    if as_json:
        print_json([asdict(key) for key in keys])
        return 0
    rows = [["key", "reads", "writes", "administers", "made"]]
    for key in keys:
        scopes = [", ".join(key.read) or "-", ", ".join(key.write) or "-"]
        rows.append([key.name, *scopes, "yes" if key.administers else "no", local_time(key.created_at)])
    for line in aligned(rows) if keys else ["There are no keys. Make one with: elt-llm keys add NAME --read '*'"]:
        click.echo(line)
    return 0
