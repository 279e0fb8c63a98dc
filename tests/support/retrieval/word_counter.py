"""A counter of tokens that a reader of a test can follow: one a word."""

import re
from typing import Any

from elt_llm_core.settings.tree import ChunkingSettings
from elt_llm_ingest.chunkers import create_chunker
from elt_llm_ingest.chunkers.span_chunker import ChunkSpan, SpanChunker
from elt_llm_ingest.parsing.parsed_document import ParsedDocument


class WordCounter:
    """Counts one token a word, 200 to a chunk."""

    token_limit = 200

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span of each word."""
        return [match.span() for match in re.finditer(r"\S+", text)]


def word_chunker(strategy: str, **settings: Any) -> SpanChunker:
    """A chunker that counts words and shares none between chunks unless asked to."""
    values = {"strategy": strategy, "chunk_overlap": 0, **settings}
    return create_chunker(ChunkingSettings.model_validate(values), WordCounter())


def cut_into_words(document: ParsedDocument, strategy: str, **settings: Any) -> list[tuple[ChunkSpan, str]]:
    """The chunks of a document and their texts."""
    spans = word_chunker(strategy, **settings).spans(document)
    return [(span, document.text[span.start : span.end]) for span in spans]
