"""Documents as resources: `elt-llm://COLLECTION/DOCUMENT?span=A:B`, as programs attach them to a conversation."""

import re

from elt_llm_core.errors import EltError, UsageError
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from elt_llm_api.serve.access.principal import Forbidden
from elt_llm_api.serve.actions.spans import LONGEST_SPAN, Spans
from elt_llm_api.serve.mcp.fencing import fenced
from elt_llm_api.serve.mcp.given import AnyContext, Given
from elt_llm_api.serve.mcp.shapes import place_of
from elt_llm_api.serve.mcp.tool_call import in_words

TEMPLATE = "elt-llm://{collection}/{document}{?span}"
_SPAN = re.compile(r"(\d{1,10}):(\d{1,10})")


def add_documents(server: MCPServer[None], given: Given) -> None:
    """Have the server give documents' texts as resources, to whoever may read their collection."""

    @server.resource(
        TEMPLATE,
        name="document",
        title="Text of a document",
        description=f"A document by its id: its first {LONGEST_SPAN} characters, or those of `span`, such as 120:480.",
        mime_type="text/plain",
    )
    async def document(context: AnyContext, collection: str, document: str, span: str = "") -> str:
        try:
            start, end = _places(span)
            principal = given.caller(context)
            found = await given.work(lambda: Spans(given.services).get(principal, collection, document, start, end))
        except (Forbidden, UsageError) as error:
            raise ResourceNotFoundError(in_words(error)) from error
        except EltError as error:
            raise ResourceError(in_words(error)) from error
        return fenced([(place_of(found), found.text)])


def _places(span: str) -> tuple[int, int | None]:
    if not span:
        return 0, None
    match = _SPAN.fullmatch(span)
    if match is None:
        raise UsageError(f"'{span[:40]}' is no span.", hint="Give A:B, such as 120:480.")
    return int(match[1]), int(match[2])
