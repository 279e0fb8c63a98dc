"""Read EPUB: the chapters of a book in reading order, each parsed as an HTML page."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import ClassVar, NamedTuple
from urllib.parse import unquote

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue
from lxml.etree import _Element
from selectolax.lexbor import LexborHTMLParser

from elt_llm_ingest.parsing.archive import Archive, open_archive
from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, find_web_address, find_year, known_values
from elt_llm_ingest.parsing.xml_guard import parse_xml
from elt_llm_ingest.readers.html import HtmlBlockWriter, parse_page, visible_part

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
# These methods encrypt only fonts, to prevent copying. The text of the book remains readable.
_SCRAMBLED_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_PAGE_TYPES = ("application/xhtml+xml", "text/html")
_MAX_AUTHORS = 20


class _ManifestItem(NamedTuple):
    member: str
    kind: str
    properties: str


def _chapters(archive: Archive, path: str, root: _Element) -> dict[str, str]:
    """Map each chapter's archive member, in reading order, to its title in the table of contents or to "".

    `root` is the package file at `path`. Raises UnreadableDocument if a chapter is encrypted.
    """
    items: dict[str, _ManifestItem] = {}
    for item in root.iterfind("{*}manifest/{*}item"):
        member = _member_name(path, item.get("href", ""))
        items[item.get("id", "")] = _ManifestItem(member, item.get("media-type", ""), item.get("properties", ""))
    entries = [entry for entry in root.iterfind("{*}spine/{*}itemref") if entry.get("idref", "") in items]
    # Pages outside the linear reading order, to which other pages refer, come last.
    entries.sort(key=lambda entry: entry.get("linear") == "no")
    spine = [items[entry.get("idref", "")] for entry in entries]
    pages = [item.member for item in spine if item.kind in _PAGE_TYPES and "nav" not in item.properties.split()]
    _refuse_encrypted(archive, set(pages))
    titles = _table_of_contents(archive, items)
    return {page: titles.get(page, "") for page in pages}


def _package_path(archive: Archive) -> str:
    if _CONTAINER not in archive:
        raise UnreadableDocument(f"is not an EPUB: it has no {_CONTAINER}")
    container = parse_xml(archive.read_member(_CONTAINER), plain_doctype=True)
    for file in container.iterfind(".//{*}rootfile"):
        path = unquote(file.get("full-path", ""))
        if path in archive:
            return path
    raise UnreadableDocument("is not an EPUB: it has no package file")


def _member_name(base: str, reference: str) -> str:
    """Resolve a reference in the file `base` to an archive member: `("a/toc.ncx", "b.html#s2") -> "a/b.html"`."""
    return normpath(join(dirname(base), unquote(reference.partition("#")[0])))


def _refuse_encrypted(archive: Archive, pages: set[str]) -> None:
    if _ENCRYPTION not in archive:
        return
    for data in parse_xml(archive.read_member(_ENCRYPTION)).iterfind(".//{*}EncryptedData"):
        method = next(data.iterfind("{*}EncryptionMethod"), None)
        if method is not None and method.get("Algorithm", "") in _SCRAMBLED_FONTS:
            continue
        if any(unquote(reference.get("URI", "")) in pages for reference in data.iterfind(".//{*}CipherReference")):
            raise UnreadableDocument("is encrypted: its pages are protected against copying (DRM)")


def _table_of_contents(archive: Archive, items: Mapping[str, _ManifestItem]) -> dict[str, str]:
    """Return the title of each page: that of the first entry in the table of contents that leads to the page."""
    titles: dict[str, str] = {}
    for item in items.values():
        if item.member in archive and ("nav" in item.properties.split() or item.kind == "application/x-dtbncx+xml"):
            entries = _navigation_titles if item.kind in _PAGE_TYPES else _ncx_titles
            for reference, title in entries(archive.read_member(item.member)):
                titles.setdefault(_member_name(item.member, reference), title)
    return titles


def _navigation_titles(data: bytes) -> Iterator[tuple[str, str]]:
    tree = LexborHTMLParser(data.decode("utf-8", "replace"))
    for link in tree.css("nav a[href]"):
        yield link.attributes.get("href") or "", " ".join(link.text().split())


def _ncx_titles(data: bytes) -> Iterator[tuple[str, str]]:
    for point in parse_xml(data, plain_doctype=True).iterfind(".//{*}navPoint"):
        content = next(point.iterfind("{*}content"), None)
        label = next(point.iterfind("{*}navLabel/{*}text"), None)
        if content is not None and label is not None:
            yield content.get("src", ""), " ".join((label.text or "").split())


def _book_metadata(root: _Element) -> dict[str, MetadataValue]:
    return known_values(
        authors="; ".join(dict.fromkeys(_element_texts(root, "creator")[:_MAX_AUTHORS])),
        year=find_year(*_element_texts(root, "date")),
        language=_first_text(root, "language"),
        publisher=_first_text(root, "publisher"),
        description=_first_text(root, "description"),
        url=find_web_address((*_element_texts(root, "source"), *_element_texts(root, "identifier"))),
    )


def _first_text(root: _Element, name: str) -> str:
    return next(iter(_element_texts(root, name)), "")


def _element_texts(root: _Element, name: str) -> list[str]:
    texts = (" ".join((element.text or "").split())[:1000] for element in root.iterfind(f"{{*}}metadata/{{*}}{name}"))
    return [text for text in texts if text]


class EpubReader(DocumentReader):
    """Reads .epub files. If a chapter has no heading, its title in the table of contents becomes the heading."""

    name: ClassVar[str] = "epub"
    version: ClassVar[int] = 7

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged, unsafe or protected against copying."""
        builder = DocumentBuilder()
        notes: list[str] = []
        with open_archive(path) as archive:
            package = _package_path(archive)
            root = parse_xml(archive.read_member(package), plain_doctype=True)
            chapters = _chapters(archive, package, root)
            for member, title in chapters.items():
                if member in archive:
                    notes += _write_chapter(builder, archive, member, title)
            missing = sum(member not in archive for member in chapters)
        if missing:
            notes.append(f"{missing} page{'s are' if missing > 1 else ' is'} listed but not in the file")
        return builder.build(_first_text(root, "title") or path.stem, _book_metadata(root), tuple(dict.fromkeys(notes)))


def _write_chapter(builder: DocumentBuilder, archive: Archive, member: str, title: str) -> tuple[str, ...]:
    tree, notes = parse_page(archive.read_member(member))
    part = visible_part(tree)
    if part is None:
        return notes
    if part.css_first("h1, h2, h3, h4, h5, h6") is None and part.text().strip():
        builder.add_heading(title, 1)
    HtmlBlockWriter(builder).write(part)
    return notes
