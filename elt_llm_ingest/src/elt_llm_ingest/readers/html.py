"""Read HTML: the visible main part of a page with headings, lists, tables, marked terms and metadata."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue
from elt_llm_core.text.outline import Span
from selectolax.lexbor import LexborHTMLParser, LexborNode

from elt_llm_ingest.parsing.charset import decode
from elt_llm_ingest.parsing.document_builder import DefinitionListMarks, DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import BlockKind, ParsedDocument
from elt_llm_ingest.readers.file_metadata import find_web_address, find_year
from elt_llm_ingest.readers.headings import starts_rule

EMPHASIS = frozenset(("b", "strong", "i", "em", "dfn"))
_SPACE = re.compile(r"\s+")
# A table with tables, headings or lists inside is only layout.
_LAYOUT = "table table, td h1, td h2, td h3, td ul, td ol, td pre"
_QUOTES = "\"'\u2018\u201c\u201e\u00ab ("


class HtmlDefinitionLists:
    """Mark the definition lists of a page, nested ones too, while their text is written."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self._builder = builder
        self._lists = [DefinitionListMarks(builder.marks)]
        self._starts: list[int] = []

    def enter(self, tag: str) -> None:
        """Open an element before any of its text is written."""
        if tag == "dl":
            self._lists.append(DefinitionListMarks(self._builder.marks))
        elif tag in ("dt", "dd"):
            self._starts.append(self._builder.count)

    def leave(self, tag: str) -> None:
        """Close an element after all of its text is written."""
        if tag == "dl":
            self._lists.pop().end()
        elif tag == "dt":
            start = self._starts.pop()
            self._lists[-1].term(self._builder.span(start, start + 1))
        elif tag == "dd":
            self._lists[-1].body(self._builder.span(self._starts.pop()))

    def end(self) -> None:
        """End the page."""
        self._lists[-1].end()


class LineEmphasis:
    """The emphasis in one line, by the pieces of text that make up the line.

    No element is visited twice, so the time does not depend on the depth of nesting.
    """

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []
        # How many of the open elements started in an ended line, and how many before the text of this line.
        self._ended = self._earlier = 0
        self._closed: list[tuple[int, int, bool]] = []

    def open(self, tag: str, piece: int) -> None:
        """Start emphasis at the piece of that number."""
        self._open.append((tag, piece))

    def close(self, piece: int) -> None:
        """End the last emphasis before the piece of that number, unless its line ended already."""
        if not self._open:
            return
        tag, start = self._open.pop()
        depth = len(self._open)
        start = 0 if depth < self._earlier else start
        if depth >= self._ended and piece > start:
            self._closed.append((start, piece, tag == "dfn"))
        self._ended, self._earlier = min(self._ended, depth), min(self._earlier, depth)

    def take(self, pieces: Sequence[str]) -> list[tuple[Span, bool]]:
        """End the line; return the spans of its emphasised words in the visible line, each with whether it is a `dfn`.

        Open emphasis extends to the end of the line and not beyond; an element may start before its paragraph.
        """
        raw = "".join(pieces)
        closed, self._closed = self._closed, []
        if raw.strip():
            for depth, (tag, start) in enumerate(self._open[self._ended :], self._ended):
                closed.append((0 if depth < self._earlier else start, len(pieces), tag == "dfn"))
            self._ended = len(self._open)
        self._earlier = len(self._open)
        if not closed:
            return []
        offsets = [0, *accumulate(map(len, pieces))]
        spans = [(_strip_span(raw, offsets[start], offsets[end]), is_dfn) for start, end, is_dfn in closed]
        spans = [(span, is_dfn) for span, is_dfn in spans if span[1] > span[0]]
        shown = _collapsed_offsets(raw, sorted({offset for span, _ in spans for offset in span}))
        return sorted(((shown[start], shown[end]), is_dfn) for (start, end), is_dfn in spans)


