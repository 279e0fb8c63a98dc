"""The contract of a chunker: LlamaIndex's NodeParser over spans of the text."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, NodeRelationship, TextNode
from pydantic import Field, SkipValidation

from elt_llm_ingest.chunkers.contexts import Contexts, header_budget, path_budget
from elt_llm_ingest.chunkers.packing import pack, tables_apart
from elt_llm_ingest.chunkers.pieces import CutDocument, Piece, split_into_pieces, stripped
from elt_llm_ingest.chunkers.token_index import PassageCounter, TokenIndex
from elt_llm_ingest.parsed_document import BlockKind, ParsedDocument
from elt_llm_ingest.readers.llama_document import from_llama_document

# Tokens of context and text apart can be fewer than those of both together.
_MARGIN = 3


@dataclass(frozen=True)
class ChunkSpan:
    """A chunk is text[start:end]; `context` is what is embedded and indexed before it, and never cited."""

    start: int
    end: int
    context: str
    kind: BlockKind


class SpanChunker(NodeParser):
    """Cuts a parsed document into spans that together hold every character that is not white space.

    Spans ascend, have no outer white space, at most `chunk_size` tokens (`table_chunk_size` in tables), and with
    their context at most the counter's limit.
    """

    strategy: ClassVar[str]
    version: ClassVar[int] = 1
    chunk_size: int
    chunk_overlap: int
    table_chunk_size: int
    counter: SkipValidation[PassageCounter] = Field(exclude=True, repr=False)

    @abstractmethod
    def groups(self, cut: CutDocument) -> list[Sequence[Piece]]:
        """The pieces in runs that no chunk may cross."""

    @property
    def fingerprint(self) -> str:
        """Everything that decides where a text is cut, but for the counter."""
        return f"{self.strategy}-{self.version}:{self.chunk_size}:{self.chunk_overlap}:{self.table_chunk_size}"

    def spans(self, document: ParsedDocument) -> list[ChunkSpan]:
        """The chunks of a document, ascending by start."""
        index = TokenIndex(document.text, self.counter)
        contexts = Contexts(document, self.counter)
        room = self.counter.token_limit - path_budget(self.counter) - _MARGIN
        table_room = room - header_budget(self.counter)
        text_size, row_size = max(1, min(self.chunk_size, room)), max(1, min(self.table_chunk_size, table_room))
        found: list[ChunkSpan] = []
        cut = CutDocument(document, index, split_into_pieces(document, index, text_size, row_size))
        for group in self.groups(cut):
            whole = index.count(group[0].start, group[-1].end) <= text_size
            for run in [group] if whole else tables_apart(group):
                found += self._chunks(run, index, contexts)
        return found

    def _chunks(self, run: Sequence[Piece], index: TokenIndex, contexts: Contexts) -> Iterator[ChunkSpan]:
        table = _kind(run) == "table"
        size = self.table_chunk_size if table else self.chunk_size
        header = max((piece.header for piece in run), key=len) if table else ""
        needed = contexts.most_tokens(run[0].start, run[-1].end, header)
        budget = max(1, min(size, self.counter.token_limit - needed - _MARGIN))
        for packed in pack(run, index, budget, 0 if table else min(self.chunk_overlap, budget // 2)):
            context = contexts.of(packed[0].start, packed[0].header)
            start, end = packed[0].start, packed[-1].end
            kind = _kind(packed)  # a long heading over a table may fill a chunk that has no row
            for part in self._fitting(index.text, start, end, context, size if kind == "table" else self.chunk_size):
                yield ChunkSpan(*part, context, kind)

    def _fitting(self, text: str, start: int, end: int, context: str, size: int) -> Iterator[tuple[int, int]]:
        """The span, halved until it fits: a part of a text can have more tokens than it had within the whole."""
        if end - start <= 1 or self._fits(context, text[start:end], size):
            yield start, end
            return
        middle = (start + end) // 2
        space = text.rfind(" ", start, middle + 1)
        cut = space if space > start else middle
        for half in (stripped(text, start, cut), stripped(text, cut, end)):
            if half[0] < half[1]:
                yield from self._fitting(text, *half, context, size)

    def _fits(self, context: str, passage: str, size: int) -> bool:
        whole = f"{context}\n{passage}" if context else passage
        spans = self.counter.token_spans(whole)
        inside = sum(1 for _, end in spans if end > len(whole) - len(passage))
        return len(spans) <= self.counter.token_limit and inside <= size

    def _parse_nodes(
        self,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,
        **kwargs: Any,
    ) -> list[BaseNode]:
        return [chunk for node in nodes for chunk in self._nodes_of(node)]

    def _nodes_of(self, node: BaseNode) -> Iterator[TextNode]:
        document = from_llama_document(node)
        for span in self.spans(document):
            yield TextNode(
                text=document.text[span.start : span.end],
                start_char_idx=span.start,
                end_char_idx=span.end,
                metadata={
                    "page": document.page_at(span.start),
                    "section": " > ".join(document.section_path(span.start)) or None,
                    "kind": span.kind,
                    "context": span.context,
                },
                relationships={NodeRelationship.SOURCE: node.as_related_node_info()},
            )

    def _postprocess_parsed_nodes(
        self,
        nodes: list[BaseNode],
        parent_doc_map: dict[str, Document],
    ) -> list[BaseNode]:
        """The nodes as they are: the inherited step looks for each text anew and mistakes repeated ones."""
        return nodes


def _kind(pieces: Sequence[Piece]) -> BlockKind:
    kinds = {piece.kind for piece in pieces if piece.kind != "heading"}
    return kinds.pop() if len(kinds) == 1 else "prose" if kinds else "heading"
