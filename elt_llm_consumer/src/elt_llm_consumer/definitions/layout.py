"""The layout of a document (lines, definition sections, page headers, spans), which helps to find definitions."""
# ruff: noqa: RUF001 - look-alike quotes and dashes occur in documents.

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, starmap
from typing import Final

from elt_llm_core.text.languages import word_pattern
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.outline import Section
from elt_llm_query.grounding.sentences import TextPiece, is_table_row

from elt_llm_consumer.definitions.vocabulary import pattern
from elt_llm_consumer.jobs.corpus import CorpusDocument
from elt_llm_consumer.jobs.sections import GlossarySection
from elt_llm_consumer.sentences.words import word_list

_LABEL: Final = pattern("heading_label")
_HERE = re.compile(r"\bin (?:this|these|our) \w{1,20}$")
_GLOSSARY_TITLE: Final = pattern("glossary_title")
_CONDITIONS: Final = pattern("title_of_conditions")
_SUFFIX = re.compile(r"\.\w{1,8}$")
_JOINING: Final = word_list("joining_in_headings")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))


_DIGITS = re.compile(r"\d{1,6}|\b[ivxlc]{1,6}\b")
_PAGE_LINE: Final = pattern("page_line")
# Possessive quantifiers, because dots and spaces can be divided among the groups in very many ways.
_CONTENTS = re.compile(r"(?>(?:\s{0,3}+\.){3,200})\s{0,9}+\d{1,4}\s{0,9}+$|[^|]\|\s{0,9}+\d{1,4}\s{0,9}+$")
_RULE_LINE = re.compile(r"[\s|:+=~*_^-]+$")
_LETTER = re.compile(r"[\W_]{0,9}[^\W_][\W_]{0,9}")  # a heading of one letter, above terms
_EDGE = 2  # number of lines at the top and at the bottom of a page that may be page headers or footers
_MAX_HEADER_LENGTH = 120  # characters of a page header or footer
_OFTEN = 3  # minimum number of pages on which a header or footer is repeated


@dataclass(frozen=True)
class TextLine:
    """A line: text[start:end]. `indent` is in columns; `apart` means that a blank line comes before the line."""

    start: int
    end: int
    text: str
    indent: int
    apart: bool


