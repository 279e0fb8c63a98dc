"""Read HTML: the visible main part of a page with headings, lists, tables, defined terms and metadata."""
# ruff: noqa: RUF001 - the labels of list items have dashes.

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue
from elt_llm_core.text.outline import Span
from selectolax.lexbor import LexborHTMLParser, LexborNode

from elt_llm_ingest.parsing.charset import decode
from elt_llm_ingest.parsing.document_builder import (
    STRUCK_OUT,
    DefinitionListMarks,
    DocumentBuilder,
    blank_for,
    is_power,
)
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import BlockKind, ParsedDocument, find_web_address, find_year, known_values
from elt_llm_ingest.readers.headings import format_number, starts_rule
from elt_llm_ingest.readers.tables import SpannedText, table_lines

EMPHASIS = frozenset(("b", "strong", "i", "em", "dfn"))
_SPACE = re.compile(r"\s+")
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))  # where a line may break within a word
# A table that contains tables or headings serves only for layout, and one with lists or code if it has no header row.
_LAYOUT = "table table, td h1, td h2, td h3"
_LISTS = "td ul, td ol, td pre"
_LONGEST_CELL = 100  # words, in a table with lists or code
# At the end of a term, these separate it from its definition.
_CLOSED = (".", ":", ";", ",", "!", "=", "-", "\u2013", "\u2014", "\u2192")
_QUOTES = "\"'\u2018\u201c\u201e\u00ab ("


class LinePiece(NamedTuple):
    """A part of a line of text. `term` is the number of the `dfn` element (defined term) around this part, or 0."""

    text: str
    emphasis: bool
    term: int


class OpenEmphasis:
    """The open elements for emphasis, such as `em`. Each emphasises only the first line with text inside it."""

    def __init__(self) -> None:
        self._open: list[tuple[bool, int]] = []
        self._ended = self._terms = 0

    @property
    def current(self) -> tuple[bool, int]:
        """Whether text at the current position is emphasised, and the number of the `dfn` element around it, or 0."""
        return self._open[-1] if len(self._open) > self._ended else (False, 0)

    def open(self, tag: str) -> None:
        """Record the start of an element such as `em` or `dfn`."""
        emphasis, term = self.current
        if tag == "dfn":
            self._terms += not term
            self._open.append((emphasis, term or self._terms))
        else:
            self._open.append((True, term))

    def close(self) -> None:
        """Record the end of the innermost open element."""
        del self._open[-1:]
        self._ended = min(self._ended, len(self._open))

    def end_line(self) -> None:
        """End a line with text: elements still open, such as an unclosed `em`, emphasise no later text."""
        self._ended = len(self._open)


def mark_line_terms(builder: DocumentBuilder, pieces: Iterable[LinePiece], marker: str) -> None:
    """Mark the terms of the last block: every `dfn`, and emphasised words at its start (after a list marker)."""
    offset, _ = builder.last
    terms: dict[int, Span] = {}
    lead: Span | None = None
    has_followed = False
    for piece, (start, end) in _visible_spans(pieces):
        if piece.term:
            terms[piece.term] = (terms.get(piece.term, (start, end))[0], end)
        if piece.emphasis and not has_followed:
            lead = (lead or (start, end))[0], end
        has_followed = has_followed or (lead is not None and not piece.emphasis)
    for start, end in terms.values():
        builder.marks.name(offset + start, offset + end)
    if lead is None:
        return
    # Emphasis may start before the list item that contains its text.
    text = builder.end
    start = max(lead[0], len(marker) + 1) if marker and text.startswith(f"{marker} ") else lead[0]
    if text[:start].removeprefix(marker).strip(_QUOTES) == "":
        builder.marks.lead(offset + start, offset + lead[1])


def _visible_spans(pieces: Iterable[LinePiece]) -> Iterator[tuple[LinePiece, Span]]:
    """Yield each part of a line that has words, and the words' span in the line after white space is collapsed."""
    length, after_blank = 0, True
    for piece in pieces:
        shown = _SPACE.sub(" ", piece.text)
        shown = shown.removeprefix(" ") if after_blank else shown
        if words := shown.strip():
            start = length + shown.index(words)
            yield piece, (start, start + len(words))
        length += len(shown)
        after_blank = shown.endswith(" ") if shown else after_blank


