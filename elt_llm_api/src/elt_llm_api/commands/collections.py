"""`elt-llm collections`: what there is to ask."""

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import aligned, local_time, print_json


@click.command()
@json_option
@pass_command_context
def command(context: CommandContext, as_json: bool) -> int:
    """List the collections with their size and their published generation."""
    from elt_llm_core.store.status import collection_status
    from elt_llm_core.store.store import open_store

    with open_store(context.load().data_dir) as store:
        statuses = [collection_status(store, record) for record in store.collections.all()]
    if as_json:
        print_json([status.to_json() for status in statuses])
        return 0
    several = len({it.embedding for it in statuses}) > 1  # else it says nothing, and a line has 80 columns
    rows = [["collection", "generation", "documents", "passages", "published", *["embedding"] * several]]
    for it in statuses:
        number = "-" if it.generation is None else str(it.generation)
        figures = [number, f"{it.documents:,}", f"{it.nodes:,}", local_time(it.published_at)]
        rows.append([it.collection, *figures, *[it.embedding] * several])
    for line in aligned(rows) if statuses else ["There are no collections yet. Run: elt-llm ingest PATH -c NAME"]:
        click.echo(line)
    return 0
