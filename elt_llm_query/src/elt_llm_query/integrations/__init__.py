"""The engine in other frameworks: as a LlamaIndex retriever and query engine, and as a LangChain retriever."""

import warnings
from collections.abc import Sequence
from typing import Any

from elt_llm_core.results import Citation, RetrievedChunk
from elt_llm_core.text.outline import page_label


def warn_if_empty(chunks: Sequence[RetrievedChunk], notes: Sequence[str]) -> None:
    """Issue a warning with the notes of a search that found no chunks, whose metadata would contain the notes."""
    if notes and not chunks:
        warnings.warn("\n".join(notes), stacklevel=3)


def chunk_metadata(
    chunk: RetrievedChunk, *, citations: Sequence[Citation] = (), notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a chunk's metadata as JSON: all fields of the chunk except its text, and the citations that quote it.

    The entry `citation` names the source, such as `handbook.pdf, page 30, Appeals`. `notes` are the notes of the
    search.
    """
    page = page_label(chunk.source, chunk.page)
    return {
        **chunk.model_dump(mode="json", exclude={"text"}),
        "citation": ", ".join(filter(None, (chunk.source, page, chunk.section))),
        "citations": [citation.model_dump(mode="json") for citation in citations],
        "notes": list(notes),
    }
