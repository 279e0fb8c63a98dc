"""The tools `get_span` and `verify_quote`."""

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.documents import LONGEST_QUOTE, LONGEST_SPAN, DocumentSpan, QuoteCheck, SpanActions
from elt_llm_api.serve.mcp.output import fence_texts, location_of
from elt_llm_api.serve.mcp.tool_call import CollectionName, DocumentName, ToolCall, mcp_tool, tool_result

_LONGEST_DOCUMENT = 1_000_000_000
_MOST_DIFFERENCES = 5


@mcp_tool("Read a span of a document")
async def get_span(
    call: ToolCall,
    collection: CollectionName,
    document: DocumentName,
    start: Annotated[int, Field(ge=0, le=_LONGEST_DOCUMENT, description="Offset of the first character.")],
    end: Annotated[
        int,
        Field(ge=1, le=_LONGEST_DOCUMENT, description=f"Offset after the last; at most {LONGEST_SPAN} further."),
    ],
) -> Annotated[CallToolResult, DocumentSpan]:
    """Read a document's text from one offset to another, exactly as citations quote it, with page and headings.

    Chunks and citations have such offsets; a wider span shows the text around them.
    """
    span = await call.run(lambda: SpanActions(call.services).get(call.principal, collection, document, start, end))
    return tool_result(fence_texts([(location_of(span), span.text)]), span)


@mcp_tool("Verify a quote")
async def verify_quote(
    call: ToolCall,
    collection: CollectionName,
    quote: Annotated[
        str, Field(min_length=1, max_length=LONGEST_QUOTE, description="The words to look for in the documents.")
    ],
    document: Annotated[DocumentName | None, Field(description="Look in this document only.")] = None,
) -> Annotated[CallToolResult, QuoteCheck]:
    """Check whether documents contain a quote word for word, and where; or return the nearest text and the differences.

    Compares with the texts themselves, ignoring white space; nothing is guessed. Use it before you quote a document.
    Without a document, all documents of the collection are searched.
    """
    check = await call.run(lambda: SpanActions(call.services).verify(call.principal, collection, quote, document))
    return tool_result(_quote_check_text(check), check)


def _quote_check_text(check: QuoteCheck) -> str:
    if check.verbatim:
        count = f"{len(check.places)}{' or more' if check.more else ''}"
        shown = fence_texts((location_of(span), span.text) for span in check.places)
        return f"Verbatim: the quote appears word for word {count} time(s).\n\n{shown}"
    if check.nearest is None:
        return "Not verbatim: no chunk of these documents shares a word with the quote."
    parts = [(f"Nearest, {location_of(check.nearest)}:", check.nearest.text)]
    parts += [
        (f"Differs ({one.kind}); the quote, then the document:", f"{one.quote}\n{one.document}")
        for one in check.differences[:_MOST_DIFFERENCES]
    ]
    return f"Not verbatim; the nearest text has {check.shared:.0%} of the quote's words.\n\n{fence_texts(parts)}"
