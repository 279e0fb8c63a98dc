"""`elt-llm purge`: erase unpublished data from the disk, with a receipt."""

import json
from pathlib import Path

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext, confirm_or_abort, json_command, yes_option
from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import print_result


@json_command
@click.option("-c", "--collection", "names", multiple=True, metavar="NAME", help="Collections to purge; else all.")
@yes_option
@click.option(
    "--receipt",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the receipt to FILE, as JSON.",
)
def command(context: CommandContext, names: tuple[str, ...], yes: bool, receipt: Path | None, as_json: bool) -> int:
    """Erase earlier generations, deleted documents, leftovers of interrupted runs and backups from the disk.

    This cannot be undone. Exit code 1 if something could not be erased; the receipt lists it.
    """
    target = context.working_directory / receipt if receipt else None
    _check_target(target, context.load().data_dir)
    if not yes:
        confirm_or_abort(
            f"Erase all but the published generations of {', '.join(names) or 'every collection'}?", as_json=as_json
        )
    with context.open_store("elt-llm purge") as store, progress_display(quiet=as_json) as progress:
        from elt_llm_core.collection.purging import purge

        made = purge(store, names, progress)
    if target is not None:
        with target.open("x", encoding="utf-8") as stream:
            json.dump(made.to_json(), stream, indent=2)
    print_result(made.to_json(), message_lines("purge", receipt=made), as_json=as_json)
    return int(not made.is_clean)


def _check_target(target: Path | None, data_dir: Path) -> None:
    if target is None:
        return
    if target.exists() or not target.parent.is_dir():
        raise UsageError(f"The receipt cannot be written to {target}.", hint="Name a new file in an existing folder.")
    if target.resolve().is_relative_to(data_dir.resolve()):
        raise UsageError(f"{target} is in the data directory, which is purged.", hint="Name a file elsewhere.")
