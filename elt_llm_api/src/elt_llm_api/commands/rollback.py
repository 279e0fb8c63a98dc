"""`elt-llm rollback`: show readers the previous generation again."""

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import print_json


@click.command()
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection to roll back.")
@json_option
@pass_command_context
def command(context: CommandContext, collection: str, as_json: bool) -> int:
    """Publish a collection's previous generation. Ingest then asks how to go on: --resume or --rebuild."""
    from elt_llm_core.store.lock import writer_lock

    data_dir = context.load().data_dir
    with writer_lock(data_dir, f"elt-llm rollback -c {collection}"):
        from elt_llm_core.collection import roll_back
        from elt_llm_core.store.store import open_store

        with open_store(data_dir, for_writing=True) as store:
            left, now = roll_back(store, collection)
    if as_json:
        print_json({"collection": collection, "from": left, "to": now})
    else:
        click.echo(f"{collection}: readers now see generation {now} instead of {left}.")
        click.echo(f"To go on from here: elt-llm ingest -c {collection} --resume. To undo: elt-llm rollback again.")
    return 0
