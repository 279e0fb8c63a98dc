"""Runs of pieces to chunks: packed to size with room for their context, and checked against the model's limit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elt_llm_ingest.chunkers.contexts import Contexts
from elt_llm_ingest.chunkers.packing import pack
from elt_llm_ingest.chunkers.pieces import Piece, stripped
from elt_llm_ingest.chunkers.token_index import PassageCounter, TokenIndex
from elt_llm_ingest.parsed_document import BlockKind

# Tokens of context and text apart can be fewer than those of both together.
MARGIN = 3
# Where a span begins and ends at white space its tokens are those it has within the whole text, or for tokenisers that
# join white space to words all but a few of its first one: further than this from the limit there is no need to look.
_CERTAIN = 8
# White space and marks on letters are no tokens of their own: a passage must not grow with them.
_MOST_PER_TOKEN = 64
_PLAIN_SPACE = " \n\t\r"


@dataclass(frozen=True)
class ChunkSpan:
    """A chunk is text[start:end]; `context` is what is embedded and indexed before it, and never cited.

    `tokens` are those of the text alone. `parent` is the larger span to be read in place of this one, where the
    chunker has such.
    """

    start: int
    end: int
    context: str
    kind: BlockKind
    tokens: int
    parent: tuple[int, int] | None = None


@dataclass(frozen=True)
class Sizes:
    """Most tokens of a chunk, of one of table rows, and of what neighbours share."""

    chunk: int
    table: int
    overlap: int


class ChunkMaker:
    """Makes the chunks of one document."""

    def __init__(self, sizes: Sizes, counter: PassageCounter, index: TokenIndex, contexts: Contexts) -> None:
        self._sizes, self._counter, self._index, self._contexts = sizes, counter, index, contexts

    def chunks(self, run: Sequence[Piece]) -> Iterator[ChunkSpan]:
        """The chunks of a run of pieces that no other chunk may share."""
        table = kind_of(run) == "table"
        size = self._sizes.table if table else self._sizes.chunk
        header = max((piece.header for piece in run), key=len) if table else ""
        needed = self._contexts.most_tokens(run[0].start, run[-1].end, header)
        budget = max(1, min(size, self._counter.token_limit - needed - MARGIN))
        for packed in pack(run, budget, 0 if table else min(self._sizes.overlap, budget // 2)):
            context = self._contexts.of(packed[0].start, packed[0].header)
            kind = kind_of(packed)  # a long heading over a table may fill a chunk that has no row
            allowed = self._sizes.table if kind == "table" else self._sizes.chunk
            for start, end, tokens in self._fitting(packed[0].start, packed[-1].end, context, allowed):
                yield ChunkSpan(start, end, context, kind, tokens)

    def _fitting(self, start: int, end: int, context: str, size: int) -> Iterator[tuple[int, int, int]]:
        """The span with its tokens, halved until it fits: a part can have more tokens than it had within the whole."""
        text = self._index.text
        tokens, fits = self._measured(start, end, context, size)
        if end - start <= 1 or fits:
            yield start, end, tokens
            return
        middle = (start + end) // 2
        space = text.rfind(" ", start, middle + 1)
        cut = space if space > start else middle
        for half in (stripped(text, start, cut), stripped(text, cut, end)):
            if half[0] < half[1]:
                yield from self._fitting(*half, context, size)

    def _measured(self, start: int, end: int, context: str, size: int) -> tuple[int, bool]:
        """Tokens of text[start:end], and whether they fit with their context."""
        inside = self._index.count(start, end)
        if end - start > _MOST_PER_TOKEN * size:
            return inside, False
        room = min(size, self._counter.token_limit - self._contexts.tokens(context))
        if inside + _CERTAIN <= room and self._is_certain(start, end):
            return inside, True
        passage = self._index.text[start:end]
        whole = f"{context}\n{passage}" if context else passage
        spans = self._counter.token_spans(whole)
        inside = sum(1 for _, stop in spans if stop > len(whole) - len(passage))
        return inside, len(spans) <= self._counter.token_limit and inside <= size

    def _is_certain(self, start: int, end: int) -> bool:
        """Whether the tokens of text[start:end] are known from the whole text: it lies between white space."""
        text = self._index.text
        begins = start == 0 or text[start - 1] in _PLAIN_SPACE
        return self._index.exact and begins and (end == len(text) or text[end] in _PLAIN_SPACE)


def kind_of(pieces: Sequence[Piece]) -> BlockKind:
    """What pieces are, headings aside: prose if they are of several kinds."""
    kinds = {piece.kind for piece in pieces if piece.kind != "heading"}
    return kinds.pop() if len(kinds) == 1 else "prose" if kinds else "heading"
