"""Sentences packed to size, whatever the sections."""

from collections.abc import Sequence
from typing import ClassVar

from elt_llm_ingest.chunkers.pieces import CutDocument, Piece
from elt_llm_ingest.chunkers.span_chunker import SpanChunker


class SentenceChunker(SpanChunker):
    """Packs sentence after sentence; a chunk may run from one section into the next."""

    strategy: ClassVar[str] = "sentence"

    def groups(self, cut: CutDocument) -> list[Sequence[Piece]]:
        """One run: the whole document."""
        return [cut.pieces] if cut.pieces else []
