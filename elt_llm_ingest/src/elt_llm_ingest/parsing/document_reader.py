"""The interface of all readers: a LlamaIndex BaseReader with name and version that also returns parsed documents.

The module also converts parsed documents to LlamaIndex documents and back.
"""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.text.outline import Section
from llama_index.core.readers.base import BaseReader

from elt_llm_ingest.parsing.parsed_document import Block, ParsedDocument

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode, Document


def to_llama_document(parsed: ParsedDocument, path: Path) -> "Document":
    """Convert to a LlamaIndex document. Pages, sections and blocks are metadata that prompts and embeddings ignore."""
    from llama_index.core.schema import Document  # not imported in worker processes

    structure: dict[str, Any] = {
        "pages": list(parsed.pages),
        "sections": [(section.start, section.level, section.title) for section in parsed.sections],
        "blocks": [(block.start, block.end, block.kind, block.header) for block in parsed.blocks],
    }
    metadata = {**parsed.metadata, "title": parsed.title, "file_path": str(path), **structure}
    hidden = list(structure)
    return Document(
        text=parsed.text, metadata=metadata, excluded_embed_metadata_keys=hidden, excluded_llm_metadata_keys=hidden
    )


def from_llama_document(node: "BaseNode") -> ParsedDocument:
    """Convert a LlamaIndex document to a parsed one: only text and title, if another package's reader has made it."""
    from llama_index.core.schema import MetadataMode

    metadata: Mapping[str, Any] = node.metadata
    return ParsedDocument(
        text=node.get_content(metadata_mode=MetadataMode.NONE),
        title=str(metadata.get("title") or metadata.get("file_name") or ""),
        pages=tuple(metadata.get("pages", ())),
        sections=tuple(Section(*section) for section in metadata.get("sections", ())),
        blocks=tuple(Block(*block) for block in metadata.get("blocks", ())),
    )


class DocumentReader(BaseReader):
    """Parses one file into a text and its structure. The same bytes always give the same result.

    `name` and `version` are recorded with each document that the reader has parsed. Increase `version` whenever a
    change may alter the text of some file.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def identity(self) -> str:
        """The reader's name, version and options that affect the text, as one string. Stored with each document."""
        return f"{self.name}-{self.version}"

    @abstractmethod
    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument with the reason if the file cannot be parsed."""

    def load_data(self, file: Path, *args: Any, **load_kwargs: Any) -> "list[Document]":
        """Return the file as one LlamaIndex document whose metadata contains pages, sections and blocks."""
        return [to_llama_document(self.read(Path(file)), Path(file))]


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; raise UnreadableDocument if it cannot be opened."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableDocument(f"cannot be opened: {error.strerror or error}") from error


_HEAD, _TAIL = 65_536, 1_048_576  # bytes at the start and the end of a file that are searched for marks of its format
_PACKAGE_MARKS = {  # members of a zip package, or the content of its first member, by format
    b"word/document.xml": ".docx",
    b"xl/workbook.xml": ".xlsx",
    b"ppt/presentation.xml": ".pptx",
    b"application/vnd.oasis.opendocument.text": ".odt",
    b"application/vnd.oasis.opendocument.spreadsheet": ".ods",
    b"application/epub+zip": ".epub",
}
_SIGNATURES = {b"%PDF-": ".pdf", b"{\\rtf": ".rtf", b"<!doctype html": ".html", b"<html": ".html"}
_NAMES = {".pdf": "a PDF", ".rtf": "a file in the Rich Text Format", ".html": "an HTML page", ".zip": "a zip archive"}
_FAMILIES = ({".docx", ".docm", ".dotx", ".dotm"}, {".xlsx", ".xlsm"}, {".pptx", ".pptm", ".ppsx", ".potx"})


def read_document(reader: DocumentReader, path: Path) -> ParsedDocument:
    """Parse a file. If this fails and the suffix does not match the content's format, the error names the format."""
    try:
        return reader.read(path)
    except UnreadableDocument as error:
        found, suffix = _format_of(path), path.suffix.lower()
        same = found == suffix or any({found, suffix} <= family for family in _FAMILIES)
        if not found or same or (found == ".zip" and suffix != ".pdf") or "save it as" in str(error):
            raise
        name = _NAMES.get(found, f"a {found} file")
        raise UnreadableDocument(f"is {name}, not a {suffix} file: rename it to {found}") from error


def _format_of(path: Path) -> str:
    """Return the usual suffix of the format that a file's bytes show, or "" if the format is unknown."""
    data = read_bytes(path)
    head = data[:_HEAD]
    if head.startswith(b"PK"):
        ends = head + data[-_TAIL:]
        return next((suffix for mark, suffix in _PACKAGE_MARKS.items() if mark in ends), ".zip")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return next((suffix for signature, suffix in _SIGNATURES.items() if start.startswith(signature.lower())), "")
