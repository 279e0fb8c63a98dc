"""`elt-llm show`: a document's parsed text, whole, one page of it or one span, as citations see it."""

import re
import sys
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.options import CommandContext, WholeNumber, json_option, pass_command_context
from elt_llm_api.render import plain, print_json

if TYPE_CHECKING:
    from elt_llm_core.store.records import StoredDocument
    from elt_llm_core.store.store import Store


@click.command()
@click.argument("document", metavar="DOC")
@click.option("-c", "--collection", metavar="NAME", help="Collection the document is in; else all are searched.")
@click.option("--page", type=WholeNumber(min=1), metavar="N", help="Only this page.")
@click.option("--span", metavar="A:B", help="Only these characters, as a citation gives them.")
@json_option
@pass_command_context
def command(
    context: CommandContext, document: str, collection: str | None, page: int | None, span: str | None, as_json: bool
) -> int:
    """Show the text of DOC: its id, path, file name or title."""
    if page is not None and span is not None:
        raise UsageError("--page and --span cannot be combined.", hint="Give one of them.")
    from elt_llm_core.store.store import open_store

    with open_store(context.load().data_dir) as store:
        found = _find(store, document, [collection] if collection else None)
    start, end = _part(len(found.text), found.pages, page, span)
    if as_json:
        print_json(
            {
                "document": found.document_id,
                "source": found.source,
                "title": found.title,
                "document_hash": found.document_hash,
                "pages": len(found.pages),
                "span": [start, end],
                "text": found.text[start:end],
            }
        )
    else:
        shown = found.text[start:end]
        click.echo(plain(shown) if sys.stdout.isatty() else shown)
    return 0


def _find(store: "Store", document: str, collections: list[str] | None) -> "StoredDocument":
    """The document, in the collections named or in whichever has it. Raises UsageError if none or several do."""
    from elt_llm_core.collection import open_generation

    names = collections or [record.name for record in store.collections.all() if record.published is not None]
    found, error = [], UsageError("There are no collections yet.", hint="Run: elt-llm ingest PATH -c NAME")
    for name in names:
        with open_generation(store, name) as generation:
            try:
                found.append((name, generation.document(document)))
            except UsageError as missing:
                error = missing
    if not found:
        raise error
    if len(found) > 1:
        raise UsageError(
            f"'{document}' is in {len(found)} collections.", hint=f"Add -c {' or -c '.join(n for n, _ in found)}"
        )
    return found[0][1]


def _part(length: int, pages: tuple[int, ...], page: int | None, span: str | None) -> tuple[int, int]:
    """The characters asked for. Raises UsageError for a page or span that is not there."""
    if span is not None:
        match = re.fullmatch(r"(\d{1,15}):(\d{1,15})", span)
        if not match or not int(match[1]) <= int(match[2]) <= length:
            raise UsageError(f"'{span}' is not a span of this document.", hint=f"Give A:B within 0:{length}.")
        return int(match[1]), int(match[2])
    if page is None:
        return 0, length
    if page > len(pages):
        hint = f"It has pages 1 to {len(pages)}." if pages else "It has no pages: use --span."
        raise UsageError(f"There is no page {page} in this document.", hint=hint)
    return pages[page - 1], (*pages, length)[page]
