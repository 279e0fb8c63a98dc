"""The engine in other frameworks: a retriever and a query engine of LlamaIndex, and a retriever of LangChain."""

from collections.abc import Sequence
from typing import Any

from elt_llm_core.results import Citation, RetrievedChunk
from elt_llm_core.text.outline import page_label


def chunk_metadata(
    chunk: RetrievedChunk, *, citations: Sequence[Citation] = (), notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the metadata of a chunk in JSON types: its place, ranks and scores, and the citations that quote it.

    `citation` is the place in words, such as `handbook.pdf, page 30, Appeals`. `notes` are those of the search.
    """
    page = page_label(chunk.source, chunk.page)
    return {
        **chunk.model_dump(mode="json", exclude={"text"}),
        "citation": ", ".join(filter(None, (chunk.source, page, chunk.section))),
        "citations": [citation.model_dump(mode="json") for citation in citations],
        "notes": list(notes),
    }
