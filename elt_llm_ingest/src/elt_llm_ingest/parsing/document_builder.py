"""Build a parsed document block by block, and collect terms that its markup defines and problems of its file."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from elt_llm_core.store.records import MetadataValue
from elt_llm_core.text.outline import MARKED_TERMS_ARTEFACT, MarkedTerms, Pair, Section, Span

from elt_llm_ingest.parsing.parsed_document import Block, BlockKind, ParsedDocument

MAX_TERM_LENGTH = 100


STRUCK_OUT = "holds struck-out text, which is not read"

EMBEDDED = "holds an embedded object, which is not read"


def blank_for(struck: str) -> str:
    """Return what remains of struck-out text: a blank if it starts or ends with one, so that no words run together."""
    return " " if struck != struck.strip() else ""


_RAISED = re.compile(r"\s?[-+\u2212\u2013]?\d")


def is_power(base: str, raised: str) -> bool:
    """Return whether superscript text would run into the number before it: 10 with a raised 6 is not 106."""
    return base[-1:].isdigit() and bool(_RAISED.match(raised))


def collapse_blanks(text: str) -> str:
    """Return the text with single blanks between words and without empty lines."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


class TermMarks:
    """Collects the spans of terms that a document defines, according to its markup (definition lists, emphasis)."""

    def __init__(self) -> None:
        # Sets, since nested elements can mark the same words twice.
        self._definitions: set[Pair] = set()
        self._terms: set[Span] = set()
        self._leading: set[Span] = set()

    def define(self, term: Span, body: Span) -> None:
        """Add the span of a term in a definition list with the span of its definition."""
        self._definitions.add((*term, *body))

    def name(self, start: int, end: int) -> None:
        """Add the span of a term that is defined where it occurs (HTML: `<dfn>`). Ignore empty and overlong spans."""
        if 0 < end - start <= MAX_TERM_LENGTH:
            self._terms.add((start, end))

    def lead(self, start: int, end: int) -> None:
        """Add the span of emphasised words at the start of a paragraph: they may be a term. Ignore overlong spans."""
        if 0 < end - start <= MAX_TERM_LENGTH:
            self._leading.add((start, end))

    def lead_after(self, span: Span, text: str, label: str, term: str) -> None:
        """Add the span of `term` if the block `text` at `span` starts with it, after `label`: "2.1 Member means"."""
        term = " ".join(term.split())
        offset = len(label) + 1 if label else 0
        if term and len(text) == span[1] - span[0] and text.startswith(term, offset):
            self.lead(span[0] + offset, span[0] + offset + len(term))

    def artefacts(self) -> dict[str, Any]:
        """Return the collected terms as JSON values to store with the document, or {} if there are none."""
        definitions, terms, leading = sorted(self._definitions), sorted(self._terms), sorted(self._leading)
        marked = MarkedTerms(tuple(definitions), tuple(terms), tuple(leading))
        return {MARKED_TERMS_ARTEFACT: marked.to_json()} if marked else {}


class DefinitionListMarks:
    """Collects the terms of one definition list. Several terms may share a definition, which may have several parts."""

    def __init__(self, marks: TermMarks) -> None:
        self._marks = marks
        self._terms: list[Span] = []
        self._bodies: list[Span] = []

    def term(self, span: Span | None) -> None:
        """Add the span of the next term. `span` is None for a term without words."""
        if self._bodies:
            self.end()
        if span:
            self._terms.append(span)

    def body(self, span: Span | None) -> None:
        """Add the span of a definition, or of a further part of it. `span` is None for a part without words."""
        if span:
            self._bodies.append(span)

    def styled(self, style: str, span: Span | None) -> None:
        """Add a paragraph by the role of its style: `term`, or `body` for a definition. Another role ends the list."""
        {"term": self.term, "body": self.body}.get(style, lambda _: self.end())(span)

    def end(self) -> None:
        """End the current definition, so that the next term starts a new entry."""
        for term in self._terms:
            # Wrongly nested markup may put a term into its own definition.
            if self._bodies and term[1] <= self._bodies[0][0]:
                self._marks.define(term, (self._bodies[0][0], self._bodies[-1][1]))
        self._terms, self._bodies = [], []