def mark_line_terms(builder: DocumentBuilder, marks: Sequence[tuple[Span, bool]], marker: str) -> None:
    """Mark the terms of the last block: every `dfn`, and the emphasis at its start after its marker."""
    span = builder.span(builder.count - 1)
    if span is None:
        return
    offset, text = span[0], builder.end
    for (start, end), is_dfn in marks:
        if is_dfn:
            builder.marks.name(offset + start, offset + end)
    emphasis = [marked for marked, is_dfn in marks if not is_dfn]
    if not emphasis:
        return
    # The first emphasis, and what follows it with only white space between.
    start, end = emphasis[0]
    for next_start, next_end in emphasis[1:]:
        if text[end:next_start].strip():
            break
        end = max(end, next_end)
    # Emphasis may start before its list item.
    start = max(start, len(marker) + 1) if marker and text.startswith(f"{marker} ") else start
    if text[:start].removeprefix(marker).strip(_QUOTES) == "":
        builder.marks.lead(offset + start, offset + end)


def _strip_span(text: str, start: int, end: int) -> Span:
    words = text[start:end].strip()
    start += len(text[start:end]) - len(text[start:end].lstrip()) if words else 0
    return start, start + len(words)


def _collapsed_offsets(raw: str, offsets: Sequence[int]) -> dict[int, int]:
    """Map ascending offsets outside white space to their offsets in the text with single blanks and none leading."""
    collapsed: dict[int, int] = {}
    before, length = 0, 0
    for offset in offsets:
        part = _SPACE.sub(" ", raw[before:offset])
        length += len(part.lstrip() if not length else part)
        collapsed[offset] = length
        before = offset
    return collapsed


_HEADING_TAGS = {f"h{level}": level for level in range(1, 7)}
_INLINE_TAGS = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"),
        *("img", "ins", "kbd", "label", "mark", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "span"),
        *("strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    )
)
_ITEM_TAGS: Mapping[str, BlockKind] = {"li": "list", "dt": "definition", "dd": "definition"}
_NOTE_LINKS = frozenset(("doc-noteref", "noteref", "footnote-reference", "footnote-ref", "footnoteref"))


