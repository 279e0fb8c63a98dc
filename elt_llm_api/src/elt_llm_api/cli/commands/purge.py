"""`elt-llm purge`: erase unpublished data from the disk, with a receipt."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext, confirm_or_abort, json_option, pass_command_context
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import count_noun, print_json, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_core.collection.purging import PurgeReceipt


@click.command()
@click.option("-c", "--collection", "names", multiple=True, metavar="NAME", help="Collections to purge; else all.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--receipt",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the receipt to FILE, as JSON.",
)
@json_option
@pass_command_context
def command(context: CommandContext, names: tuple[str, ...], yes: bool, receipt: Path | None, as_json: bool) -> int:
    """Erase earlier generations, deleted documents, leftovers of interrupted runs and backups from the disk.

    This cannot be undone. Exit code 1 if something could not be erased; the receipt lists it.
    """
    from elt_llm_core.store.lock import writer_lock

    data_dir = context.load().data_dir
    target = context.working_directory / receipt if receipt else None
    _check_target(target, data_dir)
    if not yes:
        confirm_or_abort(
            f"Erase all but the published generations of {', '.join(names) or 'every collection'}?", as_json=as_json
        )
    with writer_lock(data_dir, "elt-llm purge"):
        from elt_llm_core.collection.purging import purge
        from elt_llm_core.store.store import open_store

        with open_store(data_dir, for_writing=True) as store, progress_display(quiet=as_json) as progress:
            made = purge(store, names, progress)
    if target is not None:
        with target.open("x", encoding="utf-8") as stream:
            json.dump(made.to_json(), stream, indent=2)
    if as_json:
        print_json(made.to_json())
    else:
        _print_receipt(made)
    return int(not made.is_clean)


def _check_target(target: Path | None, data_dir: Path) -> None:
    if target is None:
        return
    if target.exists() or not target.parent.is_dir():
        raise UsageError(f"{target} cannot be the receipt.", hint="Name a new file in an existing folder.")
    if target.resolve().is_relative_to(data_dir.resolve()):
        raise UsageError(f"{target} is in the data directory, which is purged.", hint="Name a file elsewhere.")


def _print_receipt(receipt: "PurgeReceipt") -> None:
    click.echo(
        f"Erased: {count_noun(receipt.versions, 'document version')}, {count_noun(receipt.generations, 'generation')},"
        f" {count_noun(len(receipt.files), 'leftover')}; {receipt.bytes_before / 1e6:.1f} MB before,"
        f" {receipt.bytes_after / 1e6:.1f} MB now."
    )
    for name in receipt.cut_off:
        click.echo(f"{name}: the leftovers of an interrupted run are erased too; its command starts again.")
    for name in receipt.rebuilt:
        click.echo(f"{name}: its index was rebuilt without embedding.")
    if receipt.turns:
        click.echo(f"Conversations: {count_noun(receipt.turns, 'turn')} with unpublished text erased.")
    if receipt.rows or receipt.reviews:
        erased = f"{count_noun(receipt.rows, 'row')} and {count_noun(receipt.reviews, 'review')}"
        click.echo(f"Jobs: {erased} that quoted unpublished text.")
    click.echo(_search_summary(receipt))
    for pinned in receipt.pinned:
        click.echo(f"Not erased: {pinned['directory']}, open in processes {pinned['processes'] or 'unknown'}.")
    for source in receipt.sources:
        click.echo(f"Kept, because it is your own file: {strip_control_characters(source)}")
    click.echo(f"Beyond reach: {'; '.join(receipt.beyond_reach)}.")


def _search_summary(receipt: "PurgeReceipt") -> str:
    check = receipt.check
    if not check.samples:
        return (
            "Nothing to search for: the erased text is too short, or also published."
            if receipt.versions
            else "The store was rewritten without unused space; no erased text is left to search for."
        )
    found = (
        f"found in {strip_control_characters(', '.join(map(str, check.found_in)))}" if check.found_in else "none found"
    )
    what = f"{count_noun(check.samples, 'sample')} of the erased text"
    return f"Searched {count_noun(check.files, 'file')} for {what}: {found}."
