"""Markdown: the text is the source as it stands but for inline pictures; headings, lists, tables, code by line."""

import html
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

from elt_llm_core.outline import Section
from markdown_it import MarkdownIt
from markdown_it.token import Token

from elt_llm_ingest.parsed_document import Block, BlockKind, ParsedDocument
from elt_llm_ingest.readers.charset import decode
from elt_llm_ingest.readers.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.readers.front_matter import front_matter_metadata, split_front_matter
from elt_llm_ingest.readers.headings import begins_rule
from elt_llm_ingest.readers.inline_images import without_inline_images

_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,2000}\)")
_MARKS = re.compile(r"[*`]|\{#[\w-]{1,100}\}|(?<!\w)_|_(?!\w)")


class MarkdownReader(DocumentReader):
    """Reads .md; front matter becomes metadata and is no part of the text, so that no answer quotes it.

    The text is the source below it, without the pictures written into it as `data:` addresses.
    """

    name: ClassVar[str] = "markdown"
    version: ClassVar[int] = 3

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument if it is not text."""
        source, notes = decode(read_bytes(path))
        whole = without_inline_images(source.replace("\f", "\n"))
        body, values = split_front_matter(whole)
        text = whole[body:].lstrip("\n") if body else whole
        blocks, sections = _Outline(text).parse()
        heading = next((section.title for section in sections if section.level == 1 and section.title), "")
        title = values.get("title") or heading or values.get("name") or path.stem
        return ParsedDocument(text, title, (), sections, blocks, front_matter_metadata(values), notes)


class _Outline:
    """The block tokens of markdown-it, which carry line numbers, as spans of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
        self.sections: list[Section] = []

    def parse(self) -> tuple[tuple[Block, ...], tuple[Section, ...]]:
        return tuple(_without_gaps(self.text, list(self._blocks()))), tuple(self.sections)

    def _blocks(self) -> Iterator[Block]:
        parser = MarkdownIt("commonmark").enable("table")
        # Inline markup stays as written, so it need not be parsed.
        parser.core.ruler.enableOnly(["normalize", "block"])
        header: str | None = None  # none before a table's first row, empty if that has no words
        for token in parser.parse(self.text):
            span = self._span(token)
            if token.type == "table_open":
                header = None
            elif token.type == "tr_open" and token.level <= 2 and span[1] > span[0]:
                end = self._below(token, span[1]) if header is None else span[1]
                yield Block(span[0], end, "table", header or "")
                header = self._cells(span) if header is None else header
            elif token.level == 1 and token.type == "list_item_open" and span[1] > span[0]:
                yield Block(*span, "list")
            elif token.level == 0 and span[1] > span[0]:
                yield from self._block(token, span)

    def _block(self, token: Token, span: tuple[int, int]) -> Iterator[Block]:
        match token.type:
            case "heading_open":
                if title := heading_text(self._slice(span)):
                    self.sections.append(Section(span[0], int(token.tag[1]), title))
                yield Block(*span, "heading")
            case "fence" | "code_block":
                yield Block(*span, "code")
            case "paragraph_open" | "blockquote_open" | "html_block":
                yield Block(*span, "rule" if begins_rule(self._slice(span)[:80]) else "prose")

    def _slice(self, span: tuple[int, int]) -> str:
        return self.text[span[0] : span[1]]

    def _below(self, token: Token, end: int) -> int:
        """Where the line under a table's header ends, the one that rules it off."""
        first = token.map[0] if token.map else 0
        return max(end, min(self.offsets[min(first + 2, len(self.offsets) - 1)] - 1, len(self.text)))

    def _cells(self, span: tuple[int, int]) -> str:
        return self._slice(span).split("\n")[0].strip("| \t")

    def _span(self, token: Token) -> tuple[int, int]:
        if not token.map or token.nesting < 0:
            return 0, 0
        first, last = (min(line, len(self.offsets) - 1) for line in token.map)
        return _stripped(self.text, self.offsets[first], min(self.offsets[last], len(self.text)))


def heading_text(source: str) -> str:
    """A heading without its marks: `## **Scope** [x](y)` is `Scope x`."""
    lines = [line for line in source.split("\n") if line.strip("=- \t")]
    bare = " ".join(lines).strip().strip("#").strip()
    return html.unescape(" ".join(_MARKS.sub("", _LINK.sub(r"\1", bare)).split())) or bare


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _without_gaps(text: str, blocks: list[Block]) -> Iterator[Block]:
    """The blocks, and what lies between them (link definitions, rules, table separators) as prose."""
    position = 0
    kind: BlockKind = "prose"
    for block in [*blocks, Block(len(text), len(text), kind)]:
        start, end = _stripped(text, position, block.start)
        if end > start:
            yield Block(start, end, kind)
        if block.end > block.start:
            yield block
        position = max(position, block.end)
