"""Blocks put one after another into a parsed document, with the offsets kept."""

from collections.abc import Mapping

from elt_llm_core.outline import Section
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.parsed_document import Block, BlockKind, ParsedDocument
from elt_llm_ingest.readers.term_marks import TermMarks


class DocumentBuilder:
    """Grows a text block by block. Blocks are parted by an empty line, or by a line end where `tight`.

    `marks` are the terms that the file's markup names in it.
    """

    def __init__(self) -> None:
        self.marks = TermMarks()
        self._parts: list[str] = []
        self._length = 0
        self._pages: list[int] = []
        self._pages_to_begin = 0
        self._sections: list[Section] = []
        self._blocks: list[Block] = []

    @property
    def end(self) -> str:
        """What was appended last, if it was not a heading."""
        return self._parts[-1] if self._blocks and self._blocks[-1].kind != "heading" else ""

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self._blocks)

    def span(self, first: int, stop: int | None = None) -> tuple[int, int] | None:
        """Where blocks[first:stop] begin and end in the text; None if there are none."""
        blocks = self._blocks[max(0, first) : stop]
        return (blocks[0].start, blocks[-1].end) if blocks else None

    def begin_page(self) -> None:
        """The next block begins on a new page."""
        self._pages_to_begin += 1

    def add(self, text: str, kind: BlockKind = "prose", *, header: str = "", tight: bool = False) -> None:
        """Append a block; white space around it is dropped, and so is an empty one."""
        text = text.strip()
        if text:
            start = self._append(text, "\n" if tight else "\n\n")
            self._blocks.append(Block(start, self._length, kind, header))

    def add_heading(self, text: str, level: int) -> None:
        """Append a heading, which opens a section."""
        text = text.strip()
        if text:
            start = self._append(text, "\n\n")
            self._blocks.append(Block(start, self._length, "heading"))
            self._sections.append(Section(start, level, " ".join(text.split())))

    def resume(self, text: str) -> None:
        """Let the last block go on, as a paragraph does on the next page."""
        block = self._blocks[-1]
        self._append(text.strip(), " ")
        self._blocks[-1] = Block(block.start, self._length, block.kind, block.header)

    def build(
        self, title: str, metadata: Mapping[str, MetadataValue] | None = None, notes: tuple[str, ...] = ()
    ) -> ParsedDocument:
        """The document; pages begun after the last block are empty ones at its end."""
        self._open_pages(self._length)
        return ParsedDocument(
            "".join(self._parts),
            title,
            tuple(self._pages),
            tuple(self._sections),
            tuple(self._blocks),
            dict(metadata or {}),
            notes,
            artefacts=self.marks.artefacts(),
        )

    def _append(self, text: str, separator: str) -> int:
        if self._parts:
            self._parts.append(separator)
            self._length += len(separator)
        start = self._length
        self._open_pages(start)
        self._parts.append(text)
        self._length += len(text)
        return start

    def _open_pages(self, offset: int) -> None:
        self._pages += [offset] * self._pages_to_begin
        self._pages_to_begin = 0
