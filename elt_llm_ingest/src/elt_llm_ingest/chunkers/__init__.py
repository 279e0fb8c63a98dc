"""Chunkers: parsed text to spans, one file a strategy; nothing heavy is imported until one is made."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elt_llm_core.settings import ChunkingSettings

    from elt_llm_ingest.chunkers.span_chunker import SpanChunker
    from elt_llm_ingest.chunkers.token_index import PassageCounter


def create_chunker(settings: "ChunkingSettings", counter: "PassageCounter") -> "SpanChunker":
    """The chunker that the settings name, counting with the embedding model that will see its chunks."""
    sizes = _sizes(settings, counter)
    match settings.strategy:
        case "markdown":
            from elt_llm_ingest.chunkers.markdown import MarkdownChunker

            return MarkdownChunker(counter=counter, **sizes)
        case "sentence":
            from elt_llm_ingest.chunkers.sentence import SentenceChunker

            return SentenceChunker(counter=counter, **sizes)
        case "table_aware":
            from elt_llm_ingest.chunkers.table_aware import TableAwareChunker

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


def _sizes(settings: "ChunkingSettings", counter: "PassageCounter") -> dict[str, Any]:
    """The sizes of the settings; where a language model adds to contexts, small enough to leave room for that."""
    sizes = settings.model_dump(include={"chunk_size", "chunk_overlap", "table_chunk_size"})
    if settings.enrichment == "llm":
        from elt_llm_ingest.chunkers.chunk_spans import MARGIN
        from elt_llm_ingest.chunkers.contexts import SENTENCE_TOKENS, header_budget, path_budget

        room = counter.token_limit - path_budget(counter) - SENTENCE_TOKENS - 2 * MARGIN
        sizes["chunk_size"] = max(16, min(settings.chunk_size, room))
        sizes["table_chunk_size"] = max(16, min(settings.table_chunk_size, room - header_budget(counter)))
    return sizes