_HEADING_TAGS = {f"h{level}": level for level in range(1, 7)}
_INLINE_TAGS = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"),
        *("img", "ins", "kbd", "label", "mark", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "span"),
        *("strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
        *("math", "semantics", "mrow", "mstyle", "mpadded", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt"),
        *("mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mfenced", "nobr", "picture"),
    )
)
# The signs between the parts of an equation, as Word writes equations in one line: 1/2, x^2, ∑_(i=1)^n.
_SIGNS = {"mfrac": "/", "msup": "^", "msub": "_", "msubsup": "_^", "munderover": "_^"}
_ITEM_TAGS: Mapping[str, BlockKind] = {"li": "list", "dt": "definition", "dd": "definition"}
# Titles in the HTML of the Official Journal of the European Union, which are paragraphs with these classes.
_TITLES = {"doc-ti": 1, "ti-section-1": 2, "ti-section-2": 2, "ti-art": 3, "sti-art": 4, "ti-grseq-1": 4}
_TITLE_CLASSES = {**_TITLES, **{f"oj-{name}": level for name, level in _TITLES.items()}}
# The first cell of a table row that is used as a list item: "(1)", "a)", "iv.", "2.1", or a bullet.
_LABEL_CELL = re.compile(
    r"\(?(?:\d{1,3}(?:\.\d{1,3}){0,3}|[a-zA-Z]{1,2}|[ivxIVX]{1,6})[.)]|\d{1,3}(?:\.\d{1,3}){1,3}|[-–—•·▪◦‣●○■□]"
)
_NUMBER_STYLE = re.compile(r"(?<!\w)(lower|upper)-?(alpha|latin|roman)(?!\w)")
_UNMARKED = re.compile(r"list-style(?:-type)?:\s?none|\blegislative-list\b")
_NUMBER_NAMES = {"alpha": "Letter", "latin": "Letter", "roman": "Roman"}
_MOST_TERMS = 40  # of one definition, with the white space between them
_MOST_SPANNED = 1000  # cells that one cell may cover; HTML allows 65,534 rows
# The classes of boxes beside the text, as DocBook, Sphinx and MkDocs write them.
_NOTES = frozenset(("note", "warning", "caution", "tip", "important", "danger", "admonition"))
_NOTE_NUMBER = re.compile(r"\[\d{1,3}\]")
_NOTE_LINKS = frozenset(("doc-noteref", "noteref", "footnote-reference", "footnote-ref", "footnoteref"))


