"""`elt-llm export`: a collection as one file."""

from dataclasses import asdict
from pathlib import Path

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import counted, plain, print_json


@click.command()
@click.argument("name", metavar="NAME")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path), metavar="[FILE]")
@click.option("--force", is_flag=True, help="Replace a file of that name.")
@json_option
@pass_command_context
def command(context: CommandContext, name: str, file: Path | None, force: bool, as_json: bool) -> int:
    """Write what a collection publishes into FILE, else into NAME.elt.zip here: documents, vectors, artefacts.

    The file names no folder of this machine. `elt-llm import` reads it without embedding anything.
    """
    from elt_llm_core.exporting import export_collection
    from elt_llm_core.store.store import open_store

    with open_store(context.load().data_dir) as store:
        name = store.collections.get(name).name
        report = export_collection(store, name, context.working_directory / (file or f"{name}.elt.zip"), force=force)
    if as_json:
        print_json(asdict(report))
    else:
        contents = f"{counted(report.documents, 'document')}, {counted(report.nodes, 'passage')}"
        click.echo(f"{name}: {contents} in {plain(report.file)} ({report.size / 1e6:.1f} MB)")
        click.echo(f"sha256 {report.sha256}")
    return 0
