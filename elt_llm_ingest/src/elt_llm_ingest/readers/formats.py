"""Read the formats of the extra `formats`: older Office files, e-mail, pictures, archives, notebooks, LaTeX and others.

Kreuzberg (https://kreuzberg.dev, MIT) converts most of these formats to Markdown, whose structure is read as that of a
Markdown file. E-mail, pictures and archives are read here, since their attachments and members become documents.
"""

import gzip
import re
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parsedate_to_datetime
from functools import partial
from importlib.metadata import version as installed_version
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.parsing.archive import LARGEST_RATIO, LARGEST_SUM, MOST_ENTRIES, open_archive
from elt_llm_ingest.parsing.charset import decode
from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, Part, known_values
from elt_llm_ingest.readers.docx import DocxReader
from elt_llm_ingest.readers.drawio import DrawioReader
from elt_llm_ingest.readers.file_metadata import find_year
from elt_llm_ingest.readers.html import HtmlBlockWriter, parse_page, visible_part
from elt_llm_ingest.readers.markdown import markdown_document
from elt_llm_ingest.readers.options import ReaderOptions
from elt_llm_ingest.readers.pdf.ocr import OCR_VERSION, ocr_paragraphs
from elt_llm_ingest.readers.pptx import PptxReader
from elt_llm_ingest.readers.tesseract import NOT_INSTALLED, TesseractFailed, recognise

if TYPE_CHECKING:
    from kreuzberg import ExtractionResult

_TYPES = {
    ".doc": "application/msword",
    ".ppt": "application/vnd.ms-powerpoint",
    ".rtf": "application/rtf",
    ".msg": "application/vnd.ms-outlook",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".yaml": "application/x-yaml",
    ".yml": "application/x-yaml",
    ".toml": "application/toml",
    ".xml": "application/xml",
    ".svg": "image/svg+xml",
    ".ipynb": "application/x-ipynb+json",
    ".tex": "application/x-latex",
    ".typ": "application/x-typst",
    ".org": "text/x-org",
    ".bib": "application/x-bibtex",
    ".fb2": "application/x-fictionbook+xml",
    ".dbk": "application/docbook+xml",
    ".opml": "application/xml+opml",
}
_PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp")
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz")

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_DIAGRAM = re.compile(rb"<(?:mxfile|mxGraphModel)\b")
_DIAGRAM_REACH = 65_536
_LEAST_TEXT = 0.4  # share of the words of a text file that its conversion must keep
_WORD = re.compile(r"[^\W\d_]{3,40}")
_TEXT_FORMATS = frozenset((".json", ".jsonl", ".yaml", ".yml", ".toml", ".typ", ".org"))


def create_formats_reader(suffix: str, options: ReaderOptions | None) -> DocumentReader:
    """Create the reader for one of the FORMAT_SUFFIXES. `options` decide whether pictures are read by OCR."""
    chosen = options or ReaderOptions()
    if suffix in _PICTURES:
        return PictureReader(chosen)
    if suffix in _ARCHIVES:
        return ArchiveReader(chosen)
    return EmailReader(chosen) if suffix == ".eml" else ConvertedReader()