class DocumentLayout:
    """The lines, pieces (sentences, items, rows) and regions (sections that define terms) of a document.

    All offsets count characters in the document's text. "Furniture" means page headers, page footers and page numbers.
    """

    def __init__(self, document: CorpusDocument, settings: GlossarySection) -> None:
        self.document = document
        self.text = document.text
        self.headers = set[int]()
        """The offsets of the header rows of the definition tables that were read so far."""
        self._headings = sorted(map(_words, settings.headings), key=len, reverse=True)

    @cached_property
    def lines(self) -> tuple[TextLine, ...]:
        """The lines that contain words, without page headers, footers and page numbers."""
        return tuple(line for line in self._all_lines if line.start not in self._furniture)

    def lines_between(self, start: int, end: int) -> tuple[TextLine, ...]:
        """Return the lines that start in text[start:end], without page headers, footers and page numbers."""
        return tuple(line for line in self._all_lines_between(start, end) if line.start not in self._furniture)

    @cached_property
    def pieces(self) -> tuple[TextPiece, ...]:
        """The sentences, list items, table rows and headings, without page headers, footers and page numbers.

        A heading that announces definitions is not part of the sentence on the line below it.
        """
        starts = {start for start, _ in self.regions}
        return tuple(_without_first_line(one) if one.start in starts else one for one in self._plain_pieces)

    @cached_property
    def _plain_pieces(self) -> tuple[TextPiece, ...]:
        return tuple(piece for piece in self.document.pieces if piece.start not in self._furniture)

    @cached_property
    def heading_lines(self) -> frozenset[int]:
        """The offsets at which the lines with headings start."""
        numbers = (bisect_right(self._starts, one.start + 3) - 1 for one in self.document.outline.sections)
        return frozenset(self._starts[number] for number in numbers if number >= 0)

    @cached_property
    def regions(self) -> tuple[tuple[int, int], ...]:
        """The spans of the sections that define terms, in order and without overlap."""
        sections = self.document.outline.sections
        announcing = [section for section in sections if self.announces(section.title)]
        if self._is_glossary and all(section.start == 0 for section in announcing):
            return ((0, len(self.text)),)
        found: list[tuple[int, int]] = []
        for number, section in enumerate(sections):
            if found and section.start < found[-1][1]:
                continue
            if self.announces(section.title):
                following = (one for one in sections[number + 1 :] if one.level <= section.level)
                later = (one.start for one in following if not _LETTER.fullmatch(one.title))
                end = next(later, len(self.text))
                found.append((section.start, min(end, self._next_of_series(section.start) or end)))
        return tuple(found or self._unmarked_regions() or self._indented_regions())

    def _unmarked_regions(self) -> list[tuple[int, int]]:
        """Return the sections below headings without markup that announce definitions, recognized by their look.

        Such a heading is a short separate line, or starts a paragraph and belongs to a series: "1.Definitions".
        """
        headings = (one for one in self._plain_pieces if one.kind == "heading" and not _LETTER.fullmatch(one.text))
        ends = [*(one.start for one in headings), len(self.text)]
        found = list[tuple[int, int]]()
        for line in self.lines:
            if not self.announces(line.text.strip("#= ")):
                continue
            place = bisect_left(ends, line.start)
            end = self._next_of_series(line.start) if line.apart else None
            if end is not None or ends[place] == line.start:
                found.append((line.start, end or ends[place + 1]))
        return found

    def _next_of_series(self, start: int) -> int | None:
        """Return the start of the line after a heading that continues its series: "2.Scope" for "1.Definitions".

        Return None if there is none, or if a list with numbers of the same form comes first.
        """
        lines = self.lines[bisect_left(self.lines, start, key=lambda line: line.start) :]
        own = _SERIES.match(lines[0].text) if lines else None
        if own is None:
            return None
        for line in lines[1:]:
            one = _SERIES.match(line.text) if line.apart and len(line.text) < _MAX_HEADER_LENGTH else None
            if one is None or _series(one) != _series(own):
                continue
            return line.start if int(one["number"]) == int(own["number"]) + 1 else None
        return None

    @property
    def _is_glossary(self) -> bool:
        """Whether the title of the document, or the name of its file, announces definitions."""
        source = self.document.source
        name = _SUFFIX.sub("", source[max(map(source.rfind, "/\\#")) + 1 :])
        title = self.document.title
        titled = self.announces(title) and not _is_one_of_several(title, self.document.outline.sections)
        return titled or self.announces(name.replace("_", " "))

    def _indented_regions(self) -> Iterator[tuple[int, int]]:
        """Yield the sections of manual pages: lines that announce definitions, with more deeply indented text below."""
        lines = self.lines
        for number, (line, below) in enumerate(pairwise(lines)):
            if line.apart and below.indent > line.indent and self.announces(line.text):
                later = (one.start for one in lines[number + 1 :] if one.indent <= line.indent)
                yield line.start, next(later, len(self.text))

    def announces(self, title: str) -> bool:
        """Return whether a title, ignoring its number, announces definitions.

        Such a title consists of configured headings and joining words, or contains a noun such as "glossary".
        """
        bare = _HERE.sub("", _LABEL.sub("", fold(title), count=1))
        if _GLOSSARY_TITLE.match(bare) or _CONDITIONS.match(bare):
            return _CONDITIONS.match(bare) is None
        words = _words(bare)
        found = False
        for name in self._headings:
            starts = (at for at in range(len(words) - len(name) + 1) if words[at : at + len(name)] == name)
            if (start := next(starts, None)) is not None:
                words[start : start + len(name)] = []
                found = True
        return found and _JOINING.issuperset(words)

    def in_region(self, offset: int) -> bool:
        """Return whether `offset` is in a section that defines terms."""
        number = bisect_right(self.regions, offset, key=lambda region: region[0]) - 1
        return number >= 0 and offset < self.regions[number][1]

    def page_between(self, start: int, end: int) -> bool:
        """Return whether a page starts between two offsets."""
        pages = self.document.outline.pages
        return bisect_right(pages, start) != bisect_right(pages, end)

    def without_furniture(self, start: int, end: int) -> str:
        """Return text[start:end] without page headers, page numbers and repeated table headers."""
        kept = self.text[start:end]
        if not (self._furniture or self.headers):
            return kept
        inside = [
            one
            for one in self._all_lines_between(start, end)
            if one.start in self._furniture or one.start in self.headers
        ]
        for line in reversed(inside):
            kept = kept[: max(0, line.start - start)] + kept[line.end - start :]
        return kept

    def indent_at(self, offset: int) -> int:
        """Return the indentation, in columns, of the line that contains `offset`."""
        return self._all_lines[max(0, bisect_right(self._starts, offset) - 1)].indent

    def is_contents(self, line: str) -> bool:
        """Return whether a line belongs to a table of contents."""
        return bool(_CONTENTS.search(line))

    def is_row(self, line: TextLine) -> bool:
        """Return whether a line is a row of a table, and not prose with a vertical bar, such as "ls | wc"."""
        return line.start in self._rows

    def has_rows(self, start: int, end: int) -> bool:
        """Return whether text[start:end] overlaps a row of a table."""
        first = self._starts[max(0, bisect_right(self._starts, start) - 1)]
        return any(line.start in self._rows for line in self._all_lines_between(first, end))

    @cached_property
    def _rows(self) -> frozenset[int]:
        """The offsets of table rows. A line with only one inner bar ("a | b") is a row only next to another row."""
        lines = self.lines
        alike = [is_table_row(line.text) for line in lines]
        joined = {
            place
            for place, (above, line) in enumerate(pairwise(lines), 1)
            if alike[place - 1] and alike[place] and (not line.apart or self.page_between(above.start, line.start))
        }
        return frozenset(
            line.start
            for place, line in enumerate(lines)
            if alike[place] and (place in joined or place + 1 in joined or not _has_one_bar(line.text))
        )

    def _all_lines_between(self, start: int, end: int) -> tuple[TextLine, ...]:
        starts = self._starts
        return self._all_lines[bisect_right(starts, start - 1) : bisect_right(starts, end - 1)]

    @cached_property
    def _starts(self) -> list[int]:
        return [line.start for line in self._all_lines]

    @cached_property
    def _all_lines(self) -> tuple[TextLine, ...]:
        return tuple(_lines(self.text))

    @cached_property
    def _furniture(self) -> frozenset[int]:
        """The offsets of the lines at page edges that repeat on several pages, or that contain only a page number."""
        pages = starmap(self._all_lines_between, pairwise([*self.document.outline.pages, len(self.text)]))
        edges = [line for page in pages for line in {*page[:_EDGE], *page[-_EDGE:]}]
        often = Counter(_DIGITS.sub("#", line.text.casefold()) for line in edges)
        return frozenset(
            line.start
            for line in edges
            if "|" not in line.text
            and (
                _PAGE_LINE.match(line.text)
                or (often[_DIGITS.sub("#", line.text.casefold())] >= _OFTEN and len(line.text) < _MAX_HEADER_LENGTH)
            )
        )