class DocumentBuilder:
    """Builds a document by appending blocks. `marks` collects the terms that the file's markup marks as defined."""

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
        """The text that was appended last, or "" after a heading."""
        return self._parts[-1] if self._blocks and self._blocks[-1].kind != "heading" else ""

    @property
    def count(self) -> int:
        """The number of blocks that were appended so far."""
        return len(self._blocks)

    @property
    def last(self) -> Span:
        """The start and end offset of the text that was appended last."""
        return self._length - len(self._parts[-1] if self._parts else ""), self._length

    def span(self, first: int, stop: int | None = None) -> tuple[int, int] | None:
        """Return the start and end offset of blocks[first:stop] in the text, or None if there are no such blocks."""
        blocks = self._blocks[max(0, first) : stop]
        return (blocks[0].start, blocks[-1].end) if blocks else None

    def start_page(self) -> None:
        """Start a new page at the next block."""
        self._pending_pages += 1

    def add(self, text: str, kind: BlockKind = "prose", *, header: str = "", tight: bool = False) -> None:
        """Append the stripped text as a block, unless it is empty. If `tight`, no empty line precedes the block."""
        if text := text.strip():
            start = self._append(text, "\n" if tight else "\n\n")
            self._blocks.append(Block(start, self._length, kind, header))

    def add_lines(self, lines: Iterable[str], kind: BlockKind = "prose") -> None:
        """Append each line as a block, without empty lines between them."""
        for number, line in enumerate(lines):
            self.add(line, kind, tight=number > 0)

    def add_heading(self, text: str, level: int) -> None:
        """Append a heading, which opens a section. Ignore a heading without words."""
        if text := text.strip():
            start = self._append(text, "\n\n")
            self._blocks.append(Block(start, self._length, "heading"))
            self._sections.append(Section(start, level, " ".join(text.split())))

    def resume(self, text: str, separator: str = " ") -> None:
        """Append further text to the last block, such as the rest of a paragraph that continues on the next page."""
        block = self._blocks[-1]
        self._append(text.strip(), separator)
        self._blocks[-1] = Block(block.start, self._length, block.kind, block.header)

    def build(
        self, title: str, metadata: Mapping[str, MetadataValue] | None = None, notes: tuple[str, ...] = ()
    ) -> ParsedDocument:
        """Return the document. Pages that were started after the last block become empty pages at its end."""
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
    """Makes names unique: if `name` is already in use, the first unused of `name~2`, `name~3` and so on replaces it."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return the wanted name, with a number added if an earlier call already returned the name."""
        name = wanted
        while name in self._taken:
            self._last[wanted] = self._last.get(wanted, 1) + 1
            name = f"{wanted}~{self._last[wanted]}"
        self._taken.add(name)
        return name


_MAX_NAME_LENGTH = 100
_INVALID_CHARACTERS = re.compile(r"[^\w.~:/-]", re.ASCII)


class PartNames(UniqueNames):
    """Makes unique names for document parts, `kind/id`, that are valid in ids and paths."""

    def part_name(self, kind: str, identifier: str) -> str:
        """Return a name such as entity/1f0c, with a number added if an earlier part already has the name."""
        fitting = _INVALID_CHARACTERS.sub("-", identifier[:_MAX_NAME_LENGTH]).strip("/.") or "-"
        return self.take(f"{kind}/{fitting.replace('..', '-').replace('//', '/')}")


def list_names(names: list[str], most: int = 5) -> str:
    """List the first `most` names, each shortened to 60 characters, and the number of omitted names."""
    shown = [name if len(name) <= 60 else f"{name[:59]}…" for name in names[:most]]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown) + more


class FileProblems:
    """Collects a file's problems in the order of first occurrence, each with the names of the affected entities."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def add(self, problem: str, name: str) -> None:
        """Add a problem, a plural noun such as "fact sheets without an id", and the name of an affected entity."""
        self._found.setdefault(problem, []).append(name)

    @property
    def notes(self) -> tuple[str, ...]:
        """One line per problem: the problem, its count and the first few names."""
        return tuple(f"{problem}: {len(names)} ({list_names(names)})" for problem, names in self._found.items())
