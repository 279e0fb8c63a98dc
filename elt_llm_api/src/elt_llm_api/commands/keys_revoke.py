"""`elt-llm keys revoke`: a key that is refused from now on."""

import click

from elt_llm_api.options import CommandContext, pass_command_context


@click.command()
@click.argument("name", metavar="NAME")
@pass_command_context
def command(context: CommandContext, name: str) -> int:
    """Forget a key. A server that runs refuses it from its next request on."""
    from elt_llm_core.state.database import open_state
    from elt_llm_core.state.keys import Keys

    state = open_state(context.load().data_dir)
    try:
        keys = Keys(state)
        keys.revoke(name)
        none_left = not keys.all()
    finally:
        state.close()
    click.echo(f"The key '{name}' is revoked.")
    if none_left:
        click.echo("No key is left: a server without a token answers whoever uses this machine.", err=True)
    return 0
