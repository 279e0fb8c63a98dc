"""`elt-llm purge`: erase from the disk whatever is no longer published, with a receipt."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.confirmation import confirm
from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import counted, plain, print_json

if TYPE_CHECKING:
    from elt_llm_core.purging import Receipt


@click.command()
@click.option("-c", "--collection", "names", multiple=True, metavar="NAME", help="Collections to purge; else all.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--receipt",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the receipt here, as JSON.",
)
@json_option
@pass_command_context
def command(context: CommandContext, names: tuple[str, ...], yes: bool, receipt: Path | None, as_json: bool) -> int:
    """Erase earlier generations, deleted documents, leftovers of cut off runs and backups from the bytes on the disk.

    There is no way back after it. Exit code 1 if something could not be erased; the receipt says what.
    """
    from elt_llm_core.store.lock import writer_lock

    data_dir = context.load().data_dir
    target = context.working_directory / receipt if receipt else None
    _check_target(target, data_dir)
    if not yes:
        confirm(
            f"Erase all but the published generations of {', '.join(names) or 'every collection'}?", as_json=as_json
        )
    with writer_lock(data_dir, "elt-llm purge"):
        from elt_llm_core.purging import purge
        from elt_llm_core.store.store import open_store

        with open_store(data_dir, for_writing=True) as store, progress_display(quiet=as_json) as progress:
            made = purge(store, names, progress)
    if target is not None:
        with target.open("x", encoding="utf-8") as stream:
            json.dump(made.to_json(), stream, indent=2)
    if as_json:
        print_json(made.to_json())
    else:
        _print(made)
    return int(not made.is_clean)


def _check_target(target: Path | None, data_dir: Path) -> None:
    if target is None:
        return
    if target.exists() or not target.parent.is_dir():
        raise UsageError(f"{target} cannot be the receipt.", hint="Name a file that is not there, in a folder that is.")
    if target.resolve().is_relative_to(data_dir.resolve()):
        raise UsageError(f"{target} is in the data directory, which is purged.", hint="Name a file elsewhere.")


def _print(receipt: "Receipt") -> None:
    click.echo(
        f"Erased: {counted(receipt.versions, 'document version')}, {counted(receipt.generations, 'generation')},"
        f" {counted(len(receipt.files), 'leftover')}; {receipt.bytes_before / 1e6:.1f} MB before,"
        f" {receipt.bytes_after / 1e6:.1f} MB now."
    )
    for name in receipt.cut_off:
        click.echo(f"{name}: what a cut off run had stored is erased too; the same command begins anew.")
    for name in receipt.rebuilt:
        click.echo(f"{name}: its index was built anew, nothing embedded.")
    if receipt.turns:
        click.echo(f"Conversations: {counted(receipt.turns, 'turn')} that showed what is no longer published.")
    if receipt.rows or receipt.reviews:
        erased = f"{counted(receipt.rows, 'row')} and {counted(receipt.reviews, 'review')}"
        click.echo(f"Jobs: {erased} that quoted what is no longer published.")
    click.echo(_searched(receipt))
    for pinned in receipt.pinned:
        click.echo(f"Not erased: {pinned['directory']}, open in processes {pinned['processes'] or 'unknown'}.")
    for source in receipt.sources:
        click.echo(f"Left as it is, for it is your own file: {plain(source)}")
    click.echo(f"Beyond reach: {'; '.join(receipt.beyond_reach)}.")


def _searched(receipt: "Receipt") -> str:
    check = receipt.check
    if not check.samples:
        return (
            "Nothing to search for: what was erased is too short, or stands in what is published too."
            if receipt.versions
            else "The store was written anew without unused space; of what was forgotten no text is left to search for."
        )
    found = f"found in {plain(', '.join(map(str, check.found_in)))}" if check.found_in else "none found"
    what = f"{counted(check.samples, 'sample')} of what was erased"
    return f"Searched {counted(check.files, 'file')} for {what}: {found}."
