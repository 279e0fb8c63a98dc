"""The result of every reader: one text with its pages, sections, blocks, parts and metadata."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from elt_llm_core.store.records import MetadataValue
from elt_llm_core.text.outline import Outline, Section

BlockKind = Literal["prose", "heading", "list", "table", "rule", "definition", "code"]


# A year alone, or at the start or end of a date: 2024, 2024-03-01, 20240301, D:20240301, 1 March 2024, 03/01/2024.
_YEAR_IN_DATE = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)|(?<!\d)(1[5-9]\d\d|20\d\d)(?=[01]\d[0-3]\d)")
_SEARCHED_LENGTH = 100


def known_values(**values: MetadataValue | None) -> dict[str, MetadataValue]:
    """Return the metadata values that are neither empty nor None."""
    return {key: value for key, value in values.items() if value not in ("", None)}


def find_year(*dates: str) -> int | None:
    """Return the first year between 1500 and 2099 in the dates, or None."""
    matches = (_YEAR_IN_DATE.search(date[:_SEARCHED_LENGTH]) for date in dates)
    return next((int(match.group(1) or match.group(2)) for match in matches if match), None)


def find_web_address(values: Iterable[str]) -> str:
    """Return the first value that is a web address, or ""."""
    return next((value for value in values if value.startswith(("https://", "http://"))), "")


@dataclass(frozen=True)
class Block:
    """A paragraph, heading, list item or table row at text[start:end]. `header` is the header row above a table row."""

    start: int
    end: int
    kind: BlockKind
    header: str = ""


def strip_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return (start, end) of text[start:end] without the white space at its ends."""
    if start < end and not text[start].isspace() and not text[end - 1].isspace():
        return start, end
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def fill_gaps(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks, and the text between them, such as link definitions and thematic breaks, as blocks of prose."""
    position = 0
    for block in (*blocks, Block(len(text), len(text), "prose")):
        start, end = strip_span(text, position, block.start)
        if end > start:
            yield Block(start, end, "prose")
        if block.end > block.start:
            yield block
        position = max(position, block.end)


@dataclass(frozen=True)
class ParsedDocument:
    """The text of a file and its structure. All offsets count characters of `text` and ascend.

    `pages[i]` is the offset of page i + 1. `pages` is empty if the format has no pages. `blocks` do not overlap, and
    only white space is between them. `notes` are sentences for the ingest report, such as "page 3 has no text layer".

    `metadata` may contain `authors` (joined by "; "), `year` (a number), `url`, and `page_unit` ("slide", "sheet" or
    "diagram" if the format has no pages). `parts` are separate documents inside the file. `artefacts` are JSON values
    by name, such as an enterprise model, that are stored with the collection.
    """

    text: str
    title: str
    pages: tuple[int, ...] = ()
    sections: tuple[Section, ...] = ()
    blocks: tuple[Block, ...] = ()
    metadata: dict[str, MetadataValue] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    parts: tuple["Part", ...] = ()
    artefacts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def outline(self) -> Outline:
        """The pages and sections as an outline, which finds the page and headings of an offset."""
        return Outline(self.pages, self.sections)

    @property
    def characters(self) -> int:
        """The number of characters in the text and in all parts."""
        return len(self.text) + sum(len(part.document.text) for part in self.parts)

    def page_at(self, offset: int) -> int | None:
        """Return the number (from 1) of the page that contains an offset; None if the format has no pages."""
        return self.outline.page_at(offset)

    def section_path(self, offset: int) -> tuple[str, ...]:
        """Return the titles of the headings above an offset, outermost first."""
        return self.outline.section_path(offset)


@dataclass(frozen=True)
class Part:
    """A document inside a file, such as one fact sheet of an inventory.

    `name` is unique in the file; the part is stored as `file#name`. A job may split a file by `group`, such as a type.
    """

    name: str
    group: str
    document: ParsedDocument
