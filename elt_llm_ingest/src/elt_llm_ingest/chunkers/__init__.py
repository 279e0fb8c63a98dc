"""Chunkers cut a parsed document into spans, one strategy per module, imported when one is created."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import ChunkingSettings

    from elt_llm_ingest.chunkers.span_chunker import SpanChunker
    from elt_llm_ingest.chunkers.token_index import TokenCounter


def create_chunker(settings: "ChunkingSettings", counter: "TokenCounter") -> "SpanChunker":
    """Create the configured chunker; `counter` is the embedding model that will embed its chunks."""
    sizes = _chunk_sizes(settings, counter)
    match settings.strategy:
        case "markdown":
            from elt_llm_ingest.chunkers.markdown import MarkdownChunker

            return MarkdownChunker(counter=counter, **sizes)
        case "sentence":
            from elt_llm_ingest.chunkers.sentence import SentenceChunker

            return SentenceChunker(counter=counter, **sizes)
        case "table_aware":
            from elt_llm_ingest.chunkers.sentence import TableAwareChunker

            return TableAwareChunker(counter=counter, **sizes)
        case "recursive":
            from elt_llm_ingest.chunkers.recursive import RecursiveChunker

            return RecursiveChunker(counter=counter, separators=settings.separators, **sizes)
        case "section_aware":
            from elt_llm_ingest.chunkers.section_aware import SectionAwareChunker

            return SectionAwareChunker(counter=counter, **sizes)
        case "parent_child":
            from elt_llm_ingest.chunkers.parent_child import ParentChildChunker

            return ParentChildChunker(counter=counter, parent_size=settings.parent_size, **sizes)


def _chunk_sizes(settings: "ChunkingSettings", counter: "TokenCounter") -> dict[str, Any]:
    """The configured sizes, reduced to leave room for written contexts if enrichment is enabled."""
    sizes = settings.model_dump(include={"chunk_size", "chunk_overlap", "table_chunk_size"})
    if settings.enrichment == "llm":
        from elt_llm_ingest.chunkers.span_chunker import MARGIN, SENTENCE_TOKENS, header_budget, path_budget

        room = counter.token_limit - path_budget(counter) - SENTENCE_TOKENS - 2 * MARGIN
        sizes["chunk_size"] = max(16, min(settings.chunk_size, room))
        sizes["table_chunk_size"] = max(16, min(settings.table_chunk_size, room - header_budget(counter)))
    return sizes