class HtmlBlockWriter:
    """Appends the elements of a tree to a document, without recursion, since trees may be nested to any depth."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self._builder = builder
        self._line: list[LinePiece] = []
        self._kind: BlockKind = "prose"
        self._tight = False
        self._bare = ""
        self._numbers: Counter[int] = Counter()
        self._definitions = [DefinitionListMarks(builder.marks)]
        # Of each open dt and dd: the number of blocks before it, and the spans of the text that it continues.
        self._entries: list[tuple[int, list[Span]]] = []
        self._part = ""  # the last li, dt or dd, or "note" after the title of a note
        self._titled = -1  # the number of blocks after a term, or after the title of a note
        self._emphasis = OpenEmphasis()

    def write(self, root: LexborNode) -> None:
        """Append the content of an HTML element to the document."""
        pending: list[tuple[LexborNode, bool]] = [(root, False)]
        while pending:
            node, leaving = pending.pop()
            if leaving:
                self._leave(node.tag or "")
            elif not self._leaf(node):
                if not _is_inline(node) or node.tag in EMPHASIS:
                    self._enter(node)
                    pending.append((node, True))
                pending += [(child, False) for child in reversed(list(node.iter(include_text=True)))]
        self._flush()
        self._definitions[-1].end()

    def _append(self, text: str) -> None:
        self._line.append(LinePiece(text.translate(_UNSEEN), *self._emphasis.current))

    def _line_text(self) -> str:
        return _SPACE.sub(" ", "".join(piece.text for piece in self._line)).strip()

    def _leave(self, tag: str) -> None:
        if tag in EMPHASIS:
            self._emphasis.close()
            return
        self._flush()
        self._kind, self._tight = "prose", False
        if tag == "dl":
            self._definitions.pop().end()
        elif tag in ("dt", "dd"):
            count, lines = self._entries.pop()
            block = self._builder.span(count, count + 1)
            first = min([*lines[:1], *([block] if block else [])], default=None)
            if tag == "dt":
                self._definitions[-1].term(first)
            else:
                self._definitions[-1].body(first and (first[0], self._builder.last[1]))

    def _enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in EMPHASIS:
            self._emphasis.open(tag)
            return
        line = self._line_text() if tag in ("p", "div", "td") else ""
        if line and (line == self._bare or (tag == "p" and _NOTE_NUMBER.fullmatch(line))):
            # This paragraph or cell contains the item's or footnote's text, which is written with the waiting marker.
            self._append(" ")
            return
        self._flush()
        if tag == "dl":
            self._definitions.append(DefinitionListMarks(self._builder.marks))
            self._titled = -1
        elif tag in ("dt", "dd"):
            self._entries.append((self._builder.count, []))
            self._titled = self._titled if tag == "dd" or _shares_definition(node) else -1
        if tag == "tr" and (label := _item_label(node)):
            self._kind, self._tight = "list", False
            self._append(f"{label} ")
            self._bare = label
        elif tag in _ITEM_TAGS:
            self._kind, self._part = _ITEM_TAGS[tag], tag
            self._tight = tag == "dd" or _follows_item(node)
            marker = self._marker(node)
            self._append(marker)
            self._bare = marker.strip()

    def _marker(self, node: LexborNode) -> str:
        """Return the marker of a list item: its number in an ordered list, else a bullet."""
        parent = node.parent
        if node.tag != "li":
            return ""
        if parent is None or parent.tag != "ol":
            return "\u2022 "
        if _UNMARKED.search(f"{parent.attributes.get('style') or ''} {parent.attributes.get('class') or ''}"):
            return ""  # the text of the items has the numbers
        numbers, key = self._numbers, parent.mem_id
        own = node.attributes.get("value") or (parent.attributes.get("start") if key not in numbers else "") or ""
        numbers[key] = int(own) if own.isdecimal() and len(own) < 9 else numbers[key] + 1
        return f"{format_number(numbers[key], _number_style(parent))}. "

    def _leaf(self, node: LexborNode) -> bool:
        """Write a node as a whole and return True, or return False if its children must be written one by one."""
        tag = node.tag or ""
        if tag == "-text":
            self._append(node.text_content or "")
        elif tag == "a" and (mark := _note_mark(node)):
            self._append(mark)
        elif tag == "br":
            self._flush(tight=True)
        elif _is_note_title(node):
            self._flush()
            self._builder.add(_single_line(node))
            self._part, self._titled = "note", self._builder.count
        elif tag in _HEADING_TAGS:
            self._flush()
            self._builder.add_heading(_single_line(node), _HEADING_TAGS[tag])
        elif tag == "pre":
            self._flush()
            self._builder.add(_joined_text(node, "\n").strip("\n").expandtabs(4), "code")
        elif tag == "p" and (level := _title_level(node)):
            self._flush()
            self._builder.add_heading(_single_line(node), level)
        elif tag in ("td", "th") and _is_item_label(node):
            return True  # The label was written together with its row.
        elif tag == "table" and not _is_layout(node) and not _is_list(node):
            self._flush()
            self._write_table(node)
        else:
            return tag.startswith(("-", "!", "_"))
        return True

    def _flush(self, *, tight: bool = False) -> None:
        text = self._line_text()
        line, self._line = self._line, []
        if text:
            self._emphasis.end_line()
        if text and text not in (self._bare, "\u00b6"):
            kind: BlockKind = "rule" if self._kind == "prose" and starts_rule(text[:80]) else self._kind
            if self._titled == self._builder.count and (self._kind == "definition" or self._part == "note"):
                self._builder.resume(text, self._joint())
            else:
                self._builder.add(text, kind, tight=self._tight)
            self._tight = tight
            mark_line_terms(self._builder, line, self._bare)
            if self._entries:
                self._entries[-1][1].append(self._builder.last)
            is_term = self._kind == "definition" and self._part == "dt" and not text.endswith("?")
            self._titled = self._builder.count if is_term else -1

    def _joint(self) -> str:
        """Return what joins a line to the term above it: "Term: definition", "term, second term: definition"."""
        return ", " if self._part == "dt" else " " if self._builder.end.endswith(_CLOSED) else ": "

    def _write_table(self, table: LexborNode) -> None:
        """Append the rows of a table as `cell | cell`. A row of header cells is the header of the rows below it.

        Header rows at the top are joined to one, and so are the columns over which figures and their marks are spread.
        """
        caption = table.css_first("caption")
        if caption:
            self._builder.add(_single_line(caption))
        header, first = "", caption is None
        covered: dict[int, tuple[int, SpannedText]] = {}
        rows: list[list[SpannedText]] = []
        named: list[bool] = []
        for row in table.css("tr"):
            cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
            rows.append(list(_filled_cells(cells, covered)))
            named.append(len(cells) > 1 and all(cell.tag == "th" for cell in cells))
        for text, is_header in table_lines(rows, named):
            self._builder.add(text, "table", header="" if is_header else header, tight=not first)
            header, first = text if is_header else header, False


def _is_note_title(node: LexborNode) -> bool:
    """Return whether an element is the title of a box such as "Note". No section starts there."""
    if "admonition-title" in (node.attributes.get("class") or "").split():
        return True
    parent = node.parent if node.tag in _HEADING_TAGS else None
    return parent is not None and not _NOTES.isdisjoint((parent.attributes.get("class") or "").split())


def _shares_definition(term: LexborNode) -> bool:
    """Return whether text follows a term and the terms right after it. In tables of contents, it does not."""
    node: LexborNode | None = term
    for _ in range(_MOST_TERMS):
        node = node.next if node is not None else None
        if node is None or node.tag == "dd":
            break
    inner = next((child for child in node.iter() if child.tag), None) if node is not None and node.tag == "dd" else node
    return node is not None and node.tag == "dd" and (inner is None or inner.tag != "dl")


def _number_style(ordered: LexborNode) -> str:
    """Return how the items of an ordered list are numbered, such as "a" or "lowerRoman"."""
    attributes = ordered.attributes
    style = _NUMBER_STYLE.search(f"{attributes.get('style') or ''} {attributes.get('class') or ''}".casefold())
    return (attributes.get("type") or "1") if style is None else f"{style[1]}{_NUMBER_NAMES[style[2]]}"


def _title_level(paragraph: LexborNode) -> int:
    """Return the heading level of a paragraph whose class marks a title in the EU's Official Journal, else 0."""
    classes = (paragraph.attributes.get("class") or "").split()
    return next((_TITLE_CLASSES[name] for name in classes if name in _TITLE_CLASSES), 0)