class HtmlBlockWriter:
    """Append the elements of one tree to a document, without recursion since trees may be nested to any depth."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self._builder = builder
        self._line: list[str] = []
        self._kind: BlockKind = "prose"
        self._tight = False
        self._bare = ""
        self._numbers: Counter[int] = Counter()
        self._lists = HtmlDefinitionLists(builder)
        self._marks = LineEmphasis()

    def write(self, root: LexborNode) -> None:
        """Append the content of `root`."""
        pending: list[tuple[LexborNode, bool]] = [(root, False)]
        while pending:
            node, leaving = pending.pop()
            if leaving:
                self._leave(node.tag or "")
            elif not self._leaf(node):
                if node.tag not in _INLINE_TAGS or node.tag in EMPHASIS:
                    self._enter(node)
                    pending.append((node, True))
                pending += [(child, False) for child in reversed(list(node.iter(include_text=True)))]
        self._flush()
        self._lists.end()

    def _leave(self, tag: str) -> None:
        if tag in EMPHASIS:
            self._marks.close(len(self._line))
            return
        self._flush()
        self._kind, self._tight = "prose", False
        self._lists.leave(tag)

    def _enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in EMPHASIS:
            self._marks.open(tag, len(self._line))
            return
        if tag in ("p", "div") and self._bare and "".join(self._line).strip() == self._bare:
            # The text of the item is in its own paragraph: its marker waits for that.
            return
        self._flush()
        self._lists.enter(tag)
        if tag in _ITEM_TAGS:
            self._kind = _ITEM_TAGS[tag]
            self._tight = tag == "dd" or _follows_item(node)
            self._line.append(self._marker(node))
            self._bare = self._line[-1].strip()

    def _marker(self, node: LexborNode) -> str:
        """The marker of a list item: its number in an ordered list, else a bullet."""
        parent = node.parent
        if node.tag != "li":
            return ""
        if parent is None or parent.tag != "ol":
            return "\u2022 "
        self._numbers[parent.mem_id] += 1
        start = parent.attributes.get("start") or "1"
        first = int(start) if start.isdecimal() and len(start) < 9 else 1
        return f"{first + self._numbers[parent.mem_id] - 1}. "

    def _leaf(self, node: LexborNode) -> bool:
        """Write a node as a whole; return False if its children are to be written one by one."""
        tag = node.tag or ""
        if tag == "-text":
            self._line.append(node.text_content or "")
        elif tag == "a" and (mark := _note_mark(node)):
            self._line.append(mark)
        elif tag == "br":
            self._flush(tight=True)
        elif tag in _HEADING_TAGS:
            self._flush()
            self._builder.add_heading(_single_line(node), _HEADING_TAGS[tag])
        elif tag == "pre":
            self._flush()
            self._builder.add(node.text().strip("\n").expandtabs(4), "code")
        elif tag == "table" and node.css_first(_LAYOUT) is None:
            self._flush()
            self._write_table(node)
        else:
            return tag.startswith(("-", "!", "_"))
        return True

    def _flush(self, *, tight: bool = False) -> None:
        text = _SPACE.sub(" ", "".join(self._line)).strip()
        marks = self._marks.take(self._line)
        self._line.clear()
        if text and text not in (self._bare, "\u00b6"):
            kind: BlockKind = "rule" if self._kind == "prose" and starts_rule(text[:80]) else self._kind
            self._builder.add(text, kind, tight=self._tight)
            self._tight = tight
            mark_line_terms(self._builder, marks, self._bare)

    def _write_table(self, table: LexborNode) -> None:
        """Append the rows as `cell | cell`; a row of header cells is the header of those below."""
        caption = table.css_first("caption")
        if caption:
            self._builder.add(_single_line(caption))
        header, first = "", caption is None
        for row in table.css("tr"):
            cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
            text = " | ".join(_single_line(cell) for cell in cells).strip(" |")
            if not text:
                continue
            is_header = len(cells) > 1 and all(cell.tag == "th" for cell in cells)
            self._builder.add(text, "table", header="" if is_header else header, tight=not first)
            header, first = text if is_header else header, False


def _note_mark(link: LexborNode) -> str:
    """`[1]` for a link to a note whose text is a bare figure, which looks like part of the sentence, else empty."""
    attributes = link.attributes
    roles = (attributes.get("role") or attributes.get("epub:type") or "", *(attributes.get("class") or "").split())
    text = link.text().strip() if _NOTE_LINKS.intersection(roles) else ""
    return f"[{text}]" if text.isdecimal() else ""


def _single_line(node: LexborNode) -> str:
    return _SPACE.sub(" ", node.text(separator=" ")).replace("\u00b6", "").strip()


def _follows_item(node: LexborNode) -> bool:
    before = node.prev
    if before is not None and before.tag == "-text":
        before = before.prev
    return before is not None and before.tag in ("li", "dd")


# In order of preference: only the first key with values counts, as a page often names its authors twice.
_AUTHOR_KEYS = ("citation_author", "dc.creator", "dcterms.creator", "author", "article:author")
_DATE_KEYS = (
    *("citation_publication_date", "citation_date", "citation_year", "dcterms.issued", "dc.date.issued", "dc.date"),
    *("article:published_time", "dcterms.created", "datepublished", "date", "pubdate", "dcterms.modified"),
)
_URL_KEYS = ("citation_public_url", "citation_abstract_html_url", "og:url")
_MAX_VALUES = 20
_MAX_VALUE_LENGTH = 1000


def html_metadata(tree: LexborHTMLParser) -> dict[str, MetadataValue]:
    """Return the metadata of a page under the keys of a document's metadata."""
    meta = _meta_values(tree)
    values: dict[str, MetadataValue] = {}
    root = tree.css_first("html")
    if root and (language := root.attributes.get("lang") or root.attributes.get("xml:lang")):
        values["language"] = language[:35]
    if description := next(iter(meta.get("description", ())), ""):
        values["description"] = description
    if authors := next(filter(None, map(meta.get, _AUTHOR_KEYS)), None):
        values["authors"] = "; ".join(dict.fromkeys(authors))
    if year := find_year(*(date for name in _DATE_KEYS for date in meta.get(name, ()))):
        values["year"] = year
    link = tree.css_first("link[rel=canonical]")
    canonical = (link.attributes.get("href") or "").strip() if link else ""
    addresses = (canonical, *(address for name in _URL_KEYS for address in meta.get(name, ())))
    if url := find_web_address(address for address in addresses if len(address) <= _MAX_VALUE_LENGTH):
        values["url"] = url
    return values