class ConvertedReader(DocumentReader):
    """Read one of many formats with kreuzberg. Nothing is downloaded, and no OCR is done."""

    name: ClassVar[str] = "kreuzberg"
    version: ClassVar[int] = 1

    @property
    def identity(self) -> str:
        """The name and version of this reader, and the version of kreuzberg, which decides the text."""
        return f"{super().identity}-{installed_version('kreuzberg')}"

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged, or has another format than its suffix."""
        data, suffix = read_bytes(path), path.suffix.lower()
        if suffix in (".doc", ".ppt") and (not data.startswith(_OLE) or _ENCRYPTED in data):
            # These readers read a newer format with this suffix, and refuse any other content with its name.
            return (DocxReader() if suffix == ".doc" else PptxReader()).read(path)
        if suffix == ".xml" and _DIAGRAM.search(data, 0, _DIAGRAM_REACH):
            return DrawioReader().read(path)
        _check_signature(suffix, data)
        if not data.strip():
            return ParsedDocument("", path.stem)
        converted = _convert(data, _TYPES[suffix])
        metadata = cast("Mapping[str, object]", converted.metadata)
        document = markdown_document(converted.content.replace("\r\n", "\n").replace("\0", ""), path.stem)
        return ParsedDocument(
            document.text,
            str(metadata.get("title") or "") or document.title,
            (),
            document.sections,
            document.blocks,
            {**document.metadata, **_converted_metadata(metadata)},
            (*document.notes, *_conversion_notes(suffix, data, converted)),
        )


def _check_signature(suffix: str, data: bytes) -> None:
    if suffix == ".msg" and data and not data.startswith(_OLE):
        raise UnreadableDocument("is not an Outlook message: its content has another format", hint="Rename the file.")
    if suffix == ".rtf" and data.strip() and not data.lstrip().startswith(b"{\\rtf"):
        raise UnreadableDocument("is not an RTF file: its content has another format", hint="Rename the file.")


def _convert(data: bytes, media_type: str) -> "ExtractionResult":
    from kreuzberg import ExtractionConfig, KreuzbergError, extract_bytes_sync

    # The media type is given, since kreuzberg would look up an unknown one on the internet.
    config = ExtractionConfig(output_format="markdown", use_cache=False)
    try:
        return extract_bytes_sync(data, media_type, config)
    except (KreuzbergError, ValueError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise UnreadableDocument(f"cannot be converted: it is damaged, or has another format ({reason})") from error


def _converted_metadata(found: Mapping[str, object]) -> dict[str, MetadataValue]:
    authors = found.get("authors")
    values = {name: str(found.get(name) or "") for name in ("subject", "from_email", "message_id", "in_reply_to")}
    mail = bool(values["from_email"])
    return known_values(
        authors="; ".join(map(str, authors)) if isinstance(authors, list) else values["from_email"],
        year=find_year(str(found.get("created_at") or "")),
        subject=values["subject"] if mail else "",
        sent=str(found.get("created_at") or "") if mail else "",
        thread=(values["in_reply_to"] or values["message_id"]) if mail else "",
        kind="email" if mail else "",
    )


def _conversion_notes(suffix: str, data: bytes, converted: "ExtractionResult") -> Iterator[str]:
    attachments = cast("Mapping[str, object]", converted.metadata).get("attachments")
    if suffix == ".msg" and isinstance(attachments, list) and attachments:
        yield f"attachments are not read: {', '.join(map(str, attachments))} (save the e-mail as .eml)"
    if suffix in _TEXT_FORMATS:
        words = set(_WORD.findall(decode(data)[0]))
        kept = words & set(_WORD.findall(converted.content))
        if len(kept) < _LEAST_TEXT * len(words):
            yield f"only {len(kept)} of the {len(words)} different words of the file are in the text"


class PictureReader(DocumentReader):
    """Read the text in a picture with tesseract, if OCR is on."""

    name: ClassVar[str] = "picture"
    version: ClassVar[int] = 1
    _DOTS_PER_INCH = 300

    def __init__(self, options: ReaderOptions) -> None:
        self._options = options

    @property
    def identity(self) -> str:
        """The version of the reader, and the languages and engine of the OCR if it is on."""
        engine = self._options.ocr_engine.replace(" ", "-") or "none"
        ocr = f"-ocr{OCR_VERSION}-{self._options.ocr_languages}-{engine}" if self._options.ocr else ""
        return f"{super().identity}{ocr}"

    def read(self, path: Path) -> ParsedDocument:
        """Recognise the text. Without OCR the text is empty, and a note names the setting that reads the picture."""
        data, builder = read_bytes(path), DocumentBuilder()
        if not self._options.ocr:
            return builder.build(path.stem, {}, ("is a picture; to read its text, set ingest.ocr: true",))
        if not self._options.ocr_engine:
            return builder.build(path.stem, {}, (f"the text of the picture is not read: {NOT_INSTALLED}",))
        try:
            table = recognise(data, self._options.ocr_languages, self._DOTS_PER_INCH)
        except TesseractFailed as error:
            raise UnreadableDocument(f"cannot be read as a picture: {error}") from error
        for paragraph in ocr_paragraphs(table):
            builder.add(paragraph.text, paragraph.kind, tight=paragraph.tight)
        note = f"the text was recognised by {self._options.ocr_engine}, {self._options.ocr_languages}"
        return builder.build(path.stem, {}, (note,))


class EmailReader(DocumentReader):
    """Read .eml files. The text is subject, sender, receivers, date and body; attachments are parts."""

    name: ClassVar[str] = "email"
    version: ClassVar[int] = 1

    def __init__(self, options: ReaderOptions) -> None:
        self._options = options

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it has no header of an e-mail."""
        data = read_bytes(path)
        message = message_from_bytes(data, policy=policy.default)
        if data.strip() and not (message["from"] or message["subject"] or message["message-id"]):
            raise UnreadableDocument("is not an e-mail: it has neither sender nor subject", hint="Rename the file.")
        members = _Members(self._options, "attachment")
        for number, attachment in enumerate(message.iter_attachments(), 1):
            members.add(attachment.get_filename() or f"attachment-{number}.txt", partial(_payload, attachment))
        return members.document(_write_message(message), _header(message, "subject") or path.stem, _mail_data(message))


