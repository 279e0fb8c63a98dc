"""A simple token counter for tests: one token per word."""

import re
from typing import Any

from elt_llm_core.settings.tree import ChunkingSettings
from elt_llm_ingest.chunkers import create_chunker
from elt_llm_ingest.chunkers.span_chunker import ChunkSpan, SpanChunker
from elt_llm_ingest.parsing.parsed_document import ParsedDocument


class WordCounter:
    """Counts one token per word, with 200 tokens per chunk."""

    token_limit = 200

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span of each word."""
        return [match.span() for match in re.finditer(r"\S+", text)]


def word_chunker(strategy: str, **settings: Any) -> SpanChunker:
    """Return a chunker that counts words; its chunks do not overlap unless requested."""
    values = {"strategy": strategy, "chunk_overlap": 0, **settings}
    return create_chunker(ChunkingSettings.model_validate(values), WordCounter())


def cut_into_words(document: ParsedDocument, strategy: str, **settings: Any) -> list[tuple[ChunkSpan, str]]:
    """The chunks of a document and their texts."""
    spans = word_chunker(strategy, **settings).spans(document)
    return [(span, document.text[span.start : span.end]) for span in spans]
