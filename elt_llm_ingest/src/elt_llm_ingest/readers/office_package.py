"""What the Office readers share: package parts, relations, paragraphs, and refusal of legacy or damaged files."""

import posixpath
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue
from lxml.etree import _Element

from elt_llm_ingest.parsing.archive import Archive, open_archive
from elt_llm_ingest.parsing.document_builder import DefinitionListMarks, DocumentBuilder, collapse_blanks, is_power
from elt_llm_ingest.parsing.document_reader import read_bytes
from elt_llm_ingest.parsing.parsed_document import BlockKind, ParsedDocument, known_values
from elt_llm_ingest.parsing.xml_guard import check_prolog, parse_xml
from elt_llm_ingest.readers.headings import is_bold_definition, kind_of_line

_CONTAINER = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STREAMS = (
    ("WordDocument", "is an old binary Word file: save it as .docx"),
    ("PowerPoint Document", "is an old binary PowerPoint file: save it as .pptx"),
    ("Workbook", "is an old binary Excel file: save it as .xlsx"),
)


def refuse_legacy_office(path: Path) -> None:
    """Raise UnreadableDocument for old binary Office files and Rich Text. The error names a format to save it in."""
    data = read_bytes(path)
    if data.startswith(b"{\\rtf"):
        raise UnreadableDocument("is a file in the Rich Text Format: save it as .docx")
    if not data.startswith(_CONTAINER):
        return
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise UnreadableDocument("is encrypted: a password is needed")
    for stream, reason in _STREAMS:
        if stream.encode("utf-16-le") in data:
            raise UnreadableDocument(reason)
    raise UnreadableDocument("is an old binary Office file: save it in a current format")


@contextmanager
def refuse_damage() -> Iterator[None]:
    """Convert errors that a damaged file causes to UnreadableDocument. Other errors pass unchanged."""
    from lxml import etree

    # Unknown names, invalid numbers, truncated streams, endless trees. Broader classes would also hide errors in
    # this program, such as TypeError and AttributeError.
    families = (
        *(KeyError, IndexError, ValueError, OverflowError, EOFError),
        *(struct.error, zlib.error, BadZipFile, etree.LxmlError),
    )
    try:
        yield
    except RecursionError as error:
        raise UnreadableDocument("is nested too deeply") from error
    except families as error:
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        raise UnreadableDocument(f"is damaged ({reason}): open it in its program and save it again") from error


_BASE = "http://schemas.openxmlformats.org"
WORD = f"{{{_BASE}/wordprocessingml/2006/main}}"
SLIDE = f"{{{_BASE}/presentationml/2006/main}}"
DRAWING = f"{{{_BASE}/drawingml/2006/main}}"
CHART = f"{{{_BASE}/drawingml/2006/chart}}"
DIAGRAM = f"{{{_BASE}/drawingml/2006/diagram}}"
RELATION = f"{{{_BASE}/officeDocument/2006/relationships}}"
MATH = f"{{{_BASE}/officeDocument/2006/math}}"
COMPATIBILITY = f"{{{_BASE}/markup-compatibility/2006}}"
_RELATIONS = f"{{{_BASE}/package/2006/relationships}}"
_STRICT = re.compile(rb"((?:xmlns(?::[\w.-]{1,40})?|Type|uri)=[\"'])http://purl\.oclc\.org/ooxml/(\w{1,40})/")
_TRANSITIONAL = rb"\1" + _BASE.encode() + rb"/\2/2006/"


def parse_number(text: str | None) -> int | None:
    """Parse a whole number of up to six digits. Return None for any other text."""
    return int(text) if text and text.isdecimal() and len(text) < 7 else None


class StyledText(NamedTuple):
    """A part of a paragraph in one format. `bold` is None if the file does not specify the font weight."""

    text: str
    bold: bool | None = None
    emphasis: bool = False
    raised: bool = False


