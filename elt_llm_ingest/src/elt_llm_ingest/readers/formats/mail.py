"""Read e-mails (.eml, and .msg of Outlook): headers and body as text, each attachment as a document."""

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email import errors, message_from_bytes, message_from_string, policy
from email.message import EmailMessage, MIMEPart
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.parsing.charset import decode, normalise_text
from elt_llm_ingest.parsing.document_builder import STRUCK_OUT, DocumentBuilder
from elt_llm_ingest.parsing.document_reader import read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, find_year, known_values
from elt_llm_ingest.readers.formats.members import ContainerReader, Members, printable
from elt_llm_ingest.readers.html import HtmlBlockWriter, parse_page, visible_part

if TYPE_CHECKING:
    from olefile import OleFileIO

HEADERS = (*("from", "to", "cc", "date", "subject"), *("message-id", "in-reply-to", "references", "thread-topic"))
_MESSAGE_ID = re.compile(r"<[^<>\s]{1,900}>")
_DAMAGE = (errors.CloseBoundaryNotFoundDefect, errors.StartBoundaryNotFoundDefect, errors.NoBoundaryInMultipartDefect)
_MOST_LEVELS = 50  # levels of nested multipart containers


@dataclass(frozen=True)
class Mail:
    """The headers of an e-mail by their lower-case names, and its body. `html` is true if the body is HTML."""

    headers: Mapping[str, str]
    body: str
    html: bool

    def document(self, members: Members, title: str) -> ParsedDocument:
        """Return the mail as a document, with its attachments as parts. `title` replaces a missing subject."""
        return members.document(self._write(members), self._header("subject") or title, self._metadata())

    def _header(self, name: str) -> str:
        return " ".join(printable(self.headers.get(name, "")).split())[:1000]

    def _thread(self) -> str:
        """Return the id of the conversation's first message, or the conversation's topic if no header has an id."""
        for name in ("references", "in-reply-to", "message-id"):
            if value := self._header(name):
                found = _MESSAGE_ID.search(value)
                return found.group() if found else value.split()[0]
        return self._header("thread-topic")

    def _metadata(self) -> dict[str, MetadataValue]:
        try:
            sent = parsedate_to_datetime(self._header("date")).isoformat()
        except ValueError:
            sent = ""
        return known_values(
            kind="email",
            authors=self._header("from"),
            sender=self._header("from"),
            receivers="; ".join(filter(None, (self._header("to"), self._header("cc")))),
            subject=self._header("subject"),
            sent=sent,
            year=find_year(sent),
            message_id=self._header("message-id"),
            thread=self._thread(),
        )

    def _write(self, members: Members) -> DocumentBuilder:
        builder = DocumentBuilder()
        if subject := self._header("subject"):
            builder.add_heading(subject, 1)
        shown = (name for name in ("from", "to", "cc", "date") if self._header(name))
        builder.add("\n".join(f"{name.capitalize()}: {self._header(name)}" for name in shown))
        if self.html:
            tree, notes = parse_page(self.body.encode())
            if STRUCK_OUT in notes:
                members.add_note(STRUCK_OUT)
            if (part := visible_part(tree)) is not None:
                HtmlBlockWriter(builder).write(part)
        else:
            for paragraph in re.split(r"\n[ \t]*\n", normalise_text(self.body)):
                builder.add(paragraph.strip("\n"))
        return builder