def _is_one_of_several(title: str, sections: Sequence[Section]) -> bool:
    """Return whether a title is that of a numbered section beside others: "Article 4 Definitions", "Article 5 Fees"."""
    own = _NUMBERED.match(title)
    others = (_NUMBERED.match(one.title) for one in sections[1:] if one.level == sections[0].level)
    return own is not None and any(one is not None and one[1].casefold() == own[1].casefold() for one in others)


def _without_first_line(piece: TextPiece) -> TextPiece:
    rest = piece.text.partition("\n")[2]
    if piece.kind == "heading" or not rest.strip():
        return piece
    start = len(piece.text) - len(rest.lstrip())
    return replace(piece, start=piece.start + start, text=piece.text[start:])


def _series(heading: "re.Match[str]") -> tuple[str, str]:
    return heading["before"].casefold().strip(), heading["after"].strip()


def _has_one_bar(line: str) -> bool:
    return line.count("|") == 1 and not line.startswith("|") and "\t" not in line


def _lines(text: str) -> Iterator[TextLine]:
    position, apart = 0, True
    for raw in text.splitlines(keepends=True):
        stripped = _QUOTE_MARKS.sub("", raw.strip(), count=1)
        if stripped and not _RULE_LINE.match(stripped):
            start = position + len(raw.rstrip()) - len(stripped)
            indent = len(raw[: start - position].expandtabs())
            yield TextLine(start, start + len(stripped), stripped, indent, apart)
            apart = False
        elif not stripped:
            apart = True
        position += len(raw)