@dataclass
class OfficeParagraph:
    """A paragraph: its text in pieces, its text boxes and its notes. A piece that is None marks the start of a page."""

    pieces: list[StyledText | None] = field(default_factory=list)
    boxes: list[_Element] = field(default_factory=list)
    notes: list[tuple[str, _Element]] = field(default_factory=list)
    has_struck: bool = False
    """Whether struck-out text has been left out."""

    def add(self, text: str, bold: bool | None, *, emphasis: bool = False, raised: bool = False) -> None:
        """Append text. A `^` separates a number and the raised (superscript) number after it: 10^6."""
        last = next((piece for piece in reversed(self.pieces) if piece and piece.text), StyledText(""))
        power = raised and not last.raised and is_power(last.text, text)
        self.pieces.append(StyledText(f"^{text}" if power else text, bold, emphasis, raised))

    @property
    def raw(self) -> str:
        """The text of the paragraph with all its white space."""
        return "".join(piece.text for piece in self.pieces if piece)

    @property
    def text(self) -> str:
        """The text of the paragraph, with single blanks between words and without empty lines."""
        return collapse_blanks(self.raw)

    @property
    def term(self) -> str:
        """The bold text at the start of the paragraph, and any blanks that follow it."""
        return self._text_while(lambda piece: bool(piece.bold))

    @property
    def lead(self) -> str:
        """The bold, italic or otherwise emphasised text at the start, and any blanks that follow it."""
        return self._text_while(lambda piece: bool(piece.bold) or piece.emphasis)

    @property
    def is_bold(self) -> bool:
        """Whether all text of the paragraph is bold."""
        return bool(self.term.strip()) and self.term == self.raw

    def _text_while(self, is_marked: Callable[[StyledText], bool]) -> str:
        pieces = filter(None, self.pieces)
        return "".join(piece.text for piece in takewhile(lambda one: is_marked(one) or not one.text.strip(), pieces))


class OfficeBodyWriter:
    """Writes the body of a document. `left_out` collects notes on content that is not read."""

    def __init__(self) -> None:
        self.builder = DocumentBuilder()
        self.title = ""
        self.left_out: set[str] = set()
        self._definitions = DefinitionListMarks(self.builder.marks)
        self._before: BlockKind = "prose"
        self._aside_depth = 0

    def build(self, properties: _Element | None, name: str) -> ParsedDocument:
        """Return the document; its title comes from the properties, a title paragraph, the first heading or `name`."""
        self._definitions.end()
        title, metadata = read_properties(properties)
        document = self.builder.build(title or self.title, metadata, tuple(sorted(self.left_out)))
        first = document.sections[0].title if document.sections else name
        return replace(document, title=document.title or first)

    def _kind(self, paragraph: OfficeParagraph, label: str, *, is_item: bool, defines: bool = False) -> BlockKind:
        """Return the block kind of a paragraph. `defines` is true if its style marks a definition."""
        text = f"{label} {paragraph.text}".strip()[:120]
        kind = kind_of_line(text, is_item=is_item)
        return "definition" if kind == "prose" and (defines or is_bold_definition(paragraph.term, text)) else kind

    def _mark_terms(self, first: int, label: str, lead: str, part: str) -> None:
        """Record the term that a paragraph defines by its markup. Its blocks are those from index `first`.

        `part` is the role of the paragraph's style in a definition list: "term", "body" (the definition), or "" for
        other styles. Then `lead`, the emphasised text at the start after the number `label`, is recorded as a possible
        term: "Member" in "2.1 **Member** means ...".
        """
        span = self.builder.span(first)
        if span is None:
            return
        self._definitions.styled(part, span)
        if not part and self._before != "code":
            self.builder.marks.lead_after(span, self.builder.end, label, lead)


_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
# The date of the last change takes precedence, since the creation date is often that of the file's template.
_DATES = (f"{_TERMS}modified", f"{_DUBLIN_CORE}date", f"{_TERMS}created", f"{_META}creation-date")
_AUTHORS = (f"{_META}initial-creator", f"{_DUBLIN_CORE}creator")
_YEAR = re.compile(r"(?:19|20)\d\d(?=-)")
# Titles that a program writes by default.
_PROGRAM_TITLES = ("microsoft word", "powerpoint presentation", "untitled", "slide 1")


