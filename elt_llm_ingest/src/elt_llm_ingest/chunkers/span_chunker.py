"""The base class of chunkers: a LlamaIndex NodeParser that cuts a text into spans, with contexts and token limits."""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, NodeRelationship, TextNode
from pydantic import Field, SkipValidation

from elt_llm_ingest.chunkers.pieces import (
    DocumentPieces,
    TextPiece,
    TokenCounter,
    TokenIndex,
    count_tokens,
    pack_pieces,
    split_tables,
)
from elt_llm_ingest.parsing.document_reader import from_llama_document
from elt_llm_ingest.parsing.parsed_document import BlockKind, ParsedDocument, strip_span

_PATH_TOKENS = 40  # the most tokens of the title and headings in a context
_HEADER_TOKENS = 60  # the most tokens of a table's header row in a context
_CHARACTERS_PER_TOKEN = 32  # a generous upper bound for text
SENTENCE_TOKENS = 48  # the most tokens of the sentence that a language model may add to a context


def _context_budgets(counter: TokenCounter) -> tuple[int, int]:
    """Return the maximum number of tokens for the headings, and for the table header row, in a context."""
    return min(_PATH_TOKENS, counter.token_limit // 4), min(_HEADER_TOKENS, counter.token_limit // 4)


def chunk_room(counter: TokenCounter, reserved: int = 0) -> tuple[int, int]:
    """Return how many tokens of text fit into a prose chunk and a table chunk after context and `reserved` tokens."""
    path, header = _context_budgets(counter)
    room = counter.token_limit - path - MARGIN - reserved
    return room, room - header


class ChunkContexts:
    """The contexts (title, headings, table header) of a document's chunks. Equal contexts are tokenised once."""

    def __init__(self, document: ParsedDocument, counter: TokenCounter) -> None:
        self._title = document.title.strip()
        self._counter = counter
        self._path_budget, self._header_budget = _context_budgets(counter)
        self._outline = document.outline
        self._starts = [section.start for section in document.sections]
        self._known: dict[tuple[tuple[str, ...], str], str] = {}
        self._counts: dict[str, int] = {}

    def of(self, start: int, header: str = "") -> str:
        """Return the context of a chunk at `start`, such as "Handbook > Leave", and on a second line the header row."""
        path, number = self._outline.section_path(start), bisect_left(self._starts, start)
        if self._starts[number : number + 1] == [start]:
            path = path[:-1]  # a heading that starts there is in the chunk, not above it
        if (path, header) not in self._known:
            lines = [self._path(path), self._cut(header, self._header_budget)]
            self._known[path, header] = "\n".join(filter(None, lines))
        return self._known[path, header]

    def tokens(self, context: str) -> int:
        """Count the tokens of a context or of a part of it."""
        if context not in self._counts:
            self._counts[context] = len(self._counter.token_spans(context)) if context else 0
        return self._counts[context]

    def most_tokens(self, start: int, end: int, header: str = "") -> int:
        """Return the number of tokens of the longest context that a chunk within text[start:end] can have."""
        inside = self._starts[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        return max(self.tokens(self.of(position, header)) for position in (start, *(offset + 1 for offset in inside)))

    def _path(self, path: tuple[str, ...]) -> str:
        budget = self._path_budget
        # Cut before counting tokens: a heading of a megabyte may be in the context of thousands of chunks.
        most = budget * _CHARACTERS_PER_TOKEN
        titles = [" ".join(title[:most].split()) for title in path[-budget:] if title.strip()]
        if self._title:
            # The first heading of a page often repeats its title.
            titles = [self._title[:most], *(titles[1:] if titles and titles[0] in self._title else titles)]
        while len(titles) > 1 and self.tokens(" > ".join(titles)) > budget:
            del titles[0]
        return self._cut(" > ".join(titles), budget)

    def _cut(self, text: str, budget: int) -> str:
        text = text[: budget * _CHARACTERS_PER_TOKEN]
        if self.tokens(text) <= budget:
            return text
        return text[: self._counter.token_spans(text)[budget][0]].rstrip()


# Tokens kept in reserve, since a context and a text can have more tokens together than separately.
MARGIN = 3
# A span between white space has almost the same number of tokens alone as in the whole text. If it has this many fewer
# tokens than the limit allows, its tokens are not counted again.
_CERTAIN_MARGIN = 8
# Limits the size of chunks even if the tokenizer makes no tokens of white space and diacritics.
_MAX_CHARACTERS_PER_TOKEN = 64
_PLAIN_SPACE = " \n\t\r"


@dataclass(frozen=True)
class ChunkSpan:
    """The chunk text[start:end]. Its `context` is embedded and indexed in front of the text, but never cited.

    `tokens` counts the tokens of the text without the context. `parent` is the (start, end) of the larger span that an
    answer reads instead of the chunk, if there is one.
    """

    start: int
    end: int
    context: str
    kind: BlockKind
    tokens: int
    parent: tuple[int, int] | None = None


class ChunkMaker:
    """Makes the chunks of one document."""

    def __init__(self, chunker: "SpanChunker", cut: DocumentPieces) -> None:
        self._chunker, self._counter, self._index = chunker, chunker.counter, cut.index
        self._contexts = ChunkContexts(cut.document, chunker.counter)

    def chunks(self, run: Sequence[TextPiece]) -> Iterator[ChunkSpan]:
        """Pack a run (consecutive pieces, such as sentences) into chunks, and yield the chunks."""
        table = chunk_kind(run) == "table"
        size = self._chunker.table_chunk_size if table else self._chunker.chunk_size
        header = max((piece.header for piece in run), key=len) if table else ""
        needed = self._contexts.most_tokens(run[0].start, run[-1].end, header)
        budget = max(1, min(size, self._counter.token_limit - needed - MARGIN))
        for packed in pack_pieces(run, budget, 0 if table else min(self._chunker.chunk_overlap, budget // 2)):
            context = self._contexts.of(packed[0].start, packed[0].header)
            kind = chunk_kind(packed)  # a long heading above a table may fill a chunk without any row
            allowed = self._chunker.table_chunk_size if kind == "table" else self._chunker.chunk_size
            for start, end, tokens in self._fitting(packed[0].start, packed[-1].end, context, allowed):
                yield ChunkSpan(start, end, context, kind, tokens)

    def _fitting(self, start: int, end: int, context: str, size: int) -> Iterator[tuple[int, int, int]]:
        """Yield (start, end, tokens) of a span, or of its halves if it has too many tokens when tokenised alone."""
        text = self._index.text
        tokens, fits = self._measured(start, end, context, size)
        if end - start <= 1 or fits:
            yield start, end, tokens
            return
        middle = (start + end) // 2
        space = text.rfind(" ", start, middle + 1)
        cut = space if space > start else middle
        for half in (strip_span(text, start, cut), strip_span(text, cut, end)):
            if half[0] < half[1]:
                yield from self._fitting(*half, context, size)

    def _measured(self, start: int, end: int, context: str, size: int) -> tuple[int, bool]:
        """Return the token count of text[start:end], and whether the span fits together with its context."""
        inside = self._index.count(start, end)
        if end - start > _MAX_CHARACTERS_PER_TOKEN * size:
            return inside, False
        room = min(size, self._counter.token_limit - self._contexts.tokens(context))
        if inside + _CERTAIN_MARGIN <= room and self._is_certain(start, end):
            return inside, True
        chunk = self._index.text[start:end]
        whole = f"{context}\n{chunk}" if context else chunk
        spans = self._counter.token_spans(whole)
        inside = sum(1 for _, stop in spans if stop > len(whole) - len(chunk))
        return inside, len(spans) <= self._counter.token_limit and inside <= size

    def _is_certain(self, start: int, end: int) -> bool:
        """Whether white space surrounds text[start:end], so that it has the same tokens alone as in the whole text."""
        text = self._index.text
        after_space = start == 0 or text[start - 1] in _PLAIN_SPACE
        return self._index.exact and after_space and (end == len(text) or text[end] in _PLAIN_SPACE)


def chunk_kind(pieces: Sequence[TextPiece]) -> BlockKind:
    """Return the kind (such as prose or table) of the pieces other than headings; prose if their kinds differ."""
    kinds = {piece.kind for piece in pieces if piece.kind != "heading"}
    return kinds.pop() if len(kinds) == 1 else "prose" if kinds else "heading"


class SpanChunker(NodeParser):
    """Cuts a parsed document into spans that together contain all text except white space.

    Spans are in ascending order, without white space at their ends. They have at most `chunk_size` tokens
    (`table_chunk_size` in tables), and together with their context at most as many as the embedding model accepts.
    """

    strategy: ClassVar[str]
    version: ClassVar[int] = 3
    chunk_size: int
    chunk_overlap: int
    table_chunk_size: int
    counter: SkipValidation[TokenCounter] = Field(exclude=True, repr=False)

    @abstractmethod
    def groups(self, cut: DocumentPieces) -> list[Sequence[TextPiece]]:
        """Return the pieces (sentences or rows) in groups. A chunk never contains pieces of two groups."""

    @property
    def fingerprint(self) -> str:
        """The settings that decide how a text is cut, as one string: strategy, version and chunk sizes."""
        return f"{self.strategy}-{self.version}:{self.chunk_size}:{self.chunk_overlap}:{self.table_chunk_size}"

    def runs(self, cut: DocumentPieces, group: Sequence[TextPiece]) -> list[Sequence[TextPiece]]:
        """Divide a group into runs. A run is a sequence of pieces that are packed into chunks together.

        A group that fits into one chunk is one run. In a larger group, tables and prose are separate runs.
        """
        return [group] if count_tokens(group[0], group[-1]) <= cut.text_size else split_tables(group)

    def spans(self, document: ParsedDocument) -> list[ChunkSpan]:
        """Return the chunks of a document in ascending order of their start."""
        cut = self._cut(document)
        return list(self._chunks(cut, self.groups(cut)))

    def _chunks(self, cut: DocumentPieces, groups: Iterable[Sequence[TextPiece]]) -> Iterator[ChunkSpan]:
        maker = ChunkMaker(self, cut)
        for group in groups:
            for run in self.runs(cut, group):
                yield from maker.chunks(run)

    def _cut(self, document: ParsedDocument) -> DocumentPieces:
        text_room, table_room = chunk_room(self.counter)
        text_size, row_size = max(1, min(self.chunk_size, text_room)), max(1, min(self.table_chunk_size, table_room))
        return DocumentPieces(document, TokenIndex(document.text, self.counter), text_size, row_size)

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
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
                    **parent_metadata(span),
                },
                relationships={NodeRelationship.SOURCE: node.as_related_node_info()},
            )

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        """Return the nodes unchanged. LlamaIndex's method would search for their texts, and mistake equal texts."""
        return nodes


def parent_metadata(span: ChunkSpan) -> dict[str, int]:
    """Return the parent span of a chunk as metadata for the chunk's node; empty if the chunk has no parent."""
    return {"parent_start": span.parent[0], "parent_end": span.parent[1]} if span.parent else {}
