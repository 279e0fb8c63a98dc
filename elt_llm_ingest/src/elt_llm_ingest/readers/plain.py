"""Plain text: paragraphs, underlined and numbered headings; form feeds begin pages."""

from pathlib import Path
from typing import ClassVar

from elt_llm_core.outline import Section

from elt_llm_ingest.parsed_document import Block, BlockKind, ParsedDocument
from elt_llm_ingest.readers.charset import decode
from elt_llm_ingest.readers.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.readers.headings import begins_item, begins_rule, numbered_level, underline_of

# Who underlines headings so many times underlines them all: a short line with a number is then an item of a list.
_MANY = 3


class PlainTextReader(DocumentReader):
    """Reads .txt and .rst; the text is the file's, with form feeds as line ends."""

    name: ClassVar[str] = "plain"
    version: ClassVar[int] = 2

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument if it is not text."""
        source, notes = decode(read_bytes(path))
        text = source.replace("\f", "\n")
        blocks, sections = _Outline(text).parse()
        title = next((section.title for section in sections[:1] if section.level == 1), path.stem)
        return ParsedDocument(text, title, _pages(source), sections, blocks, notes=notes)


def _pages(source: str) -> tuple[int, ...]:
    starts = [0, *(i + 1 for i, character in enumerate(source) if character == "\f")] if "\f" in source else []
    return tuple(start for start in starts if start < len(source))


class _Outline:
    """Lines to blocks and sections, in one pass over the paragraphs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks: list[Block] = []
        self.sections: list[Section] = []
        self.underlines: list[str] = []
        self.is_underlined = False

    def parse(self) -> tuple[tuple[Block, ...], tuple[Section, ...]]:
        found = paragraphs(self.text)
        self.is_underlined = sum(map(self._looks_underlined, found)) >= _MANY
        for lines in found:
            self._body(lines[self._heading_lines(lines) :])
        return tuple(self.blocks), tuple(self.sections)

    def _heading_lines(self, lines: list[tuple[int, int]]) -> int:
        """How many of a paragraph's first lines are a heading, which is recorded."""
        if len(lines) >= 2 and (level := self._underlined(lines)):
            count = 3 if underline_of(self._line(lines[0])) and len(lines) > 2 else 2
        elif len(lines) == 1 and not self.is_underlined and (level := numbered_level(self._line(lines[0]))):
            count = 1
        else:
            return 0
        self._heading(lines[:count], level)
        return count

    def _looks_underlined(self, lines: list[tuple[int, int]]) -> bool:
        """Whether the first line, or that between two lines of marks, has marks under it as long as it is."""
        texts = [self._line(line) for line in lines[:3]]
        below = texts[1:] if underline_of(texts[0]) else texts
        return len(below) > 1 and bool(underline_of(below[1])) and len(below[1]) >= min(len(below[0]), 20)

    def _line(self, span: tuple[int, int]) -> str:
        return self.text[span[0] : span[1]]

    def _underlined(self, lines: list[tuple[int, int]]) -> int | None:
        """The level of a heading with a line under it, or over and under it; levels count by first use."""
        over = underline_of(self._line(lines[0]))
        title = lines[1] if over else lines[0]
        under = lines[2] if over and len(lines) > 2 else lines[1]
        mark = underline_of(self._line(under))
        if not mark or (over and over != mark) or underline_of(self._line(title)):
            return None
        if len(self._line(under).strip()) < min(len(self._line(title).strip()), 20):
            return None
        key = mark + (over or "")
        if key not in self.underlines:
            self.underlines.append(key)
        return self.underlines.index(key) + 1

    def _heading(self, lines: list[tuple[int, int]], level: int) -> None:
        titles = [self._line(line).strip() for line in lines if not underline_of(self._line(line))]
        self.sections.append(Section(lines[0][0], level, " ".join(titles)))
        self.blocks.append(Block(lines[0][0], lines[-1][1], "heading"))

    def _body(self, lines: list[tuple[int, int]]) -> None:
        """One block, or one for each rule or list item where a line opens one."""
        first: int | None = None
        for number, line in enumerate(lines):
            if first is None or self._kind(line) != "prose":
                if first is not None:
                    self._add(lines[first:number])
                first = number
        if first is not None:
            self._add(lines[first:])

    def _add(self, lines: list[tuple[int, int]]) -> None:
        self.blocks.append(Block(lines[0][0], lines[-1][1], self._kind(lines[0])))

    def _kind(self, line: tuple[int, int]) -> BlockKind:
        start = self._line(line)[:80]
        return "rule" if begins_rule(start) else "list" if begins_item(start) else "prose"


def paragraphs(text: str) -> list[list[tuple[int, int]]]:
    """Spans of the lines of each paragraph, stripped of the white space around them; blank lines part paragraphs."""
    found: list[list[tuple[int, int]]] = [[]]
    start = 0
    for line in text.split("\n"):
        bare = line.strip()
        if bare:
            indent = start + line.index(bare[0])
            found[-1].append((indent, indent + len(bare)))
        elif found[-1]:
            found.append([])
        start += len(line) + 1
    return [lines for lines in found if lines]
