"""The contract of a chunker: LlamaIndex's NodeParser over spans of the text."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, NodeRelationship, TextNode
from pydantic import Field, SkipValidation

from elt_llm_ingest.chunkers.chunk_spans import MARGIN, ChunkMaker, ChunkSpan, Sizes
from elt_llm_ingest.chunkers.contexts import Contexts, header_budget, path_budget
from elt_llm_ingest.chunkers.packing import tables_apart
from elt_llm_ingest.chunkers.pieces import CutDocument, Piece, split_into_pieces, tokens_of
from elt_llm_ingest.chunkers.token_index import PassageCounter, TokenIndex
from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.llama_document import from_llama_document


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

    def pieces(self, document: ParsedDocument, index: TokenIndex, text_size: int, row_size: int) -> list[Piece]:
        """What is packed: together all that is not white space, none above its size in tokens."""
        return split_into_pieces(document, index, text_size, row_size)

    def runs(self, cut: CutDocument, group: Sequence[Piece]) -> list[Sequence[Piece]]:
        """A group as it is where it fits into one chunk; else its tables apart from its prose."""
        return [group] if tokens_of(group[0], group[-1]) <= cut.text_size else tables_apart(group)

    def spans(self, document: ParsedDocument) -> list[ChunkSpan]:
        """The chunks of a document, ascending by start."""
        cut = self._cut(document)
        return list(self._chunks(cut, self.groups(cut)))

    def _chunks(self, cut: CutDocument, groups: Iterable[Sequence[Piece]]) -> Iterator[ChunkSpan]:
        sizes = Sizes(self.chunk_size, self.table_chunk_size, self.chunk_overlap)
        maker = ChunkMaker(sizes, self.counter, cut.index, Contexts(cut.document, self.counter))
        for group in groups:
            for run in self.runs(cut, group):
                yield from maker.chunks(run)

    def _cut(self, document: ParsedDocument) -> CutDocument:
        index = TokenIndex(document.text, self.counter)
        room = self.counter.token_limit - path_budget(self.counter) - MARGIN
        table_room = room - header_budget(self.counter)
        text_size, row_size = max(1, min(self.chunk_size, room)), max(1, min(self.table_chunk_size, table_room))
        pieces = self.pieces(document, index, text_size, row_size)
        return CutDocument(document, index, pieces, text_size, row_size)

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
                    **parent_of(span),
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


def parent_of(span: ChunkSpan) -> dict[str, int]:
    """The span to be read in place of a chunk, as metadata of its node; empty if it has none."""
    return {"parent_start": span.parent[0], "parent_end": span.parent[1]} if span.parent else {}
