"""Files in the container of older office programs, told by name: they are encrypted, or of a kind that is not read."""

from pathlib import Path

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.readers.document_reader import read_bytes

_CONTAINER = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STREAMS = (
    ("WordDocument", "is an old binary Word file: save it as .docx"),
    ("PowerPoint Document", "is an old binary PowerPoint file: save it as .pptx"),
    ("Workbook", "is an old binary Excel file: save it as .xlsx"),
)


def refuse_legacy_office(path: Path) -> None:
    """UnreadableDocument with the cure if the file is an OLE container or Rich Text; nothing happens otherwise."""
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
    raise UnreadableDocument("is an old binary office file: save it in a present format")