_NUMBERED = re.compile(r"(\D{0,12}?)\d{1,3}\b")
# The number of a heading: "1.Definitions", "### 1.0 Definitions", "Section 1 - Definitions", "Article 1 - DEFINITIONS".
_SERIES: Final = pattern("heading_in_series")
_QUOTE_MARKS = re.compile(r"^[ \t]{0,9}(?:>(?:[ \t]|$)){1,9}", re.MULTILINE)  # of Markdown
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{0,2000}\)")
_MARKS: Final = pattern("emphasis_marks")
# A number in brackets is a footnote mark only in prose: after a word, but not in "$ARGV[0]" and "f(x)[7]".
_SIGNS = re.compile(
    r"`{1,3}(?P<code>[^`\n]{1,200})`{1,3}|(?<![\w*])(?P<identifier>__(?:[A-Z]{1,40}|[a-z]{1,40})(?:_[A-Za-z]{1,40}){0,5}__)(?!\w)"
    r"|(?<![^\s(\"“„‘'*])(?P<word>(?:[^\W\d_]{2,40}(?:['’-][^\W\d_]{1,40}){0,5}|\d{2,8})[.,;:!?\"”’*]{0,4})"
    r"\s?\[(?:[1-9]\d{0,2}|\^\w{1,20})\](?:\s\[[1-9]\d{0,2}\]){0,9}(?=[\s.,;:!?\"”’)*]|$)"
    r"|\s\[\^\w{1,20}\]|" + _MARKS.pattern
)
_MARKER = re.compile(r"(?P<bullet>[-*+•–—▪◦‣●○■□·])\s|\(?(?P<name>[A-Za-z]{1,5}|\d{1,3}[a-z]?)[.)]\s")
_ROMAN = re.compile(r"[ivx]{1,5}$")
_OPEN_END: Final = pattern("open_end")
# The first item of a list that continues a sentence: "(a) as a servant".
_FIRST_ITEM = re.compile(r"\(?[ai1][.)]\s{1,9}[a-zäöü]")
_CLOSED = re.compile(r"[.!?][\"'”’)\]*_]{0,3}\s*$")
_GOES_ON: Final = pattern("further_scope")
_MAX_MARKS = 4  # maximum number of emphasis and quotation marks before a term
_OPENING = re.compile(r"(?<!\w)[\"“„«‘'*_`]{1,4}$")
_CLOSING = re.compile(r"[\"”“»’'*_`]{1,4}")
_AHEAD = 3  # maximum number of pieces before the next list item
_MAX_LIST_PIECES = 200  # maximum number of pieces of a list that continues a definition
_TAIL_LENGTH = 12  # maximum characters of a final "; and"
_TAIL = word_pattern(r"[\s;,]{1,12}@item_conjunctions@?[\s;,]{0,12}$", re.IGNORECASE)


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at both ends. The result may be empty."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip())) if part.strip() else start


def with_marks(text: str, start: int, end: int, term: tuple[int, int]) -> tuple[int, int]:
    """Return the span. If it starts or ends with the term, include the quotes or emphasis marks around the term."""
    opening = _OPENING.search(text, max(0, term[0] - _MAX_MARKS), term[0])
    if opening and term[0] == start:
        start = opening.start()
    if term[1] == end:
        closing = _CLOSING.match(text, end) if opening else None
        end = closing.end() if closing else end
        if text[end : end + 1] == ")" and text.count("(", start, end) > text.count(")", start, end):
            end += 1
    return start, end