def _meta_values(tree: LexborHTMLParser) -> dict[str, list[str]]:
    """The contents of `meta` elements by lower-case name; web addresses are ignored as authors."""
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
_XHTML = "http://www.w3.org/1999/xhtml"
# XHTML may close an element in its own tag, where an HTML parser takes all following text as its content.
_BARE_ELEMENT = re.compile(
    r"<(a|b|code|dd|div|dt|em|h[1-6]|i|iframe|li|p|script|span|strong|style|td|textarea|th|title|tr)\b"
    r"(|\s[^<>]{0,2000})/>"
)
_HIDDEN = "script, style, noscript, template, svg, math annotation, iframe, object, select, button, input, textarea"
_BOILERPLATE = (
    "nav, aside, footer, form, [hidden], [aria-hidden=true], [role=navigation], [role=search], [role=banner], "
    "[role=contentinfo], [role=complementary], a.headerlink, .mw-editsection, .sphinxsidebar, .navbox"
)
_MAIN = "main, [role=main]"
# The main element must hold this share of the words of the page, else the whole page is read.
_LEAST_SHARE = 0.4
# Enough for any real page, and few enough that a hostile one costs seconds at most.
_MOST_REMOVED = 20_000
# The parser compares each attribute of a tag with all before it.
_MOST_ATTRIBUTES = 20_000
_TAG = re.compile(r"<[A-Za-z][^>]*")


class HtmlReader(DocumentReader):
    """Read .html and .xhtml, but nothing that the page refers to."""

    name: ClassVar[str] = "html"
    version: ClassVar[int] = 3

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
    """Parse an HTML or XHTML page; return its tree and notes on its charset.

    Raises:
        UnreadableDocument: the page is not text, or has a tag with too many attributes.
    """
    head = data[:_DECLARATION_BYTES]
    charset = _XML_ENCODING.search(head) or _CHARSET.search(head)
    source, notes = decode(data, charset.group(1).decode("ascii") if charset else None)
    if source.lstrip()[:5] == "<?xml" or _XHTML in source[:_DECLARATION_BYTES]:
        source = _BARE_ELEMENT.sub(r"<\1\2></\1>", source)
    for match in _TAG.finditer(source):
        if match.end() - match.start() > _MOST_ATTRIBUTES and len(match.group().split()) > _MOST_ATTRIBUTES:
            raise UnreadableDocument(f"has a tag with more than {_MOST_ATTRIBUTES:,} attributes")
    return LexborHTMLParser(source), notes


def visible_part(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the main element, or the body without its boilerplate, after removing hidden elements from the tree.

    Boilerplate with a large share of the words stays: a page may be one form, or be inside an aside. None if the page
    is empty. The element is valid as long as its tree.
    """
    body = tree.body
    if body is None:
        return None
    _remove(_innermost_first(body, _HIDDEN))
    total = _count_words(body)
    _remove(node for node in _innermost_first(body, _BOILERPLATE) if _count_words(node) <= _LEAST_SHARE * total)
    _remove(item for item in map(_language_switch_item, _innermost_first(body, "li > a[hreflang]")) if item)
    mains = body.css(_MAIN) or body.css("article")
    if len(mains) == 1 and _count_words(mains[0]) >= _LEAST_SHARE * _count_words(body):
        return mains[0]
    return body


def page_title(tree: LexborHTMLParser) -> str:
    """The title or the first heading of a page; empty if it has neither."""
    for selector in ("head > title", "h1", "title"):
        node = tree.css_first(selector)
        if node and (text := " ".join(node.text().split())):
            return text[:300]
    return ""


def _innermost_first(node: LexborNode, selector: str) -> list[LexborNode]:
    """Return the matches, inner before outer ones, so that removing one never frees a later one."""
    return list(reversed(node.css(selector)[:_MOST_REMOVED]))


def _remove(nodes: Iterable[LexborNode]) -> None:
    for node in nodes:
        node.decompose()


def _language_switch_item(link: LexborNode) -> LexborNode | None:
    """The list item around a link to the page in another language, if it has no other text."""
    item = link.parent
    return item if item is not None and _count_words(item) == _count_words(link) else None


def _count_words(node: LexborNode) -> int:
    return len(node.text().split())