class EmailReader(ContainerReader):
    """Reads .eml files. The text consists of subject, sender, recipients, date and body; attachments are parts."""

    name: ClassVar[str] = "email"
    version: ClassVar[int] = 8

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it has no e-mail headers."""
        data = read_bytes(path)
        message = message_from_bytes(data, policy=policy.default)
        headers = {name: header_text(message, name) for name in HEADERS}
        if data.strip() and not (headers["from"] or headers["subject"] or headers["message-id"]):
            raise UnreadableDocument("is not an e-mail: it has neither sender nor subject", hint="rename the file")
        _check_levels(message)
        members = Members(self, "attachment")
        for number, attachment in enumerate(members.within_limit(_attachments(message)), 1):
            members.add(attachment.get_filename() or _default_name(attachment, number), partial(_payload, attachment))
        if any(isinstance(defect, _DAMAGE) for part in message.walk() for defect in part.defects):
            members.add_note("the e-mail is truncated or damaged; its last part may be incomplete")
        body = message.get_body(("plain", "html"))
        html = body is not None and body.get_content_type() == "text/html"
        return Mail(headers, _body_text(body) if body is not None else "", html).document(members, path.stem)


def header_text(message: EmailMessage, name: str) -> str:
    """Return a header with its encoded words decoded, or unchanged if Python cannot parse it."""
    try:
        return str(message[name] or "")
    except (ValueError, LookupError, AttributeError, TypeError):
        return next((str(value) for key, value in message.raw_items() if key.lower() == name), "")


def _attachments(message: EmailMessage) -> list[MIMEPart]:
    if not message.is_multipart() and message.get_content_maintype() != "text":
        return [message]
    try:
        return list(message.iter_attachments())
    except (AttributeError, LookupError):  # a multipart whose parts are missing
        return []


def _check_levels(message: EmailMessage) -> None:
    """Refuse e-mails with deeply nested parts, because Python's e-mail package would read them recursively."""
    level: list[MIMEPart] = [message]
    for _ in range(_MOST_LEVELS):
        level = [part for outer in level if outer.is_multipart() for part in outer.iter_parts()]
        if not level:
            return
    raise UnreadableDocument(f"has more than {_MOST_LEVELS} levels of nested parts; it may be damaged")


def _default_name(attachment: MIMEPart, number: int) -> str:
    suffixes = {"message/rfc822": ".eml", "text/html": ".html", "application/pdf": ".pdf"}
    return f"attachment-{number}{suffixes.get(attachment.get_content_type(), '.txt')}"


def _payload(part: MIMEPart) -> bytes:
    content = part.get_payload(decode=True)
    if isinstance(content, bytes):
        return content
    return bytes(part.get_content()) if part.get_content_type() == "message/rfc822" else b""


def _body_text(body: MIMEPart) -> str:
    try:
        return str(body.get_content())
    except LookupError:  # an unknown charset
        return decode(_payload(body))[0]


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FIRST_YEAR = datetime(1601, 1, 1, tzinfo=UTC)
# The numbers of the properties in Microsoft's specification [MS-OXPROPS].
_SUBJECT, _HEADERS, _BODY, _HTML, _TIME = 0x0037, 0x007D, 0x1000, 0x1013, 0x0039
_SENDER_NAME, _SENDER_ADDRESS, _SENDER_SMTP = 0x0C1A, 0x0C1F, 0x5D01
_CONTENT, _LONG_NAME, _SHORT_NAME, _DISPLAY_NAME = 0x3701, 0x3707, 0x3704, 0x3001
_HEADER_PROPERTIES = {
    "to": 0x0E04,
    "cc": 0x0E03,
    "subject": _SUBJECT,
    "message-id": 0x1035,
    "references": 0x1039,
    "in-reply-to": 0x1042,
    "thread-topic": 0x0070,
}