def read_properties(root: _Element | None) -> tuple[str, dict[str, MetadataValue]]:
    """Return the title (or "") and the metadata from core.xml (OOXML) or meta.xml (OpenDocument)."""
    if root is None:
        return "", {}
    title = _first_value(root, (f"{_DUBLIN_CORE}title",))
    year = _YEAR.match(_first_value(root, _DATES))
    authors = "; ".join(author.strip() for author in _first_value(root, _AUTHORS).split(";") if author.strip())
    metadata = known_values(authors=authors, year=int(year.group()) if year else None)
    return "" if title.casefold().startswith(_PROGRAM_TITLES) else title, metadata


def _first_value(root: _Element, tags: tuple[str, ...]) -> str:
    texts = (" ".join((element.text or "").split()) for tag in tags for element in root.iter(tag))
    return next(filter(None, texts), "")


class PackageRelation(NamedTuple):
    """A reference to the package part `target`. `kind` is the last word of the relation's type, such as "chart"."""

    kind: str
    target: str


class OfficePackage:
    """The parts of an Office file. `main` is the name of the part that contains the document."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._names = {name.casefold(): name for name in archive.names}
        self._relations: dict[str, dict[str, PackageRelation]] = {}
        mains = self.related("", "officeDocument")
        if not mains:
            raise UnreadableDocument("is not an Office document: its package names no main part")
        self.main = mains[0]

    def part(self, name: str) -> _Element:
        """Return the root element of a part; raise UnreadableDocument if it is missing or damaged."""
        known = self._names.get(name.casefold())
        if known is None:
            raise UnreadableDocument(f"is damaged: it has no part {name[:80]!a}")
        return parse_xml(_STRICT.sub(_TRANSITIONAL, check_prolog(self._archive.read_member(known))))

    def related(self, part: str, kind: str) -> list[str]:
        """Return the names of the existing parts to which a part refers by relations of this kind."""
        return [relation.target for relation in self.relations(part).values() if relation.kind == kind]

    def related_part(self, part: str, kind: str) -> _Element | None:
        """Return the root element of the first part that is related by this kind of relation, or None."""
        names = self.related(part, kind)
        return self.part(names[0]) if names else None

    def relations(self, part: str) -> dict[str, PackageRelation]:
        """Return the relations of a part (or of the package, "") by id. External and missing targets are omitted."""
        if part not in self._relations:
            self._relations[part] = dict(self._read_relations(part))
        return self._relations[part]

    def _read_relations(self, part: str) -> Iterator[tuple[str, PackageRelation]]:
        folder, name = posixpath.split(part)
        relations = posixpath.join(folder, "_rels", f"{name}.rels")
        if relations.casefold() not in self._names:
            return
        for element in self.part(relations).iter(f"{_RELATIONS}Relationship"):
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", ""))).lstrip("/")
            if element.get("TargetMode") != "External" and target.casefold() in self._names:
                yield element.get("Id", ""), PackageRelation(element.get("Type", "").rpartition("/")[2], target)


@contextmanager
def open_package(path: Path, root: str) -> Iterator[tuple[OfficePackage, _Element]]:
    """Open an Office file whose document has the root element `root`; yield the package and that element.

    Raises:
        UnreadableDocument: the file is not such a document, or the `with` block finds it damaged.
    """
    refuse_legacy_office(path)
    with refuse_damage(), open_archive(path) as archive:
        package = OfficePackage(archive)
        document = package.part(package.main)
        if document.tag != root:
            raise UnreadableDocument(
                f"holds another kind of document than its suffix indicates: {document.tag[-40:]!a}"
            )
        yield package, document


def choose_alternatives(alternate: _Element) -> list[_Element]:
    """Return the visible content of mc:AlternateContent: the first non-empty choice, else the fallback."""
    for branch in (*alternate.findall(f"{COMPATIBILITY}Choice"), *alternate.findall(f"{COMPATIBILITY}Fallback")):
        if len(branch):
            return list(branch)
    return []
