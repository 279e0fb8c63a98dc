"""HTML: what a reader sees of the main part of a page, with headings, lists and tables row by row."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from elt_llm_core.errors import UnreadableDocument
from selectolax.lexbor import LexborHTMLParser, LexborNode

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.charset import decode
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.readers.html_blocks import BlockWriter
from elt_llm_ingest.readers.html_metadata import html_metadata

_DECLARATION_BYTES = 4096
_CHARSET = re.compile(rb"charset\s{0,5}=\s{0,5}[\"']?([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,200}encoding=[\"']([A-Za-z0-9_.:-]{2,40})")
_XHTML = "http://www.w3.org/1999/xhtml"
# XHTML may end an element in its own tag, where an HTML parser would take all that follows for its content.
_BARE_ELEMENT = re.compile(
    r"<(a|b|code|dd|div|dt|em|h[1-6]|i|iframe|li|p|script|span|strong|style|td|textarea|th|title|tr)\b"
    r"(|\s[^<>]{0,2000})/>"
)
_UNSEEN = "script, style, noscript, template, svg, math annotation, iframe, object, select, button, input, textarea"
_FURNITURE = (
    "nav, aside, footer, form, [hidden], [aria-hidden=true], [role=navigation], [role=search], [role=banner], "
    "[role=contentinfo], [role=complementary], a.headerlink, .mw-editsection, .sphinxsidebar, .navbox"
)
_MAIN = "main, [role=main]"
# What is called main must hold this share of the words of the page, or the page is taken whole.
_LEAST_SHARE = 0.4
# Enough for any page that people read, and few enough that a hostile one costs seconds at most.
_MOST_REMOVED = 20_000
# The parser compares each attribute of a tag with all before it.
_MOST_ATTRIBUTES = 20_000
_TAG = re.compile(r"<[A-Za-z][^>]*")


class HtmlReader(DocumentReader):
    """Reads .html and .xhtml; never anything the page refers to."""

    name: ClassVar[str] = "html"
    version: ClassVar[int] = 3

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument if it is not text."""
        tree, notes = parse_page(read_bytes(path))
        title = page_title(tree) or path.stem
        metadata = html_metadata(tree)
        builder = DocumentBuilder()
        main = visible_part(tree)
        if main is not None:
            BlockWriter(builder).write(main)
        return builder.build(title, metadata, notes)


def parse_page(data: bytes) -> tuple[LexborHTMLParser, tuple[str, ...]]:
    """The tree of a page, HTML or XHTML, and notes on its charset; UnreadableDocument if it is not text."""
    source, notes = decode(data, _declared(data[:_DECLARATION_BYTES]))
    if source.lstrip()[:5] == "<?xml" or _XHTML in source[:_DECLARATION_BYTES]:
        source = _BARE_ELEMENT.sub(r"<\1\2></\1>", source)
    _refuse_endless_tags(source)
    return LexborHTMLParser(source), notes


def _refuse_endless_tags(source: str) -> None:
    for match in _TAG.finditer(source):
        if match.end() - match.start() > _MOST_ATTRIBUTES and len(match.group().split()) > _MOST_ATTRIBUTES:
            raise UnreadableDocument(f"has a tag with more than {_MOST_ATTRIBUTES:,} attributes")


def visible_part(tree: LexborHTMLParser) -> LexborNode | None:
    """The element that holds what a reader sees of the main part; it lives as long as its tree. None if empty."""
    if tree.body:
        _remove(_inner_first(tree.body, _UNSEEN))
    return _main_part(tree)


def _declared(head: bytes) -> str | None:
    match = _XML_ENCODING.search(head) or _CHARSET.search(head)
    return match.group(1).decode("ascii") if match else None


def page_title(tree: LexborHTMLParser) -> str:
    """The title of a page, or its first heading; empty if it has neither."""
    for selector in ("head > title", "h1", "title"):
        node = tree.css_first(selector)
        text = " ".join(node.text().split()) if node else ""
        if text:
            return text[:300]
    return ""


def _main_part(tree: LexborHTMLParser) -> LexborNode | None:
    """The body without its furniture, or its main element if that holds enough of it.

    Furniture that holds much of the page is no furniture: a page may be one form, or stand in an aside.
    """
    body = tree.body
    if body is None:
        return None
    whole = _words(body)
    _remove(node for node in _inner_first(body, _FURNITURE) if _words(node) <= _LEAST_SHARE * whole)
    _remove(item for item in map(_language_switch, _inner_first(body, "li > a[hreflang]")) if item)
    mains = body.css(_MAIN) or body.css("article")
    if len(mains) == 1 and _words(mains[0]) >= _LEAST_SHARE * _words(body):
        return mains[0]
    return body


def _inner_first(node: LexborNode, selector: str) -> list[LexborNode]:
    """Matches with inner ones before outer ones, so that removing one never frees another that is still to come."""
    return list(reversed(node.css(selector)[:_MOST_REMOVED]))


def _remove(nodes: Iterable[LexborNode]) -> None:
    for node in nodes:
        node.decompose()


def _language_switch(link: LexborNode) -> LexborNode | None:
    """The list item around a link to the page in another language, if it holds nothing else."""
    item = link.parent
    return item if item is not None and _words(item) == _words(link) else None


def _words(node: LexborNode) -> int:
    return len(node.text().split())
