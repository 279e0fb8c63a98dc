"""`verify_quote`: whether documents say something word for word."""

from typing import Annotated, Literal

from elt_llm_core.results import Result
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult
from pydantic import Field

from elt_llm_api.serve.actions.spans import LONGEST_QUOTE, Spans, Verified
from elt_llm_api.serve.mcp.arguments import CollectionName, DocumentName
from elt_llm_api.serve.mcp.fencing import fenced
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.tool_call import READS, declared, told
from elt_llm_api.serve.mcp.tools.get_span import SpanTold, place_of_span, span_told

_MOST_SHOWN = 5


class DifferenceTold(Result):
    """Where the quote leaves the document."""

    kind: Literal["other words", "not in the document", "left out", "other signs"] = Field(
        description="other signs: the same words, but for capitals, accents, punctuation, quotes or dashes."
    )
    quote: str = Field(description="What the quote says there; empty if it leaves something out.")
    document: str = Field(description="What the document says there; empty if nothing.")


class QuoteTold(Result):
    """Whether a quote stands word for word, and where; or what is nearest to it."""

    verbatim: bool = Field(description="Whether the documents say exactly this, white space apart.")
    places: tuple[SpanTold, ...] = Field(description="Where it stands; empty if it does not.")
    more: bool = Field(description="Whether it stands in further places.")
    nearest: SpanTold | None = Field(description="If it stands nowhere: the passage with most of its words, if any.")
    shared: float = Field(description="Share of the quote's words that the nearest passage has, 0 to 1.")
    differences: tuple[DifferenceTold, ...] = Field(description="In what the quote differs from the nearest passage.")


def tool(given: Given) -> Tool:
    """The tool `verify_quote`."""

    async def verify_quote(
        context: AnyContext,
        collection: CollectionName,
        quote: Annotated[
            str, Field(min_length=1, max_length=LONGEST_QUOTE, description="The words that are said to stand there.")
        ],
        document: Annotated[DocumentName | None, Field(description="Look in this document alone.")] = None,
    ) -> Annotated[CallToolResult, QuoteTold]:
        """Tell whether documents say something word for word, and where; or what is nearest, and how it differs.

        Looked up in the texts themselves, white space apart; nothing is guessed. Use it before you quote a document.
        Without a document, all of the collection are looked at.
        """
        principal = given.caller(context)
        verified = await given.work(lambda: Spans(given.services).verify(principal, collection, quote, document))
        return told(_in_words(verified), _told(verified))

    return declared(verify_quote, "Verify a quote", READS)


def _told(verified: Verified) -> QuoteTold:
    return QuoteTold(
        verbatim=verified.verbatim,
        places=tuple(map(span_told, verified.places)),
        more=verified.more,
        nearest=span_told(verified.nearest) if verified.nearest else None,
        shared=verified.shared,
        differences=tuple(DifferenceTold(**vars(one)) for one in verified.differences),
    )


def _in_words(verified: Verified) -> str:
    if verified.verbatim:
        count = f"{len(verified.places)}{' or more' if verified.more else ''}"
        shown = fenced((place_of_span(span), span.text) for span in verified.places)
        return f"Verbatim: it stands word for word in {count} place(s).\n\n{shown}"
    if verified.nearest is None:
        return "Not verbatim: no passage of these documents has words of it."
    parts = [(f"Nearest, {place_of_span(verified.nearest)}:", verified.nearest.text)]
    parts += [
        (f"Differs ({one.kind}); the quote, then the document:", f"{one.quote}\n{one.document}")
        for one in verified.differences[:_MOST_SHOWN]
    ]
    return f"Not verbatim; the nearest passage has {verified.shared:.0%} of its words.\n\n{fenced(parts)}"
