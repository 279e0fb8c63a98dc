"""Chunkers cut a parsed document into spans. Their modules are imported only when a chunker is created."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import ChunkingSettings

    from elt_llm_ingest.chunkers.pieces import TokenCounter
    from elt_llm_ingest.chunkers.span_chunker import SpanChunker
_SMALLEST = 16  # the smallest chunk size in tokens, even if a context leaves less room


def create_chunker(settings: "ChunkingSettings", counter: "TokenCounter") -> "SpanChunker":
    """Create the configured chunker. `counter` counts tokens: it is the embedding model that will embed the chunks."""
    from elt_llm_ingest.chunkers.markdown import MarkdownChunker, ParentChildChunker, SentenceChunker, TableAwareChunker
    from elt_llm_ingest.chunkers.recursive import RecursiveChunker
    from elt_llm_ingest.chunkers.section_aware import SectionAwareChunker

    sizes = _chunk_sizes(settings, counter)
    match settings.strategy:
        case "markdown":
            return MarkdownChunker(counter=counter, **sizes)
        case "sentence":
            return SentenceChunker(counter=counter, **sizes)
        case "table_aware":
            return TableAwareChunker(counter=counter, **sizes)
        case "recursive":
            return RecursiveChunker(counter=counter, separators=settings.separators, **sizes)
        case "section_aware":
            return SectionAwareChunker(counter=counter, **sizes)
        case "parent_child":
            return ParentChildChunker(counter=counter, parent_size=settings.parent_size, **sizes)


def _chunk_sizes(settings: "ChunkingSettings", counter: "TokenCounter") -> dict[str, Any]:
    """Return the configured chunk sizes. If a language model adds a sentence to each context, leave room for it."""
    sizes = settings.model_dump(include={"chunk_size", "chunk_overlap", "table_chunk_size"})
    if settings.enrichment == "llm":
        from elt_llm_ingest.chunkers.span_chunker import MARGIN, SENTENCE_TOKENS, chunk_room

        text_room, table_room = chunk_room(counter, SENTENCE_TOKENS + MARGIN)
        sizes["chunk_size"] = max(_SMALLEST, min(settings.chunk_size, text_room))
        sizes["table_chunk_size"] = max(_SMALLEST, min(settings.table_chunk_size, table_room))
    return sizes
