"""The package of an EPUB: its chapters in the order they are read, their titles, and who wrote it when."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue
from selectolax.lexbor import LexborHTMLParser

from elt_llm_ingest.readers.archive import Archive
from elt_llm_ingest.readers.xml_guard import parse_xml
from elt_llm_ingest.readers.years import year_in

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
# Fonts may be scrambled so that they cannot be taken out of a book; the book can be read all the same.
_SCRAMBLED_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_PAGE_TYPES = ("application/xhtml+xml", "text/html")
_NCX_TYPE = "application/x-dtbncx+xml"
_MOST_AUTHORS = 20


@dataclass(frozen=True)
class Chapter:
    """A member of the archive that is read, and what the table of contents calls it, if it does."""

    member: str
    title: str


@dataclass(frozen=True)
class Book:
    """Chapters in their order, those out of line at the end; `missing` are listed and not there."""

    title: str
    metadata: Mapping[str, MetadataValue]
    chapters: tuple[Chapter, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class _Item:
    member: str
    kind: str
    properties: str


def open_book(archive: Archive) -> Book:
    """What the package of a book lists; UnreadableDocument if it has none or its chapters are encrypted."""
    path = _package_path(archive)
    root = parse_xml(archive.read_member(path), plain_doctype=True)
    items = {item.get("id", ""): _item(item, path) for item in root.iterfind("{*}manifest/{*}item")}
    pages = [item for item in _spine(root, items) if item.kind in _PAGE_TYPES and "nav" not in item.properties.split()]
    _refuse_encrypted(archive, {page.member for page in pages})
    titles = _contents(archive, items)
    there = [page.member for page in pages if page.member in archive]
    return Book(
        _first(root, "title"),
        _metadata(root),
        tuple(Chapter(member, titles.get(member, "")) for member in dict.fromkeys(there)),
        tuple(page.member for page in pages if page.member not in archive),
    )


def _package_path(archive: Archive) -> str:
    if _CONTAINER not in archive:
        raise UnreadableDocument(f"is no EPUB: it has no {_CONTAINER}")
    container = parse_xml(archive.read_member(_CONTAINER), plain_doctype=True)
    for file in container.iterfind(".//{*}rootfile"):
        path = unquote(file.get("full-path", ""))
        if path in archive:
            return path
    raise UnreadableDocument("is no EPUB: it has no package file")


def _item(item: "_Element", package: str) -> _Item:
    member = _member(package, item.get("href", ""))
    return _Item(member, item.get("media-type", ""), item.get("properties", ""))


def _member(base: str, reference: str) -> str:
    """The archive's name for what a file in it refers to, without the place within."""
    return normpath(join(dirname(base), unquote(reference.partition("#")[0])))


def _spine(root: "_Element", items: Mapping[str, _Item]) -> list[_Item]:
    """The pages in reading order, those that are looked up from elsewhere last."""
    entries = [entry for entry in root.iterfind("{*}spine/{*}itemref") if entry.get("idref", "") in items]
    entries.sort(key=lambda entry: entry.get("linear") == "no")
    return [items[entry.get("idref", "")] for entry in entries]


def _refuse_encrypted(archive: Archive, pages: set[str]) -> None:
    if _ENCRYPTION not in archive:
        return
    for data in parse_xml(archive.read_member(_ENCRYPTION)).iterfind(".//{*}EncryptedData"):
        method = next(data.iterfind("{*}EncryptionMethod"), None)
        if method is not None and method.get("Algorithm", "") in _SCRAMBLED_FONTS:
            continue
        if any(unquote(reference.get("URI", "")) in pages for reference in data.iterfind(".//{*}CipherReference")):
            raise UnreadableDocument("is encrypted: its pages are protected against copying (DRM)")


def _contents(archive: Archive, items: Mapping[str, _Item]) -> dict[str, str]:
    """What the table of contents calls each page: the first entry that leads to it."""
    found: dict[str, str] = {}
    for item in items.values():
        if item.member in archive and ("nav" in item.properties.split() or item.kind == _NCX_TYPE):
            entries = _navigation if item.kind in _PAGE_TYPES else _ncx
            for reference, title in entries(archive.read_member(item.member)):
                found.setdefault(_member(item.member, reference), title)
    return found


def _navigation(data: bytes) -> Iterator[tuple[str, str]]:
    tree = LexborHTMLParser(data.decode("utf-8", "replace"))
    for link in tree.css("nav a[href]"):
        yield link.attributes.get("href") or "", " ".join(link.text().split())


def _ncx(data: bytes) -> Iterator[tuple[str, str]]:
    for point in parse_xml(data, plain_doctype=True).iterfind(".//{*}navPoint"):
        content = next(point.iterfind("{*}content"), None)
        label = next(point.iterfind("{*}navLabel/{*}text"), None)
        if content is not None and label is not None:
            yield content.get("src", ""), " ".join((label.text or "").split())


def _metadata(root: "_Element") -> dict[str, MetadataValue]:
    values: dict[str, MetadataValue] = {}
    if authors := _texts(root, "creator")[:_MOST_AUTHORS]:
        values["authors"] = "; ".join(dict.fromkeys(authors))
    if year := next((year for date in _texts(root, "date") if (year := year_in(date))), None):
        values["year"] = year
    for key in ("language", "publisher", "description"):
        if text := _first(root, key):
            values[key] = text
    for address in (*_texts(root, "source"), *_texts(root, "identifier")):
        if address.startswith(("https://", "http://")):
            values.setdefault("url", address)
    return values


def _first(root: "_Element", name: str) -> str:
    return next(iter(_texts(root, name)), "")


def _texts(root: "_Element", name: str) -> list[str]:
    texts = (" ".join((element.text or "").split())[:1000] for element in root.iterfind(f"{{*}}metadata/{{*}}{name}"))
    return [text for text in texts if text]
