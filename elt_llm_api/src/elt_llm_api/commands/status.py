"""`elt-llm status`: what a collection holds, what it was built with and what happened last."""

from typing import Any

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import aligned, plain, print_json


@click.command()
@click.option("-c", "--collection", metavar="NAME", help="One collection; else all.")
@json_option
@pass_command_context
def command(context: CommandContext, collection: str | None, as_json: bool) -> int:
    """Show size, generations, passport, last run, and files that failed or are stale."""
    from elt_llm_core.store.lock import holder
    from elt_llm_core.store.status import collection_status
    from elt_llm_core.store.store import open_store

    data_dir = context.load().data_dir
    with open_store(data_dir) as store:
        records = [store.collections.get(collection)] if collection else store.collections.all()
        statuses = [collection_status(store, record).to_json() for record in records]
    writer = holder(data_dir)
    if as_json:
        print_json({"data_dir": str(data_dir), "writer": str(writer) if writer else None, "collections": statuses})
        return 0
    click.echo(f"data directory  {data_dir}")
    click.echo(f"being written   {f'by {writer}' if writer else 'no'}")
    for status in statuses:
        click.echo()
        _print_status(status)
    return 0


def _print_status(status: dict[str, Any]) -> None:
    files = status.pop("files_in_trouble")
    for line in aligned([(name.replace("_", " "), _shown(value)) for name, value in status.items()]):
        click.echo(plain(line))
    for file in files:
        click.echo(plain(f"{file['outcome']}  {file['path']}: {file['reason']}"))


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
