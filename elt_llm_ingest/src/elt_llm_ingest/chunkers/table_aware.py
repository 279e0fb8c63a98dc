"""Tables apart from prose, row by row; prose as the sentence chunker has it."""

from collections.abc import Sequence
from typing import ClassVar

from elt_llm_ingest.chunkers.packing import tables_apart
from elt_llm_ingest.chunkers.pieces import CutDocument, Piece
from elt_llm_ingest.chunkers.sentence import SentenceChunker


class TableAwareChunker(SentenceChunker):
    """Packs sentences, and rows into chunks of their own: no row is cut that fits, each knows its header row.

    A heading right above a table goes with its first rows.
    """

    strategy: ClassVar[str] = "table_aware"

    def runs(self, cut: CutDocument, group: Sequence[Piece]) -> list[Sequence[Piece]]:
        """Tables and prose apart, however small the document."""
        return tables_apart(group)
