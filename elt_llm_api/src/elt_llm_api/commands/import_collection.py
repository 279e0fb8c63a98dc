"""`elt-llm import`: a collection from an exported file."""

from dataclasses import asdict
from pathlib import Path

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import counted, print_json


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@json_option
@pass_command_context
def command(context: CommandContext, file: Path, as_json: bool) -> int:
    """Read a collection from an exported FILE, under the name it had. Nothing is embedded.

    All of it is checked before any of it is stored; a collection of that name is never replaced.
    """
    from elt_llm_core.store.lock import writer_lock

    data_dir = context.load().data_dir
    with writer_lock(data_dir, "elt-llm import"):
        from elt_llm_core.importing import import_collection
        from elt_llm_core.store.store import open_store

        with open_store(data_dir, for_writing=True) as store, progress_display(quiet=as_json) as progress:
            published = import_collection(store, context.working_directory / file, progress)
    if as_json:
        print_json(asdict(published))
    else:
        contents = f"{counted(published.documents, 'document')}, {counted(published.nodes, 'passage')}"
        click.echo(f"{published.collection}: {contents}, published as generation {published.number}.")
    return 0
