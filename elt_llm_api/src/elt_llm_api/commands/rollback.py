"""`elt-llm rollback`: show readers the previous generation again."""

import click

from elt_llm_api.options import CommandContext, WholeNumber, json_option, pass_command_context
from elt_llm_api.render import print_json


@click.command()
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection to roll back.")
@click.option("--to", type=WholeNumber(min=1), metavar="N", help="The generation to show; else the previous one.")
@click.option("--again", is_flag=True, help="Undo a rollback: show the generation from before it.")
@json_option
@pass_command_context
def command(context: CommandContext, collection: str, to: int | None, again: bool, as_json: bool) -> int:
    """Publish a collection's previous generation, or another that is kept. Ingest then asks: --resume or --rebuild.

    A collection that was rolled back stays as it is, however often this is repeated.
    """
    from elt_llm_core.store.lock import writer_lock

    data_dir = context.load().data_dir
    with writer_lock(data_dir, f"elt-llm rollback -c {collection}"):
        from elt_llm_core.collection import roll_back
        from elt_llm_core.store.store import open_store

        with open_store(data_dir, for_writing=True) as store:
            left, now = roll_back(store, collection, to, again=again)
    if as_json:
        print_json({"collection": collection, "from": left, "to": now})
    elif left == now:
        click.echo(f"{collection}: readers see generation {now} already. To undo a rollback: --again; or --to N.")
    else:
        click.echo(f"{collection}: readers now see generation {now} instead of {left}.")
        click.echo(
            f"To go on from here: elt-llm ingest -c {collection} --resume."
            f" To undo: elt-llm rollback -c {collection} --to {left}"
        )
    return 0
