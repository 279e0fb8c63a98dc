"""`elt-llm keys add`: a key for one caller."""

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import print_json


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--read", "read", multiple=True, metavar="PATTERN", help="Collections it may read, such as hr_*.")
@click.option("--write", "write", multiple=True, metavar="PATTERN", help="Collections it may change, and so read.")
@click.option("--admin", is_flag=True, help="Let it see the state of the whole server, too.")
@json_option
@pass_command_context
def command(
    context: CommandContext, name: str, read: tuple[str, ...], write: tuple[str, ...], admin: bool, as_json: bool
) -> int:
    """Make a key and print its secret, which is kept nowhere.

    A pattern is a collection's name, or one with * in it; '*' is every collection. Both may be repeated. As soon as
    there is a key, the server refuses whoever shows none.
    """
    from elt_llm_core.errors import UsageError
    from elt_llm_core.state.database import open_state
    from elt_llm_core.state.keys import Keys

    if not (read or write or admin):
        raise UsageError("The key would allow nothing.", hint=f"Say what: elt-llm keys add {name} --read '*'")
    state = open_state(context.load().data_dir)
    try:
        secret = Keys(state).create(name, read, write, administers=admin)
    finally:
        state.close()
    if as_json:
        print_json({"name": name, "secret": secret, "read": read, "write": write, "administers": admin})
        return 0
    click.echo(secret)
    click.echo("Keep it: it is not shown again. Send it as: Authorization: Bearer SECRET", err=True)
    return 0
