"""`elt-llm show`: print the parsed text of a document, of one page, or of one span."""

import re
import sys
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext, WholeNumber, json_command
from elt_llm_api.display.text import print_result, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_core.store.records import StoredDocument
    from elt_llm_core.store.store import Store


@json_command
@click.argument("document", metavar="DOC")
@click.option("-c", "--collection", metavar="NAME", help="Collection of the document; else all are searched.")
@click.option("--page", type=WholeNumber(min=1), metavar="N", help="Only this page.")
@click.option("--span", metavar="A:B", help="Only these characters, as in a citation.")
def command(
    context: CommandContext, document: str, collection: str | None, page: int | None, span: str | None, as_json: bool
) -> None:
    """Show the text of DOC: its id, path, file name or title."""
    if page is not None and span is not None:
        raise UsageError("--page and --span cannot be combined.", hint="Give one of them.")
    with context.open_store() as store:
        found = _find_document(store, document, [collection] if collection else None)
    start, end = _requested_span(len(found.text), found.pages, page, span)
    shown = found.text[start:end]
    content = {
        "document": found.document_id,
        "source": found.source,
        "title": found.title,
        "document_hash": found.document_hash,
        "pages": len(found.pages),
        "span": [start, end],
        "text": shown,
    }
    print_result(content, [strip_control_characters(shown) if sys.stdout.isatty() else shown], as_json=as_json)


def _find_document(store: "Store", document: str, collections: list[str] | None) -> "StoredDocument":
    """Find the document in the collections, by default in all. Raises UsageError if none or several contain it."""
    from elt_llm_core.collection.lifecycle import open_generation

    names = collections or [record.name for record in store.collections.all() if record.published is not None]
    matches, error = [], UsageError("There are no collections yet.", hint="Run: elt-llm ingest PATH -c NAME")
    for name in names:
        with open_generation(store, name) as generation:
            try:
                matches.append((name, generation.document(document)))
            except UsageError as missing:
                error = missing
    if not matches:
        raise error
    if len(matches) > 1:
        raise UsageError(
            f"'{document}' is in {len(matches)} collections.", hint=f"Add -c {' or -c '.join(n for n, _ in matches)}"
        )
    return matches[0][1]


def _requested_span(length: int, pages: tuple[int, ...], page: int | None, span: str | None) -> tuple[int, int]:
    """Return (start, end) of the requested characters. Raises UsageError for a page or span outside the document."""
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
