"""`elt-llm forget`: take a document out of a collection for good, and leave it out from then on."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from elt_llm_api.confirmation import confirm
from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import counted, plain, print_json

if TYPE_CHECKING:
    from elt_llm_core.forgetting import ForgetReport


@click.command()
@click.argument("document", metavar="DOC")
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection that has it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_command_context
def command(context: CommandContext, document: str, collection: str, yes: bool, as_json: bool) -> int:
    """Forget a document, named by id, path, file name or title, and every other one with the same bytes.

    It leaves every index, text and vector, and every generation that has it is deleted. Later ingests leave it out.
    Its bytes leave the disk with: elt-llm purge.
    """
    from elt_llm_core.store.lock import writer_lock

    data_dir = context.load().data_dir
    if not yes:
        _ask(context, collection, document, as_json=as_json)
    with writer_lock(data_dir, f"elt-llm forget -c {collection}"):  # the lock's file is no place for a document's name
        from elt_llm_core.forgetting import forget
        from elt_llm_core.store.store import open_store

        with open_store(data_dir, for_writing=True) as store, progress_display(quiet=as_json) as progress:
            report = forget(store, collection, document, progress)
    if as_json:
        print_json(asdict(report))
    else:
        _print(report)
    return 0


def _ask(context: CommandContext, collection: str, document: str, *, as_json: bool) -> None:
    from elt_llm_core.forget_choice import choose_to_forget
    from elt_llm_core.store.store import open_store

    with open_store(context.load().data_dir) as store:
        paths = choose_to_forget(store, collection, document).paths
    if paths:
        confirm(f"Forget {plain(', '.join(paths))} of {collection} for good?", as_json=as_json)


def _print(report: "ForgetReport") -> None:
    if not report.documents:
        click.echo(f"{report.collection}: already forgotten.")
    for path in report.documents:
        click.echo(f"forgotten  {plain(path)}")
    if report.documents:
        deleted = ", ".join(map(str, report.deleted_generations)) or "none"
        click.echo(
            f"{report.collection}: {counted(report.passages, 'passage')} removed; readers see generation"
            f" {report.generation}; deleted generations: {deleted}. Erase their bytes with: elt-llm purge"
        )
    if report.uploads:
        click.echo(f"{counted(report.uploads, 'upload')} of it deleted.")
    if report.turns:
        click.echo(f"Conversations: {counted(report.turns, 'turn')} that showed it are deleted.")
    if report.rows or report.reviews:
        erased = f"{counted(report.rows, 'row')} and {counted(report.reviews, 'review')}"
        click.echo(f"Jobs: {erased} that quoted it are erased; files that jobs wrote are yours to delete.")
    for number in report.pinned:
        click.echo(f"Generation {number} is still open in another process; its files go with the next purge or ingest.")
