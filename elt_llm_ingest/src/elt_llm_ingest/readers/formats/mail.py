"""Read e-mails: the text is subject, sender, receivers, date and body; each attachment is a document of its own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email import errors, message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import ClassVar

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.parsing.charset import decode
from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, known_values
from elt_llm_ingest.readers.file_metadata import find_year
from elt_llm_ingest.readers.formats.members import ContainerReader, Members, printable
from elt_llm_ingest.readers.html import HtmlBlockWriter, parse_page, visible_part

HEADERS = (
    *("from", "to", "cc", "date", "subject"),
    *("message-id", "in-reply-to", "references", "thread-topic"),
)
_MESSAGE_ID = re.compile(r"<[^<>\s]{1,900}>")
_DAMAGE = (errors.CloseBoundaryNotFoundDefect, errors.StartBoundaryNotFoundDefect, errors.NoBoundaryInMultipartDefect)
_MOST_LEVELS = 50  # of multipart containers inside each other


@dataclass(frozen=True)
class Mail:
    """The headers of an e-mail by their lower-case names, and its body, which is HTML or plain text."""

    headers: Mapping[str, str]
    body: str
    html: bool

    def document(self, members: Members, title: str) -> ParsedDocument:
        """Return the document of the mail and its attachments. `title` is used if the mail has no subject."""
        return members.document(self._write(), self._header("subject") or title, self._metadata())

    def _header(self, name: str) -> str:
        return " ".join(printable(self.headers.get(name, "")).split())[:1000]

    def _thread(self) -> str:
        """Return the id of the first message of the conversation.

        If no header has the id of a message, return the topic.
        """
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

    def _write(self) -> DocumentBuilder:
        builder = DocumentBuilder()
        if subject := self._header("subject"):
            builder.add_heading(subject, 1)
        shown = (name for name in ("from", "to", "cc", "date") if self._header(name))
        builder.add("\n".join(f"{name.capitalize()}: {self._header(name)}" for name in shown))
        if self.html:
            tree, _ = parse_page(self.body.encode())
            if (part := visible_part(tree)) is not None:
                HtmlBlockWriter(builder).write(part)
        else:
            for paragraph in re.split(r"\n[ \t]*\n", self.body.replace("\r\n", "\n").replace("\0", "")):
                builder.add(paragraph.strip("\n"))
        return builder


class EmailReader(ContainerReader):
    """Read .eml files. The text is subject, sender, receivers, date and body; attachments are parts."""

    name: ClassVar[str] = "email"
    version: ClassVar[int] = 2

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it has no header of an e-mail."""
        data = read_bytes(path)
        message = message_from_bytes(data, policy=policy.default)
        headers = {name: header_text(message, name) for name in HEADERS}
        if data.strip() and not (headers["from"] or headers["subject"] or headers["message-id"]):
            raise UnreadableDocument("is not an e-mail: it has neither sender nor subject", hint="Rename the file.")
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
    """Return a header with decoded words, or undecoded if Python's parser cannot parse the header."""
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
    """Refuse containers inside containers inside containers, which Python's e-mail package would read recursively."""
    level: list[MIMEPart] = [message]
    for _ in range(_MOST_LEVELS):
        level = [part for outer in level if outer.is_multipart() for part in outer.iter_parts()]
        if not level:
            return
    raise UnreadableDocument(f"has more than {_MOST_LEVELS} nested parts; it may be damaged")


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