def _payload(part: MIMEPart) -> bytes:
    content = part.get_payload(decode=True)
    if isinstance(content, bytes):
        return content
    return bytes(part.get_content()) if part.get_content_type() == "message/rfc822" else b""


def _header(message: EmailMessage, name: str) -> str:
    return " ".join(str(message[name] or "").split())[:1000]


def _mail_data(message: EmailMessage) -> dict[str, MetadataValue]:
    """Return sender, date, subject and thread: the thread is the first message to which this one belongs."""
    try:
        sent = parsedate_to_datetime(_header(message, "date")).isoformat()
    except ValueError:
        sent = ""
    references = _header(message, "references").split() or _header(message, "in-reply-to").split()
    return known_values(
        kind="email",
        authors=_header(message, "from"),
        sender=_header(message, "from"),
        receivers="; ".join(filter(None, (_header(message, "to"), _header(message, "cc")))),
        subject=_header(message, "subject"),
        sent=sent,
        year=find_year(sent),
        message_id=_header(message, "message-id"),
        thread=references[0] if references else _header(message, "message-id"),
    )


def _write_message(message: EmailMessage) -> DocumentBuilder:
    builder = DocumentBuilder()
    if subject := _header(message, "subject"):
        builder.add_heading(subject, 1)
    lines = [f"{name}: {_header(message, name)}" for name in ("From", "To", "Cc", "Date") if _header(message, name)]
    builder.add("\n".join(lines))
    body = message.get_body(("plain", "html"))
    content = _body_text(body) if body is not None else ""
    if body is not None and body.get_content_type() == "text/html":
        tree, _ = parse_page(content.encode())
        if (part := visible_part(tree)) is not None:
            HtmlBlockWriter(builder).write(part)
    else:
        for paragraph in re.split(r"\n[ \t]*\n", content.replace("\r\n", "\n")):
            builder.add(paragraph.strip("\n"))
    return builder


def _body_text(body: MIMEPart) -> str:
    try:
        return str(body.get_content())
    except LookupError:  # an unknown charset
        return decode(_payload(body))[0]


