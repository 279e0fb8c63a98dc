"""`elt-llm forget`: remove a document from a collection, and exclude it from later ingests."""

from dataclasses import asdict

import click

from elt_llm_api.cli.options import CommandContext, confirm_or_abort, json_command, yes_option
from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import print_result, strip_control_characters


@json_command
@click.argument("document", metavar="DOC")
@click.option("-c", "--collection", required=True, metavar="NAME", help="Collection of the document.")
@yes_option
def command(context: CommandContext, document: str, collection: str, yes: bool, as_json: bool) -> None:
    """Delete a document, named by id, path, file name or title, and every document with the same bytes.

    Its text, vectors and index entries are deleted, with every generation that contains it, and later ingests skip
    it. To erase its bytes from the disk, run: elt-llm purge.
    """
    if not yes:
        _confirm_forget(context, collection, document, as_json=as_json)
    writer = f"elt-llm forget -c {collection}"  # the lock file must not contain the document's name
    with context.open_store(writer) as store, progress_display(quiet=as_json) as progress:
        from elt_llm_core.collection.forgetting import forget

        report = forget(store, collection, document, progress)
    print_result(asdict(report), message_lines("forget", report=report), as_json=as_json)


def _confirm_forget(context: CommandContext, collection: str, document: str, *, as_json: bool) -> None:
    from elt_llm_core.store.forget_selection import select_to_forget

    with context.open_store() as store:
        paths = list(dict.fromkeys(file.path for file in select_to_forget(store, collection, document)))
    if paths:
        confirm_or_abort(
            f"Forget {strip_control_characters(', '.join(paths))} of {collection} for good?", as_json=as_json
        )