def _item_label(row: LexborNode) -> str:
    """Return the label, such as "(1)", of a table row that is used as a list item (label and text), else ""."""
    cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
    label = _single_line(cells[0]) if len(cells) == 2 else ""
    return label if _LABEL_CELL.fullmatch(label) and _count_words(cells[1]) > 0 else ""


def _is_item_label(cell: LexborNode) -> bool:
    row = cell.parent
    first = next((one for one in row.iter() if one.tag in ("td", "th")), None) if row is not None else None
    return first is not None and row is not None and first.mem_id == cell.mem_id and bool(_item_label(row))


def _is_layout(table: LexborNode) -> bool:
    """Return whether a table only arranges parts of a page, so that its cells are not read as rows."""
    if table.css_first(_LAYOUT) is not None or table.css_first(_LISTS) is None:
        return table.css_first(_LAYOUT) is not None
    first = table.css_first("tr")
    names = [cell.tag for cell in first.iter() if cell.tag in ("td", "th")] if first else []
    return len(names) < 2 or "td" in names or any(_count_words(cell) > _LONGEST_CELL for cell in table.css("td"))


def _is_list(table: LexborNode) -> bool:
    """Return whether each row of a table is a list item, as in legal texts that use tables to indent lists."""
    rows = table.css("tr")[:_MOST_SPANNED]
    return bool(rows) and all(_item_label(row) for row in rows)


