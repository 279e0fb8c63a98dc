"""Read plain text: paragraphs, underlined, numbered and capital headings, and pages separated by form feeds."""

from pathlib import Path
from typing import ClassVar

from elt_llm_core.text.outline import Section

from elt_llm_ingest.parsing.charset import decode
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import Block, ParsedDocument
from elt_llm_ingest.readers.headings import kind_of_line, numbered_level, underline_character

# If a text has this many underlined headings, all its headings are underlined: its numbered short lines are list items.
_MIN_UNDERLINED = 3
# If a text has this many numbered headings, all its headings are numbered: an underlined line with a deeper indentation
# is a table's header row, or a caption.
_MIN_NUMBERED = 3
_MIN_CAPITALS = 3  # headings in capitals, such as NAME, SYNOPSIS and OPTIONS
_LEAST_INDENT = 3  # columns of the text below them
_SHORTEST_CAPITALS, _LONGEST_CAPITALS = 4, 60  # characters
_LEVEL_OF_CAPITALS = 2  # the first level is that of a title, which names the document
_ENOUGH = 20  # characters; an underline may be shorter than its heading if it has this length


class PlainTextReader(DocumentReader):
    """Reads .txt, .text and .rst files. The text is unchanged, except that form feeds become line ends."""

    name: ClassVar[str] = "plain"
    version: ClassVar[int] = 5

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is not text."""
        source, notes = decode(read_bytes(path))
        text = source.replace("\f", "\n")
        blocks, sections = _Outline(text).parse()
        title = next((section.title for section in sections[:1] if section.level == 1), path.stem)
        starts = [0, *(i + 1 for i, character in enumerate(source) if character == "\f")] if "\f" in source else []
        pages = tuple(start for start in starts if start < len(source))
        return ParsedDocument(text, title, pages, sections, blocks, notes=notes)


class _Outline:
    """The blocks and sections of a text, found in one pass over its paragraphs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks: list[Block] = []
        self.sections: list[Section] = []
        self.underlines: list[str] = []  # the styles of underlined headings, by level
        self.boxes: frozenset[str | None] = frozenset()  # the characters of lines both above and below a heading
        self.is_underlined = False
        self.has_capitals = False  # whether lines in capitals above indented text are headings, as in manual pages
        self.numbered_indent: int | None = None  # the smallest one, in a text with numbered headings

    def parse(self) -> tuple[tuple[Block, ...], tuple[Section, ...]]:
        paragraphs = paragraph_spans(self.text)
        self.is_underlined = sum(map(self._looks_underlined, paragraphs)) >= _MIN_UNDERLINED
        self.boxes = frozenset(map(self._box, paragraphs))
        numbered = [lines[0] for lines in paragraphs if len(lines) == 1 and numbered_level(self._line(lines[0]))]
        if len(numbered) >= _MIN_NUMBERED:
            self.numbered_indent = min(map(self._indent, numbered))
        self.has_capitals = not self.is_underlined and sum(map(self._has_capital_title, paragraphs)) >= _MIN_CAPITALS
        for lines in paragraphs:
            self._body(lines[self._heading_lines(lines) :])
        return tuple(self.blocks), tuple(self.sections)

    def _heading_lines(self, lines: list[tuple[int, int]]) -> int:
        """Record the heading at the top of a paragraph, if there is one, and return how many lines it has."""
        if len(lines) >= 2 and self._may_be_underlined(lines[0]) and (level := self._underlined(lines)):
            count = 3 if underline_character(self._line(lines[0])) and len(lines) > 2 else 2
        elif len(lines) == 1 and not self.is_underlined and (level := numbered_level(self._line(lines[0]))):
            count = 1
        elif self.has_capitals and self._has_capital_title(lines):
            level, count = _LEVEL_OF_CAPITALS, 1
        else:
            return 0
        titles = [self._line(line).strip() for line in lines[:count] if not underline_character(self._line(line))]
        self.sections.append(Section(lines[0][0], level, " ".join(" ".join(titles).split())))
        self.blocks.append(Block(lines[0][0], lines[count - 1][1], "heading"))
        return count

    def _has_capital_title(self, lines: list[tuple[int, int]]) -> bool:
        """Return whether a paragraph starts with a line in capitals above indented text, such as "OPTIONS"."""
        title = self._line(lines[0])
        indented = len(lines) > 1 and self._indent(lines[0]) == 0 and self._indent(lines[1]) >= _LEAST_INDENT
        return (
            indented
            and title.isupper()
            and _SHORTEST_CAPITALS <= len(title) <= _LONGEST_CAPITALS
            and title[-1] not in ".,;:"
        )

    def _may_be_underlined(self, line: tuple[int, int]) -> bool:
        """Return whether the indentation of a line allows that it is an underlined heading.

        In a text with numbered headings, an underlined line with a deeper indentation than theirs is a table header or
        a caption. The first heading, and texts with at least three underlined headings, are exceptions.
        """
        deeper = self.numbered_indent is not None and self._indent(line) > self.numbered_indent
        return self.is_underlined or not deeper or not self.sections

    def _indent(self, line: tuple[int, int]) -> int:
        return line[0] - (self.text.rfind("\n", 0, line[0]) + 1)

    def _looks_underlined(self, lines: list[tuple[int, int]]) -> bool:
        """Return whether a line such as "----" underlines the first line (or the second, if the first is "----")."""
        texts = [self._line(line) for line in lines[:3]]
        below = texts[1:] if underline_character(texts[0]) else texts
        return len(below) > 1 and bool(underline_character(below[1])) and len(below[1]) >= min(len(below[0]), _ENOUGH)

    def _box(self, lines: list[tuple[int, int]]) -> str | None:
        """Return the character of the lines above and below the first heading of a paragraph, or None."""
        marks = [underline_character(self._line(line)) for line in lines[:3]]
        return marks[0] if len(marks) > 2 and not marks[1] and marks[0] == marks[2] else None

    def _line(self, span: tuple[int, int]) -> str:
        return self.text[span[0] : span[1]]

    def _underlined(self, lines: list[tuple[int, int]]) -> int | None:
        """Return the level of an underlined heading, or None.

        Each new style of underline gets the next level. A heading between two lines is above one with the same line
        only below it.
        """
        over = underline_character(self._line(lines[0]))
        title = lines[1] if over else lines[0]
        under = lines[2] if over and len(lines) > 2 else lines[1]
        mark = underline_character(self._line(under))
        if not mark or (over and over != mark) or underline_character(self._line(title)):
            return None
        if len(self._line(under).strip()) < min(len(self._line(title).strip()), _ENOUGH):
            return None
        key = mark + (over or "")
        for style in (mark * 2, key) if mark in self.boxes else (key,):
            if style not in self.underlines:
                self.underlines.append(style)
        return self.underlines.index(key) + 1

    def _body(self, lines: list[tuple[int, int]]) -> None:
        """Add one block for the paragraph, and one for each line that starts a list item or rule (`12.3 The team`)."""
        block: Block | None = None
        for start, end in lines:
            kind = kind_of_line(self.text[start:end])
            if block is None or kind != "prose":
                block = Block(start, end, kind)
                self.blocks.append(block)
            else:
                block = self.blocks[-1] = Block(block.start, end, block.kind)


def paragraph_spans(text: str) -> list[list[tuple[int, int]]]:
    """Return the spans of the stripped lines of each paragraph. Blank lines separate paragraphs."""
    paragraphs: list[list[tuple[int, int]]] = [[]]
    start = 0
    for line in text.split("\n"):
        bare = line.strip()
        if bare:
            indent = start + line.index(bare[0])
            paragraphs[-1].append((indent, indent + len(bare)))
        elif paragraphs[-1]:
            paragraphs.append([])
        start += len(line) + 1
    return [lines for lines in paragraphs if lines]
