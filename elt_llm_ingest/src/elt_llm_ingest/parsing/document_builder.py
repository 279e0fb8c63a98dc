"""Build a parsed document block by block, with offsets, marked terms and unique part names."""

import re
from collections.abc import Mapping
from typing import Any

from elt_llm_core.store.records import MetadataValue
from elt_llm_core.text.outline import MARKED_TERMS_ARTEFACT, MarkedTerms, Pair, Section, Span

from elt_llm_ingest.parsing.parsed_document import Block, BlockKind, ParsedDocument

MAX_TERM_LENGTH = 100


def collapse_blanks(text: str) -> str:
    """Return the text with single blanks in its lines and without its empty lines."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


class TermMarks:
    """Collect the spans of the terms that the markup of a document marks."""

    def __init__(self) -> None:
        self._definitions: list[Pair] = []
        self._terms: list[Span] = []
        self._leading: list[Span] = []

    def define(self, term: Span, body: Span) -> None:
        """Add a term of a definition list with its meaning."""
        self._definitions.append((*term, *body))

    def name(self, start: int, end: int) -> None:
        """Add a term that is marked as the one its sentence defines; ignore spans that are empty or too long."""
        if 0 < end - start <= MAX_TERM_LENGTH:
            self._terms.append((start, end))

    def lead(self, start: int, end: int) -> None:
        """Add emphasised words at the start of a paragraph; ignore spans that are empty or too long."""
        if 0 < end - start <= MAX_TERM_LENGTH:
            self._leading.append((start, end))

    def lead_after(self, span: Span, text: str, label: str, term: str) -> None:
        """Add `term` if the block `text` at `span` consists of `label`, `term` and more words."""
        term = " ".join(term.split())
        offset = len(label) + 1 if label else 0
        if term and len(text) == span[1] - span[0] and text.startswith(term, offset):
            self.lead(span[0] + offset, span[0] + offset + len(term))

    def artefacts(self) -> dict[str, Any]:
        """The artefact of a document; no entry if nothing is marked."""
        # Elements of one kind may be nested around the same words.
        marked = MarkedTerms(
            tuple(sorted(set(self._definitions))), tuple(sorted(set(self._terms))), tuple(sorted(set(self._leading)))
        )
        return {MARKED_TERMS_ARTEFACT: marked.to_json()} if marked else {}


class DefinitionListMarks:
    """Mark one definition list: several terms may share a meaning, and a meaning may have several parts."""

    def __init__(self, marks: TermMarks) -> None:
        self._marks = marks
        self._terms: list[Span] = []
        self._bodies: list[Span] = []

    def term(self, span: Span | None) -> None:
        """Add the span of the next term; None if the term has no words."""
        if self._bodies:
            self.end()
        if span:
            self._terms.append(span)

    def body(self, span: Span | None) -> None:
        """Add the span of a meaning, or of a further part of it; None if it has no words."""
        if span:
            self._bodies.append(span)

    def styled(self, style: str, span: Span | None) -> None:
        """Add a paragraph by the role of its style: `term` or `body`. Any other role ends the list."""
        {"term": self.term, "body": self.body}.get(style, lambda _: self.end())(span)

    def end(self) -> None:
        """End the meaning of the terms so far."""
        for term in self._terms:
            # Markup that is wrongly nested may put a term into its own body.
            if self._bodies and term[1] <= self._bodies[0][0]:
                self._marks.define(term, (self._bodies[0][0], self._bodies[-1][1]))
        self._terms, self._bodies = [], []


class DocumentBuilder:
    """Append blocks to a growing text, separated by an empty line, or by a line end where `tight`.

    `marks` are the terms that the markup of the file names.
    """

    def __init__(self) -> None:
        self.marks = TermMarks()
        self._parts: list[str] = []
        self._length = 0
        self._pages: list[int] = []
        self._pending_pages = 0
        self._sections: list[Section] = []
        self._blocks: list[Block] = []

    @property
    def end(self) -> str:
        """The text that was appended last; empty after a heading."""
        return self._parts[-1] if self._blocks and self._blocks[-1].kind != "heading" else ""

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self._blocks)

    def span(self, first: int, stop: int | None = None) -> tuple[int, int] | None:
        """The start and end of blocks[first:stop] in the text; None if there are none."""
        blocks = self._blocks[max(0, first) : stop]
        return (blocks[0].start, blocks[-1].end) if blocks else None

    def start_page(self) -> None:
        """Start a new page with the next block."""
        self._pending_pages += 1

    def add(self, text: str, kind: BlockKind = "prose", *, header: str = "", tight: bool = False) -> None:
        """Append a block without the white space around it; ignore an empty one."""
        if text := text.strip():
            start = self._append(text, "\n" if tight else "\n\n")
            self._blocks.append(Block(start, self._length, kind, header))

    def add_heading(self, text: str, level: int) -> None:
        """Append a heading, which opens a section; ignore an empty one."""
        if text := text.strip():
            start = self._append(text, "\n\n")
            self._blocks.append(Block(start, self._length, "heading"))
            self._sections.append(Section(start, level, " ".join(text.split())))

    def resume(self, text: str) -> None:
        """Continue the last block, as a paragraph does on the next page."""
        block = self._blocks[-1]
        self._append(text.strip(), " ")
        self._blocks[-1] = Block(block.start, self._length, block.kind, block.header)

    def build(
        self, title: str, metadata: Mapping[str, MetadataValue] | None = None, notes: tuple[str, ...] = ()
    ) -> ParsedDocument:
        """Return the document; pages without a block after the last one are empty pages at its end."""
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
        self._pages += [offset] * self._pending_pages
        self._pending_pages = 0


class UniqueNames:
    """Give every name once: a name that is taken becomes the first free of `name~2`, `name~3`, ..."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return `wanted` where it is free, else `wanted` with a number."""
        name = wanted
        while name in self._taken:
            self._last[wanted] = self._last.get(wanted, 1) + 1
            name = f"{wanted}~{self._last[wanted]}"
        self._taken.add(name)
        return name


_MAX_NAME_LENGTH = 100
_INVALID_CHARACTERS = re.compile(r"[^\w.~:/-]", re.ASCII)


class PartNames(UniqueNames):
    """Unique names `kind/id` in which every character that is invalid in an id or a path is replaced."""

    def part_name(self, kind: str, identifier: str) -> str:
        """Return a name such as entity/1f0c; the second of two names that look alike gets a number."""
        fitting = _INVALID_CHARACTERS.sub("-", identifier[:_MAX_NAME_LENGTH]).strip("/.") or "-"
        return self.take(f"{kind}/{fitting.replace('..', '-').replace('//', '/')}")