def _filled_cells(cells: Iterable[LexborNode], covered: dict[int, tuple[int, SpannedText]]) -> Iterator[SpannedText]:
    """Yield the texts of a row. The text of a spanning cell is repeated in all columns and rows that the cell covers.

    `covered` describes spanning cells in the rows above: it maps a column to the number of rows that such a cell still
    covers, and the cell's text. The call updates it for the next row.
    """
    cells = list(cells)
    column = 0
    for cell in [*cells, None]:
        while column in covered:
            rows, above = covered.pop(column)
            if rows > 1:
                covered[column] = (rows - 1, above)
            yield above
            column += 1
        if cell is not None:
            text, down = _single_line(cell), _span_of(cell, "rowspan")
            # A cell that is alone in its row is a title of the rows below, and is written once.
            across = _span_of(cell, "colspan") if len(cells) > 1 else 1
            for number in range(across):
                if down > 1:
                    covered[column] = (down - 1, (text, number > 0))
                yield text, number > 0
                column += 1


def _span_of(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or "1"
    return min(max(int(value), 1), _MOST_SPANNED) if value.isdecimal() and len(value) < 6 else 1


def _note_mark(link: LexborNode) -> str:
    """Return a mark such as `[1]` for a link to a note if the link's text is a number, else ""."""
    attributes, parent = link.attributes, link.parent
    raised = parent is not None and parent.tag == "sup" and (attributes.get("href") or "").startswith("#")
    roles = (attributes.get("role") or attributes.get("epub:type") or "", *(attributes.get("class") or "").split())
    text = link.text().strip() if raised or _NOTE_LINKS.intersection(roles) else ""
    return f"[{text}]" if text.isdecimal() else ""


def _single_line(node: LexborNode) -> str:
    return _SPACE.sub(" ", _joined_text(node, " ").translate(_UNSEEN)).replace("\u00b6", "").strip()


def _joined_text(root: LexborNode, separator: str) -> str:
    """Return the text of an element as a browser shows it, with a separator between lines, such as those of `div`."""
    parts: list[str] = [""]
    pending: list[LexborNode | str] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            parts += [node] if not parts[-1].endswith(node) else []
        elif node.tag == "-text":
            parts.append(node.text_content or "")
        elif node.tag == "br":
            parts.append(separator)
        elif node.tag == "a" and (mark := _note_mark(node)):
            parts.append(mark)
        else:
            inner = list(node.iter(include_text=True))
            apart = [] if _is_inline(node) or node.mem_id == root.mem_id else [separator]
            sign = "\u2022 " if node.tag == "li" else " " if _is_note_number(node, parts[-1]) else ""
            pending += [*apart, *reversed(inner), *([sign] if sign and separator == " " else []), *apart]
    return "".join(parts)


def _is_note_number(node: LexborNode, before: str) -> bool:
    """Return whether a raised number is not part of the word before it: "Total" with a raised 1, but not m2."""
    return node.tag == "sup" and len(before) > 2 and before[-3:].isalpha() and node.text().strip().isdecimal()


def _is_inline(node: LexborNode) -> bool:
    """Return whether an element does not start a new line. A page's own elements, such as `my-word`, do not either."""
    return node.tag in _INLINE_TAGS or "-" in (node.tag or "")


def _follows_item(node: LexborNode) -> bool:
    before = node.prev
    if before is not None and before.tag == "-text":
        before = before.prev
    return before is not None and before.tag in ("li", "dd")


# Keys in order of preference. Only the first key with values is used, since pages often name their authors twice.
_AUTHOR_KEYS = ("citation_author", "dc.creator", "dcterms.creator", "author", "article:author")
_DATE_KEYS = (
    *("citation_publication_date", "citation_date", "citation_year", "dcterms.issued", "dc.date.issued", "dc.date"),
    *("article:published_time", "dcterms.created", "datepublished", "date", "pubdate", "dcterms.modified"),
)
_URL_KEYS = ("citation_public_url", "citation_abstract_html_url", "og:url")
_MAX_VALUES = 20
_MAX_VALUE_LENGTH = 1000


def html_metadata(tree: LexborHTMLParser) -> dict[str, MetadataValue]:
    """Return the language, description, authors, year and web address of a page, if the page states them."""
    meta = _meta_values(tree)
    root = tree.css_first("html")
    language = (root.attributes.get("lang") or root.attributes.get("xml:lang") or "") if root else ""
    link = tree.css_first("link[rel=canonical]")
    canonical = (link.attributes.get("href") or "").strip() if link else ""
    addresses = (canonical, *(address for name in _URL_KEYS for address in meta.get(name, ())))
    return known_values(
        language=language[:35],
        description=next(iter(meta.get("description", ())), ""),
        authors="; ".join(dict.fromkeys(next(filter(None, map(meta.get, _AUTHOR_KEYS)), ()))),
        year=find_year(*(date for name in _DATE_KEYS for date in meta.get(name, ()))),
        url=find_web_address(address for address in addresses if len(address) <= _MAX_VALUE_LENGTH),
    )


def _meta_values(tree: LexborHTMLParser) -> dict[str, list[str]]:
    """Map the lower-case names of `meta` elements to their contents. Web addresses of authors are ignored."""
    meta: dict[str, list[str]] = {}
    for node in tree.css("meta[content]"):
        name = node.attributes.get("name") or node.attributes.get("property") or node.attributes.get("itemprop") or ""
        content = " ".join((node.attributes.get("content") or "").split())[:_MAX_VALUE_LENGTH]
        values = meta.setdefault(name.casefold(), [])
        if content and len(values) < _MAX_VALUES and not (name in _AUTHOR_KEYS and content.startswith("http")):
            values.append(content)
    return meta


_DECLARATION_BYTES = 4096
_CHARSET = re.compile(rb"charset\s{0,5}=\s{0,5}[\"']?([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,200}encoding=[\"']([A-Za-z0-9_.:-]{2,40})")
# XHTML elements may be closed in their start tag. An HTML parser would take all following text as their content.
_BARE_ELEMENT = re.compile(
    r"<(a|b|code|dd|div|dt|em|h[1-6]|i|iframe|li|p|script|span|strong|style|td|textarea|th|title|tr)\b"
    r"(|\s[^<>]{0,2000})/>"
)
_HIDDEN = "script, style, noscript, template, svg, math annotation, iframe, object, select, button, input, textarea"
_STRUCK = "del, s, strike, [style*=line-through i]"
_BOILERPLATE = (
    "nav, aside, footer, form, [hidden]:not([role=tabpanel]), [aria-hidden=true], [role=navigation], "
    "[role=search], [role=banner], [role=contentinfo], [role=complementary], "
    "a.headerlink, .mw-editsection, .sphinxsidebar, .navbox, .prev-next-area, .linenos, .linenodiv, .lineno, "
    "[class=navheader i], [class=navfooter i], .docnav, "  # DocBook: "Prev", "Up", "Next"
    ".header:has([rel=next], [rel=prev], [rel=up]), table.header:has(a[title]), .nav-panel"  # Texinfo
)
# Asides that belong to the text: footnotes and boxes.
_ASIDES = (
    "aside[role=note], aside[role^=doc-], aside[class*=note], aside[class*=admonition], main aside, [role=main] aside"
)
_ANCHORS = frozenset("\u00b6#\u00a7\uf0c1")  # the texts of links from a heading or term to itself
_MAIN = "main, [role=main]"
# The main element must contain this share of the page's words. Otherwise the whole page is read.
_LEAST_SHARE = 0.4
# No real page reaches these limits. With them, a hostile page takes a few seconds at most.
_MOST_REMOVED = 20_000
# The parser compares each attribute of a tag with all earlier attributes, which takes quadratic time.
_MOST_ATTRIBUTES = 20_000
_TAG = re.compile(r"<[A-Za-z][^>]*")


class HtmlReader(DocumentReader):
    """Reads .html, .htm and .xhtml files. Files to which a page refers are not read."""

    name: ClassVar[str] = "html"
    version: ClassVar[int] = 9

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is not text."""
        tree, notes = parse_page(read_bytes(path))
        title = page_title(tree) or path.stem
        metadata = html_metadata(tree)
        builder = DocumentBuilder()
        if (main := visible_part(tree)) is not None:
            HtmlBlockWriter(builder).write(main)
        return builder.build(title, metadata, notes)


def parse_page(data: bytes) -> tuple[LexborHTMLParser, tuple[str, ...]]:
    """Return the tree of an HTML page without struck-out text, and notes; raise UnreadableDocument if it is no text."""
    head = data[:_DECLARATION_BYTES]
    charset = _XML_ENCODING.search(head) or _CHARSET.search(head)
    source, notes = decode(data, charset.group(1).decode("ascii") if charset else None)
    if source.lstrip()[:5] == "<?xml" or "http://www.w3.org/1999/xhtml" in source[:_DECLARATION_BYTES]:
        source = _BARE_ELEMENT.sub(r"<\1\2></\1>", source)
    for match in _TAG.finditer(source):
        if match.end() - match.start() > _MOST_ATTRIBUTES and len(match.group().split()) > _MOST_ATTRIBUTES:
            raise UnreadableDocument(f"has a tag with more than {_MOST_ATTRIBUTES:,} attributes")
    tree = LexborHTMLParser(source)
    if tree.body:
        _write_equations(tree.body)
    struck = [text for node in _innermost_first(tree.body, _STRUCK) if (text := _strike(node))] if tree.body else []
    return tree, (*notes, STRUCK_OUT) if struck else notes


def _write_equations(body: LexborNode) -> None:
    """Insert signs that keep numbers and the parts of equations apart: 10<sup>6</sup> becomes 10^6, not 106."""
    for node in body.css("sup")[:_MOST_REMOVED]:
        base, link = node.prev, node.css_first("a")
        is_note = link is not None and _note_mark(link)
        if base is not None and not is_note and is_power(base.text(), node.text()):
            node.insert_before("^")
    for node in _innermost_first(body, ", ".join(("msqrt", *_SIGNS))):
        parts = list(node.iter())
        for part, sign in zip(parts[1:], _SIGNS.get(node.tag or "", ""), strict=False):
            part.insert_before(sign)
        for part in [node] if node.tag == "msqrt" else parts:
            text = part.text().strip()
            if node.tag == "msqrt" or (len(text) > 1 and not text.isalnum()):
                part.insert_before("\u221a(" if node.tag == "msqrt" else "(")
                part.insert_after(")")


def _strike(node: LexborNode) -> str:
    """Empty a struck-out element and return its words. The element stays: it may be a cell, or words on a new line."""
    text = node.text()
    blank = " " if any(child.tag not in _INLINE_TAGS for child in node.css("*")) else blank_for(text)
    for child in list(node.iter(include_text=True)):
        child.decompose()
    if blank:
        node.insert_child(blank)
    return text.strip()


def visible_part(tree: LexborHTMLParser) -> LexborNode | None:
    """Remove hidden elements from the tree; return the main element, or the body without its boilerplate.

    Filled forms are kept, and boilerplate with a large share of the words, since all of a page's text may be inside a
    form or an aside.
    The result is None if the page has no body. The returned element is valid as long as its tree.
    """
    body = tree.body
    if body is None:
        return None
    filled = write_entries(body) | {node.mem_id for node in body.css(_ASIDES)}
    _remove(_innermost_first(body, _HIDDEN))
    total = _count_words(body)
    boilerplate = (node for node in _innermost_first(body, _BOILERPLATE) if node.mem_id not in filled)
    _remove(node for node in boilerplate if _count_words(node) <= _LEAST_SHARE * total)
    _remove(it for it in _innermost_first(body, 'a[href^="#"]') if it.text().translate(_UNSEEN).strip() in _ANCHORS)
    for kind in body.css("dt .classifier")[:_MOST_REMOVED]:
        kind.insert_before(": ")  # Sphinx's style sheet writes it
    _remove(item for item in map(_language_switch_item, _innermost_first(body, "li > a[hreflang]")) if item)
    mains = body.css(_MAIN) or body.css("article")
    if len(mains) == 1 and _count_words(mains[0]) >= _LEAST_SHARE * _count_words(body):
        return mains[0]
    return body


def page_title(tree: LexborHTMLParser) -> str:
    """Return the title of a page or else its first `h1` heading, or "" if it has neither."""
    for selector in ("head > title", "h1", "title"):
        node = tree.css_first(selector)
        if node and (text := " ".join(node.text().split())):
            return text[:300]
    return ""


def _innermost_first(node: LexborNode, selector: str) -> list[LexborNode]:
    """Return the matching elements, inner ones first: removing an element also frees the elements inside it."""
    return list(reversed(node.css(selector)[:_MOST_REMOVED]))


def _remove(nodes: Iterable[LexborNode]) -> None:
    for node in nodes:
        node.decompose()


def _language_switch_item(link: LexborNode) -> LexborNode | None:
    """Return the list item around a link to a page in another language, if the item has no other text."""
    item = link.parent
    return item if item is not None and _count_words(item) == _count_words(link) else None


def _count_words(node: LexborNode) -> int:
    return len(node.text().split())


_FIELDS = "input, textarea, select"
_MOST_FIELDS = 20_000
_WITHOUT_TEXT = frozenset(
    ("button", "color", "file", "hidden", "image", "password", "range", "reset", "search", "submit")
)
_BOXES = frozenset(("checkbox", "radio"))
_SEARCHES = re.compile(r"(?:^| )(?:keywords?|q|query|s)(?:$| )|search|suche", re.IGNORECASE)
# Forms with which a website is used. Their entries are not part of the page's text.
_OF_WEBSITE = re.compile(r"search|suche|filter|cookie|consent|login|signin|newsletter|subscribe", re.IGNORECASE)
_ENDS_NAME = re.compile(r"[\w)]\s*$")


def write_entries(body: LexborNode) -> set[int]:
    """Write the entries of fields beside them, as in PDF and Word forms: `Fee: 40`, `☒ Member`. The fields stay.

    Return the ids of the filled forms.
    """
    labels = {it.attributes.get("for"): " ".join(it.text().split()) for it in body.css("label[for]")[:_MOST_FIELDS]}
    in_forms, filled = set(), set()
    for form in body.css("form")[:_MOST_FIELDS]:
        fields = form.css(_FIELDS)[:_MOST_FIELDS]
        in_forms |= {field.mem_id for field in fields}
        # A list has an option from the start, so that its entry alone does not show that the form is filled.
        if not _is_of_website(form) and any(field.tag != "select" and _entry(field) for field in fields):
            filled.add(form.mem_id)
            for field in fields:
                _write_entry(field, labels)
    for field in body.css(_FIELDS)[:_MOST_FIELDS]:
        # Outside forms, boxes and lists mostly choose what a page shows.
        if field.mem_id not in in_forms and field.tag != "select" and _kind(field) not in _BOXES:
            _write_entry(field, labels)
    return filled


def _is_of_website(form: LexborNode) -> bool:
    described = (form.attributes.get(name) or "" for name in ("action", "class", "id", "name", "role"))
    return bool(_OF_WEBSITE.search(" ".join(described))) or form.css_first("[type=password], [type=search]") is not None


def _kind(field: LexborNode) -> str:
    return (field.attributes.get("type") or "text").casefold() if field.tag == "input" else ""


def _entry(field: LexborNode) -> str:
    """Return what was entered into a field: its value, the chosen options, ☒ for a checked box, or ""."""
    attributes, kind = field.attributes, _kind(field)
    if field.tag == "select":
        chosen = (option for option in field.css("option[selected]") if option.attributes.get("value") != "")
        return ", ".join(filter(None, (" ".join(option.text().split()) for option in chosen)))
    if kind in _BOXES:
        return "\u2612" if "checked" in attributes else ""
    names = " ".join(attributes.get(name) or "" for name in ("name", "id", "class"))
    if kind in _WITHOUT_TEXT or _SEARCHES.search(names):
        return ""
    return " ".join((field.text() if field.tag == "textarea" else attributes.get("value") or "").split())


def _write_entry(field: LexborNode, labels: dict[str | None, str]) -> None:
    entry, before, parent = _entry(field), field.prev, field.parent
    if not entry or parent is None:
        return
    if before is not None and before.tag == "-text" and not (before.text_content or "").strip():
        before = before.prev
    name = labels.get(field.attributes.get("id") or "-") or field.attributes.get("aria-label") or ""
    if _kind(field) in _BOXES or parent.tag in ("td", "th"):
        pass
    elif before is not None and before.tag == "-text":
        text = before.text_content or ""
        if parent.tag == "label" and _ENDS_NAME.search(text):
            before.replace_with(f"{text.rstrip()}:")
    elif before is not None and before.tag == "label":
        if _ENDS_NAME.search(before.text()) and before.css_first(_FIELDS) is None:
            before.insert_child(":")
    elif name:
        entry = f"{name.rstrip(' :')}: {entry}"
    field.insert_before(f" {entry} ")
