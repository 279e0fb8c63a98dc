"""Chunkers cut a parsed document into spans. Their modules are imported only when a chunker is created."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import ChunkingSettings

    from elt_llm_ingest.chunkers.pieces import TokenCounter
    from elt_llm_ingest.chunkers.span_chunker import SpanChunker
_SMALLEST = 16  # the smallest chunk size in tokens, even if a context leaves less room


def create_chunker(settings: "ChunkingSettings", counter: "TokenCounter") -> "SpanChunker":
    """Create the configured chunker, from the settings with the names of its fields.

    `counter` counts tokens: it is the embedding model that will embed the chunks. If a language model adds a sentence
    to each context, the chunks leave room for it.
    """
    from elt_llm_ingest.chunkers.markdown import MarkdownChunker, ParentChildChunker, SentenceChunker, TableAwareChunker
    from elt_llm_ingest.chunkers.recursive import RecursiveChunker
    from elt_llm_ingest.chunkers.section_aware import SectionAwareChunker
    from elt_llm_ingest.chunkers.span_chunker import MARGIN, SENTENCE_TOKENS, chunk_room

    by_sentence = (SentenceChunker, TableAwareChunker, RecursiveChunker)
    by_section = (MarkdownChunker, SectionAwareChunker, ParentChildChunker)
    chunker = next(one for one in (*by_sentence, *by_section) if one.strategy == settings.strategy)
    values = settings.model_dump(include=set(chunker.model_fields))
    if settings.enrichment == "llm":
        text_room, table_room = chunk_room(counter, SENTENCE_TOKENS + MARGIN)
        values["chunk_size"] = max(_SMALLEST, min(settings.chunk_size, text_room))
        values["table_chunk_size"] = max(_SMALLEST, min(settings.table_chunk_size, table_room))
    return chunker(counter=counter, **values)