class ArchiveReader(DocumentReader):
    """Read .zip, .tar, .tgz and .gz files. The text lists the members; each readable member is a part."""

    name: ClassVar[str] = "archive"
    version: ClassVar[int] = 1

    def __init__(self, options: ReaderOptions) -> None:
        self._options = options

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged, encrypted or exceeds a limit."""
        members, builder = _Members(self._options, "member"), DocumentBuilder()
        try:
            for name, data in _archive_members(path):
                members.add(name, partial(bytes, data))
                builder.add(f"- {name}", "list", tight=bool(members.count - 1))
        except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as error:
            raise UnreadableDocument(f"is not a {path.suffix} archive, or is damaged: {error}") from error
        return members.document(builder, path.stem, {})


def _archive_members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each member file, within the limits of zip packages."""
    if path.suffix.lower() == ".zip":
        with open_archive(path) as archive:
            for name in archive.names:
                yield name, archive.read_member(name)
        return
    data = read_bytes(path)
    if data.startswith(b"\x1f\x8b"):
        most = min(LARGEST_SUM, max(1_000_000, LARGEST_RATIO * len(data)))
        packed = len(data)
        with gzip.GzipFile(fileobj=BytesIO(data)) as stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise UnreadableDocument(f"decompresses {packed:,} bytes to more than the limit of {most:,} bytes")
        if not tarfile.is_tarfile(BytesIO(data)):
            yield path.stem, data
            return
    yield from _tar_members(data)


def _tar_members(data: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=BytesIO(data), mode="r:") as archive:
        for number, member in enumerate(archive, 1):
            if number > MOST_ENTRIES:
                raise UnreadableDocument(f"has more than {MOST_ENTRIES:,} entries")
            if member.name.startswith("/") or ".." in PurePosixPath(member.name).parts:
                raise UnreadableDocument(f"holds a member whose path leads out of its folder: {member.name[:80]!a}")
            stream = archive.extractfile(member) if member.isreg() else None
            if stream is not None:
                yield member.name, stream.read()


class _Content(Protocol):
    def __call__(self) -> bytes:
        """Return the bytes of a member."""


class _Members:
    """The members of an archive or the attachments of an e-mail, read one by one into parts."""

    def __init__(self, options: ReaderOptions, group: str) -> None:
        self._options, self._group = options, group
        self._parts: dict[str, ParsedDocument] = {}
        self._notes: list[str] = []
        self.count = 0

    def add(self, name: str, content: _Content) -> None:
        """Read a member, or add a note with the reason why it is not read."""
        from elt_llm_ingest.readers import create_reader

        self.count += 1
        name = "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", ".", ".."))[:200]
        file = PurePosixPath(name or f"{self._group}-{self.count}")
        if file.suffix.lower() in _ARCHIVES:
            self._notes.append(f"{file}: an archive inside a file is not read")
            return
        reader = create_reader(Path(file.name), self._options)
        if reader is None:
            self._notes.append(f"{file}: no reader for {file.suffix or 'files without a suffix'}")
            return
        try:
            with tempfile.TemporaryDirectory(prefix="elt-llm-member-") as folder:
                path = Path(folder, f"member{file.suffix}")
                path.write_bytes(content())
                document = reader.read(path)
        except UnreadableDocument as error:
            self._notes.append(f"{file}: {error}")
            return
        self._keep(str(file), file, document)

    def _keep(self, name: str, file: PurePosixPath, document: ParsedDocument) -> None:
        if name in self._parts:
            name = f"{file.with_suffix('')}-{self.count}{file.suffix}"
        title = file.name if document.title == "member" else document.title
        self._notes.extend(f"{name}: {note}" for note in document.notes)
        self._notes.extend(f"{name}: its attachment {part.name} is not read" for part in document.parts)
        metadata = {**document.metadata, self._group: name}
        self._parts[name] = ParsedDocument(
            document.text, title, document.pages, document.sections, document.blocks, metadata
        )

    def document(self, builder: DocumentBuilder, title: str, metadata: dict[str, MetadataValue]) -> ParsedDocument:
        """Return the document around the parts."""
        whole = builder.build(title, metadata, tuple(self._notes))
        parts = tuple(Part(name, self._group, part) for name, part in self._parts.items())
        return ParsedDocument(
            whole.text, whole.title, whole.pages, whole.sections, whole.blocks, whole.metadata, whole.notes, parts
        )