def trim_definition(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without outer white space and without a final "; and", which only leads to the next list item."""
    start, end = trim_span(text, start, end)
    tail = _TAIL.search(text, max(start, end - _TAIL_LENGTH), end)
    return (start, tail.start()) if tail else (start, end)


def one_line(text: str) -> str:
    """Return the text on one line without emphasis, links and footnote marks. Code and identifiers stay as they are."""
    return " ".join(_SIGNS.sub(_kept_part, _LINK.sub(r"\1", _QUOTE_MARKS.sub("", text))).split())


def _kept_part(found: "re.Match[str]") -> str:
    return next((found[name] for name in ("code", "identifier", "word") if found[name] is not None), "")


def marker_style(text: str) -> str:
    """Return the style of a list item's marker: `a`, `A`, `i`, `1`, or the bullet character; empty without a marker."""
    found = _MARKER.match(text)
    if found is None:
        return ""
    if found["bullet"]:
        return found["bullet"]
    name = found["name"]
    if name[0].isdigit():  # "9a" too
        return "1"
    if _ROMAN.match(name):
        return "i"
    return ("A" if name.isupper() else "a") if len(name) <= 2 else ""


def definition_end(layout: DocumentLayout, number: int, end: int) -> int:
    """Return the end of a definition that extends at least to `end`, and whose first sentence is pieces[number].

    The definition may continue in a list, on the next page, or in a sentence such as "It includes ...".
    """
    pieces = layout.pieces
    own = marker_style(pieces[number].text)
    if _is_cut_by_page(layout, number):
        number += 1
        end = pieces[number].end
    if _OPEN_END.search(pieces[number].text) or _is_parted(pieces[number : number + 2], own):
        number = _last_of_list(pieces, number, own)
        end = pieces[number].end
    number += 1
    while number < len(pieces) and _GOES_ON.match(pieces[number].text) and not pieces[number].new_paragraph:
        end, number = pieces[number].end, number + 1
    return end


def _is_parted(pieces: Sequence[TextPiece], own: str) -> bool:
    """Return whether the first piece is an unfinished sentence that continues in the list items below it."""
    return (
        not own.isalpha()
        and len(pieces) > 1
        and _CLOSED.search(pieces[0].text) is None
        and _FIRST_ITEM.match(pieces[1].text) is not None
    )


def _is_cut_by_page(layout: DocumentLayout, number: int) -> bool:
    """Return whether a page break splits the sentence in pieces[number], so that its rest is the next piece."""
    one, *after = layout.pieces[number : number + 2]
    if not after or not layout.page_between(one.start, after[0].start) or _CLOSED.search(one.text):
        return False
    rest = after[0]
    return rest.kind in ("prose", "item") and rest.text[:1].islower() and not marker_style(rest.text)


def _last_of_list(pieces: Sequence[TextPiece], number: int, own: str) -> int:
    """Return the number of the last piece of the list below pieces[number].

    If pieces[number] is itself an item of an outer list, `own` is the style of its marker, such as "a" for "(a)", else
    "". The next item of the outer list ends the list below, unless both lists have the same style.
    """
    first = ""
    last = number
    for place in range(number + 1, min(len(pieces), number + _MAX_LIST_PIECES)):
        one = pieces[place]
        style = marker_style(one.text)
        if one.kind in ("heading", "row", "rule") or (own and style == own != first):
            break
        continued = one.text[:1].islower() and not _CLOSED.search(pieces[place - 1].text)
        if style:
            first = first or style
        elif not first or (one.new_paragraph and not continued):
            break
        last = place
        ahead = pieces[place + 1 : place + 1 + _AHEAD]
        if _CLOSED.search(one.text) and all(marker_style(piece.text) != first for piece in ahead):
            break
    return last