class OutlookReader(ContainerReader):
    """Reads .msg files. The text consists of subject, sender, recipients, date and body; attachments are parts."""

    name: ClassVar[str] = "outlook"
    version: ClassVar[int] = 7

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged, or not an Outlook message."""
        from olefile import OleFileIO

        data = read_bytes(path)
        if not data.startswith(_OLE):
            raise UnreadableDocument(
                "is not an Outlook message: its content has another format", hint="rename the file"
            )
        try:
            with OleFileIO(BytesIO(data)) as container:
                if not container.exists("__properties_version1.0"):
                    raise UnreadableDocument("is not an Outlook message: it has no properties of a message")
                return _Storage(container, ()).document(self, path.stem)
        except (OSError, ValueError, IndexError, struct.error, RecursionError) as error:
            raise UnreadableDocument(f"is a damaged Outlook message: {error}") from error


class _Storage:
    """The properties of one message or attachment in a .msg file.

    A .msg file is an OLE container, with folders and streams of its own. `folder` is the path, in this container, of
    the folder with the properties. The specification [MS-OXPROPS] lists the number (`code`) of each property.
    """

    def __init__(self, container: "OleFileIO[str]", folder: tuple[str, ...]) -> None:
        self._container, self._folder = container, folder

    def document(self, reader: ContainerReader, title: str) -> ParsedDocument:
        """Return the message as a document, with its attachments as parts."""
        members = Members(reader, "attachment")
        for number, attachment in enumerate(members.within_limit(list(self._attachments())), 1):
            names = (attachment.text(code) for code in (_LONG_NAME, _SHORT_NAME, _DISPLAY_NAME))
            name = next(filter(None, names), f"attachment-{number}")
            inner = attachment.inner(f"__substg1.0_{_CONTENT:04X}000D")
            if inner is None:
                members.add(name, partial(attachment.read, _CONTENT))
            elif not reader.with_members:
                members.add_note(f"{name}: the attachment of an attachment is not read")
            else:
                within = type(reader)(reader.options, with_members=False)
                members.add_document(f"{name}.msg", inner.document(within, name))
        html, body = self.text(_HTML), self.text(_BODY)
        if not (html or body) and self.read(0x1009):
            members.add_note(
                "the body is not read, since it is stored only as compressed RTF (save the e-mail as .eml)"
            )
        return Mail(self._headers(), body or html, html=not body and bool(html)).document(members, title)

    def text(self, code: int) -> str:
        """Return the text property with the number `code`; "" if the message or attachment does not have it."""
        if unicode := self._stream(code, "001F"):
            return unicode.decode("utf-16-le", "replace").rstrip("\0")
        narrow = self._stream(code, "001E") or self._stream(code, "0102")
        return decode(narrow.rstrip(b"\0"))[0]

    def read(self, code: int) -> bytes:
        """Return the binary property with the number `code`; b"" if the message or attachment does not have it."""
        return self._stream(code, "0102")

    def inner(self, name: str) -> "_Storage | None":
        """Return the message in the folder `name` of this attachment, or None if the attachment is a file."""
        found = self._container.exists([*self._folder, name])
        return _Storage(self._container, (*self._folder, name)) if found else None

    def _attachments(self) -> Iterator["_Storage"]:
        depth = len(self._folder) + 1
        folders = {tuple(path[:depth]) for path in self._container.listdir(streams=True, storages=True)}
        for path in sorted(folders):
            if path[:-1] == self._folder and path[-1].startswith("__attach_version1.0_"):
                yield _Storage(self._container, path)

    def _headers(self) -> dict[str, str]:
        """Return the transport headers. Missing headers, as in unsent messages, are taken from the properties."""
        found = message_from_string(self.text(_HEADERS), policy=policy.default)
        headers = {name: header_text(found, name) for name in HEADERS}
        address = self.text(_SENDER_SMTP) or self.text(_SENDER_ADDRESS)
        sender = f"{self.text(_SENDER_NAME)} <{address}>" if address else self.text(_SENDER_NAME)
        values = {name: self.text(code) for name, code in _HEADER_PROPERTIES.items()}
        values |= {"from": sender.strip(), "date": self._time()}
        return {name: headers[name] or values.get(name, "") for name in HEADERS}

    def _time(self) -> str:
        """Return the time of sending, which the file stores in units of 100 ns since 1601."""
        head = 24 if self._folder else 32  # bytes before the first property, in [MS-OXMSG]
        rows = self._stream_at("__properties_version1.0")[head:]
        for start in range(0, len(rows) - 15, 16):
            kind, code, _, count = struct.unpack_from("<HHIQ", rows, start)
            if (kind, code) == (0x40, _TIME) and 0 < count < 3 * 10**17:  # a time before the year 2600
                return format_datetime(_FIRST_YEAR + timedelta(microseconds=count // 10))
        return ""

    def _stream(self, code: int, kind: str) -> bytes:
        return self._stream_at(f"__substg1.0_{code:04X}{kind}")

    def _stream_at(self, name: str) -> bytes:
        path = [*self._folder, name]
        if not self._container.exists(path) or self._container.get_type(path) != 2:
            return b""
        content: bytes = self._container.openstream(path).read()
        return content
