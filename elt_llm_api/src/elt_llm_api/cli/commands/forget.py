"""`elt-llm forget`: remove a document from a collection, and exclude it from later ingests."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from elt_llm_api.cli.options import CommandContext, confirm_or_abort, json_option, pass_command_context
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import count_noun, print_json, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_core.collection.forgetting import ForgetReport


@click.command()
@click.argument("document", metavar="DOC")
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection of the document.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@pass_command_context
def command(context: CommandContext, document: str, collection: str, yes: bool, as_json: bool) -> int:
    """Delete a document, named by id, path, file name or title, and every document with the same bytes.

    Its text, vectors and index entries are deleted, with every generation that contains it, and later ingests skip
    it. To erase its bytes from the disk, run: elt-llm purge.
    """
    from elt_llm_core.store.lock import writer_lock

    data_dir = context.load().data_dir
    if not yes:
        _confirm_forget(context, collection, document, as_json=as_json)
    with writer_lock(data_dir, f"elt-llm forget -c {collection}"):  # the lock file must not contain the document's name
        from elt_llm_core.collection.forgetting import forget
        from elt_llm_core.store.store import open_store

        with open_store(data_dir, for_writing=True) as store, progress_display(quiet=as_json) as progress:
            report = forget(store, collection, document, progress)
    if as_json:
        print_json(asdict(report))
    else:
        _print_report(report)
    return 0


def _confirm_forget(context: CommandContext, collection: str, document: str, *, as_json: bool) -> None:
    from elt_llm_core.store.forget_selection import select_to_forget
    from elt_llm_core.store.store import open_store

    with open_store(context.load().data_dir) as store:
        paths = list(dict.fromkeys(file.path for file in select_to_forget(store, collection, document)))
    if paths:
        confirm_or_abort(
            f"Forget {strip_control_characters(', '.join(paths))} of {collection} for good?", as_json=as_json
        )


def _print_report(report: "ForgetReport") -> None:
    if not report.documents:
        click.echo(f"{report.collection}: already forgotten.")
    for path in report.documents:
        click.echo(f"forgotten  {strip_control_characters(path)}")
    if report.documents:
        deleted = ", ".join(map(str, report.deleted_generations)) or "none"
        click.echo(
            f"{report.collection}: {count_noun(report.passages, 'chunk')} removed; readers see generation"
            f" {report.generation}; deleted generations: {deleted}. To erase their bytes: elt-llm purge"
        )
    if report.uploads:
        click.echo(f"{count_noun(report.uploads, 'upload')} deleted.")
    if report.turns:
        click.echo(f"Conversations: {count_noun(report.turns, 'turn')} that contained it deleted.")
    if report.rows or report.reviews:
        erased = f"{count_noun(report.rows, 'row')} and {count_noun(report.reviews, 'review')}"
        click.echo(f"Jobs: {erased} that quoted it erased. Delete the output files of jobs yourself.")
    for number in report.pinned:
        click.echo(f"Generation {number} is still open in another process; the next purge or ingest deletes its files.")
