"""Parse untrusted XML: no entities, no network access, limited nesting, and no document type (DOCTYPE) by default."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from elt_llm_core.errors import UnreadableDocument
from lxml.etree import _Element

from elt_llm_ingest.parsing.archive import Archive

XML_SUFFIXES = (".xml", ".rels", ".vml", ".rdf", ".opf", ".ncx", ".xhtml", ".html", ".htm", ".svg")
_HTML_SUFFIXES = (".xhtml", ".html", ".htm", ".svg", ".ncx")
# Every repetition is bounded, so that the time is linear in the length of a hostile prolog.
_DECLARED = re.compile(rb"<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([\w.:-]{1,40})[\"']")
_PLAIN_DOCTYPE = re.compile(r"<!DOCTYPE\s[^<>\[\]]{1,1000}>", re.IGNORECASE)
_DOCTYPE_BYTES = 1100  # the longest match of _PLAIN_DOCTYPE, and some more
# The encodings that store `<` as its ASCII byte. In an encoding such as UTF-7, the check could miss markup.
_KNOWN = re.compile(r"utf-?8|utf-?16(le|be)?|(us-)?ascii|iso-8859-\d{1,2}|latin-?1|windows-125\d", re.IGNORECASE)


def parse_xml(data: bytes, *, plain_doctype: bool = False) -> _Element:
    """Return the root element; raise UnreadableDocument if the XML is damaged, or its DOCTYPE or encoding is refused.

    `plain_doctype` allows a DOCTYPE that declares no entities, as in XHTML.
    """
    from lxml import etree

    # Without the option huge_tree, the parser stops at 256 levels of nesting and at 10 MB of text in one element.
    text = check_prolog(data, plain_doctype=plain_doctype)
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, dtd_validation=False
    )
    try:
        root = etree.fromstring(text, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableDocument(f"holds damaged XML: {error}") from error
    if root.getroottree().docinfo.internalDTD is not None and not plain_doctype:
        raise UnreadableDocument("holds XML with a DOCTYPE, which could declare entities")
    return root


def check_prolog(data: bytes, *, plain_doctype: bool = False) -> bytes:
    """Return the document in UTF-8; raise UnreadableDocument if its DOCTYPE or encoding is not allowed."""
    data = _in_utf8(data)
    position = 0
    while (start := data.find(b"<", position)) >= 0:
        if data.startswith(b"<?", start):
            end = data.find(b"?>", start)
        elif data.startswith(b"<!--", start):
            end = data.find(b"-->", start + 4)
        elif data.startswith(b"<!", start):
            end = _doctype_end(data, start, plain_doctype=plain_doctype)
        else:
            break
        if end < 0:
            break
        position = end + 1
    return data


def check_xml_members(archive: Archive) -> None:
    """Check every XML member of a package before a library opens it; raise UnreadableDocument for a refused member.

    Only HTML, SVG and NCX members may have a DOCTYPE, and it must not declare entities.
    """
    for name in archive.names:
        lowered = name.casefold()
        if lowered.endswith(XML_SUFFIXES):
            try:
                check_prolog(archive.read_member(name), plain_doctype=lowered.endswith(_HTML_SUFFIXES))
            except UnreadableDocument as refusal:
                raise UnreadableDocument(f"is damaged or unsafe in its member {name[:80]!a}: it {refusal}") from refusal


def is_comment(element: _Element) -> bool:
    """Return whether a node is a comment, processing instruction or unexpanded entity rather than an element."""
    return callable(element.tag)


def _in_utf8(data: bytes) -> bytes:
    encoding = _encoding(data)
    if encoding == "utf-8":
        return data.removeprefix(BOM_UTF8)
    try:
        return data.decode(encoding).removeprefix("\ufeff").encode()
    except (UnicodeError, LookupError) as error:
        raise UnreadableDocument(f"holds XML that cannot be decoded as {encoding}") from error


def _encoding(data: bytes) -> str:
    """Return the document's encoding. As in XML parsers, its first bytes take precedence over its declaration."""
    if data.startswith(BOM_UTF8):
        return "utf-8"
    if data.startswith((BOM_UTF16_LE, b"<\0")):
        return "utf-16-le"
    if data.startswith((BOM_UTF16_BE, b"\0<")):
        return "utf-16-be"
    match = _DECLARED.match(data)
    declared = match.group(1).decode("ascii", "replace").casefold() if match else "utf-8"
    if not _KNOWN.fullmatch(declared) or (data[:1] not in {b"<", b""} and not data[:200].lstrip().startswith(b"<")):
        raise UnreadableDocument(f"holds XML in an unsupported encoding: {declared}")
    return "utf-8" if declared.startswith(("utf", "us-ascii", "ascii")) else declared


def _doctype_end(data: bytes, start: int, *, plain_doctype: bool) -> int:
    match = _PLAIN_DOCTYPE.match(data[start : start + _DOCTYPE_BYTES].decode("utf-8", "replace"))
    if not plain_doctype or match is None:
        raise UnreadableDocument("holds XML with a DOCTYPE, which could declare entities")
    return start + len(match.group().encode()) - 1
