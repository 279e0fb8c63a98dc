"""`elt-llm keys`: add, list and revoke the keys of the server's callers."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext, LazyGroup, json_command, pass_command_context
from elt_llm_api.display.text import align_columns, local_time, print_json, print_result

if TYPE_CHECKING:
    from elt_llm_core.state.keys import KeyRecord, KeyTable

command = LazyGroup.of_module(__name__, help="Manage the API keys of the server and their permissions.")


@contextmanager
def _open_keys(context: CommandContext) -> "Iterator[KeyTable]":
    from elt_llm_core.state.database import open_state
    from elt_llm_core.state.keys import KeyTable

    with closing(open_state(context.load().workspace)) as state:
        yield KeyTable(state)


@json_command
@click.argument("name", metavar="NAME")
@click.option("--read", "read", multiple=True, metavar="PATTERN", help="Collections it may read, such as hr_*.")
@click.option("--write", "write", multiple=True, metavar="PATTERN", help="Collections it may change, and so read.")
@click.option(
    "--where",
    "where",
    multiple=True,
    metavar="CONDITION",
    help="Only documents that fulfil it, such as tenant_id=acme; may be repeated.",
)
@click.option("--admin", is_flag=True, help="Allow access to the state of the whole server.")
def add_command(
    context: CommandContext,
    name: str,
    read: tuple[str, ...],
    write: tuple[str, ...],
    where: tuple[str, ...],
    admin: bool,
    as_json: bool,
) -> None:
    """Create a key and print its secret, which is not stored.

    A PATTERN is a collection's name, where * matches any characters; --read and --write may be repeated. Once there is
    a key, the server refuses requests without one. A CONDITION is `field=value` or `field in a,b`; the fields are
    tenant_id, knowledge_base_id and doc_type. A key with a CONDITION reads all collections unless some are named.
    """
    if where and not (read or write):
        read = ("*",)
    if not (read or write or admin):
        raise UsageError("The key would allow nothing.", hint=f"Run: elt-llm keys add {name} --read '*'")
    from elt_llm_query.retrieve.filters import document_conditions

    conditions = document_conditions(where)
    with _open_keys(context) as keys:
        secret = keys.create(name, read, write, administers=admin, conditions=conditions)
    if as_json:
        given = {"read": read, "write": write, "administers": admin, "where": list(map(str, conditions))}
        print_json({"name": name, "secret": secret, **given})
        return
    click.echo(secret)
    click.echo("Store it now: it is not shown again. Send it as: Authorization: Bearer SECRET", err=True)


@json_command
def list_command(context: CommandContext, as_json: bool) -> None:
    """List the keys and their permissions; secrets are not stored."""
    with _open_keys(context) as table:
        keys = table.all()
    rows = [["key", "reads", "writes", "where", "administers", "created"]]
    for key in keys:
        where = " and ".join(map(str, key.conditions)) or "-"
        scopes = [", ".join(key.read) or "-", ", ".join(key.write) or "-", where]
        rows.append([key.name, *scopes, "yes" if key.administers else "no", local_time(key.created_at)])
    lines = align_columns(rows) if keys else ["There are no keys. Create one with: elt-llm keys add NAME --read '*'"]
    print_result([_key_json(key) for key in keys], lines, as_json=as_json)


def _key_json(key: "KeyRecord") -> dict[str, Any]:
    fields = {name: value for name, value in asdict(key).items() if name != "conditions"}
    return {**fields, "where": list(map(str, key.conditions))}


@click.command()
@click.argument("name", metavar="NAME")
@pass_command_context
def revoke_command(context: CommandContext, name: str) -> None:
    """Revoke a key. A running server refuses it from the next request on."""
    with _open_keys(context) as keys:
        keys.revoke(name)
        none_left = not keys.all()
    click.echo(f"The key '{name}' is revoked.")
    if none_left:
        click.echo("No key is left: a server without a token answers all users of this machine.", err=True)
