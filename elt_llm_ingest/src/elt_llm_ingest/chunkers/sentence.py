"""Pack sentences to size regardless of sections, with or without tables apart."""

from collections.abc import Sequence
from typing import ClassVar

from elt_llm_ingest.chunkers.pieces import DocumentPieces, TextPiece, split_tables
from elt_llm_ingest.chunkers.span_chunker import SpanChunker


class SentenceChunker(SpanChunker):
    """Pack sentences; a chunk may extend from one section into the next."""

    strategy: ClassVar[str] = "sentence"

    def groups(self, cut: DocumentPieces) -> list[Sequence[TextPiece]]:
        """Return the whole document as one run."""
        return [cut.pieces] if cut.pieces else []


class TableAwareChunker(SentenceChunker):
    """Pack sentences, and table rows into separate chunks: a row that fits is never cut, and has its header row.

    A heading right above a table is packed with its first rows.
    """

    strategy: ClassVar[str] = "table_aware"

    def runs(self, cut: DocumentPieces, group: Sequence[TextPiece]) -> list[Sequence[TextPiece]]:
        """Separate tables from prose, even in a small document."""
        return split_tables(group)
