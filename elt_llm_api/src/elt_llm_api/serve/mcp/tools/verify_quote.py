"""`verify_quote`: whether documents say something word for word."""

from typing import Annotated

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.spans import LONGEST_QUOTE, Spans, Verified
from elt_llm_api.serve.mcp.arguments import CollectionName, DocumentName
from elt_llm_api.serve.mcp.fencing import fenced
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.shapes import place_of
from elt_llm_api.serve.mcp.tool_call import READS, declared, told

_MOST_SHOWN = 5


def tool(given: Given) -> Tool:
    """The tool `verify_quote`."""

    async def verify_quote(
        context: AnyContext,
        collection: CollectionName,
        quote: Annotated[
            str, Field(min_length=1, max_length=LONGEST_QUOTE, description="The words that are said to stand there.")
        ],
        document: Annotated[DocumentName | None, Field(description="Look in this document alone.")] = None,
    ) -> Annotated[CallToolResult, Verified]:
        """Tell whether documents say something word for word, and where; or what is nearest, and how it differs.

        Looked up in the texts themselves, white space apart; nothing is guessed. Use it before you quote a document.
        Without a document, all of the collection are looked at.
        """
        principal = given.caller(context)
        verified = await given.work(lambda: Spans(given.services).verify(principal, collection, quote, document))
        return told(_in_words(verified), verified)

    return declared(verify_quote, "Verify a quote", READS)


def _in_words(verified: Verified) -> str:
    if verified.verbatim:
        count = f"{len(verified.places)}{' or more' if verified.more else ''}"
        shown = fenced((place_of(span), span.text) for span in verified.places)
        return f"Verbatim: it stands word for word in {count} place(s).\n\n{shown}"
    if verified.nearest is None:
        return "Not verbatim: no passage of these documents has words of it."
    parts = [(f"Nearest, {place_of(verified.nearest)}:", verified.nearest.text)]
    parts += [
        (f"Differs ({one.kind}); the quote, then the document:", f"{one.quote}\n{one.document}")
        for one in verified.differences[:_MOST_SHOWN]
    ]
    return f"Not verbatim; the nearest passage has {verified.shared:.0%} of its words.\n\n{fenced(parts)}"
