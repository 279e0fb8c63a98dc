"""Read the members of archives and the attachments of e-mails, each as a document of its own."""

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import version as installed_version
from pathlib import Path, PurePosixPath
from typing import TypeVar

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.parsing.archive import MOST_ENTRIES
from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, Part
from elt_llm_ingest.readers import FORMAT_SUFFIXES, SUPPORTED_SUFFIXES, create_reader
from elt_llm_ingest.readers.options import ReaderOptions

ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".tbz2", ".bz2", ".txz", ".xz")
_Found = TypeVar("_Found")
_MAILS = (".eml", ".msg")
# The errors that libraries raise for a damaged file. They must not prevent the other members from being read.
_FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


def printable(name: str) -> str:
    """Return a name or header with a space in place of each control character and each damaged character."""
    return "".join(character if character.isprintable() else " " for character in name)


class ContainerReader(DocumentReader):
    """A reader of files that contain files.

    With `with_members=False`, it lists the contained files without reading them.
    """

    def __init__(self, options: ReaderOptions, *, with_members: bool = True) -> None:
        self.options, self.with_members = options, with_members

    @property
    def identity(self) -> str:
        """The version of the reader, of kreuzberg and of the readers of all contained files, with the OCR options."""
        return f"{super().identity}-{installed_version('kreuzberg')}-{_readers_digest(self.options)}"


@lru_cache(maxsize=8)
def _readers_digest(options: ReaderOptions) -> str:
    """Return a digest of the identities of all readers that may read a contained file."""
    suffixes = sorted((SUPPORTED_SUFFIXES | FORMAT_SUFFIXES) - {*ARCHIVES, *_MAILS})
    readers = (create_reader(Path(f"file{suffix}"), options) for suffix in suffixes)
    identities = " ".join(reader.identity for reader in readers if reader is not None)
    return hashlib.sha256(identities.encode()).hexdigest()[:12]


class Members:
    """The members of an archive or the attachments of an e-mail, read one by one into parts."""

    def __init__(self, reader: ContainerReader, group: str) -> None:
        self._reader, self._group = reader, group
        self._parts: dict[str, ParsedDocument] = {}
        self._notes: list[str] = []
        self.count = 0

    def add(self, name: str, content: Callable[[], bytes]) -> None:
        """Read a member, or add a note with the reason why the member is not read."""
        file = self._next_path(name)
        if not self._reader.with_members:
            self.add_note(f"{file}: the attachment of an attachment is not read")
            return
        if file.suffix.lower() in ARCHIVES:
            self.add_note(f"{file}: an archive inside a file is not read")
            return
        reader = create_reader(Path(file.name), self._reader.options)
        if reader is None:
            self.add_note(f"{file}: no reader for {file.suffix or 'files without a suffix'}")
            return
        if isinstance(reader, ContainerReader):
            reader.with_members = self._group == "member"
        try:
            with tempfile.TemporaryDirectory(prefix="elt-llm-member-") as folder:
                path = Path(folder, f"member{file.suffix}")
                path.write_bytes(content())
                document = reader.read(path)
        except UnreadableDocument as error:
            self.add_note(f"{file}: {error}")
            return
        except _FAILURES as error:
            self.add_note(f"{file}: is damaged, or has another format than its suffix ({type(error).__name__})")
            return
        self._keep(file, document)

    def add_document(self, name: str, document: ParsedDocument) -> None:
        """Add a member that has been read to the parts of the document."""
        self._keep(self._next_path(name), document)

    def within_limit(self, found: Sequence[_Found]) -> Sequence[_Found]:
        """Return the first 10,000 attachments, and add a note if there are more."""
        if len(found) > MOST_ENTRIES:
            self.add_note(f"only the first {MOST_ENTRIES:,} of the {len(found):,} attachments are read")
        return found[:MOST_ENTRIES]

    def add_note(self, note: str) -> None:
        """Add a sentence for the ingest report."""
        self._notes.append(note)

    def _next_path(self, name: str) -> PurePosixPath:
        """Count one more member, and return its path without steps that lead out of the folder."""
        self.count += 1
        steps = (step for step in printable(name).replace("\\", "/").split("/") if step not in ("", ".", ".."))
        return PurePosixPath("/".join(steps)[-200:] or f"{self._group}-{self.count}")

    def _keep(self, file: PurePosixPath, document: ParsedDocument) -> None:
        name = str(file)
        if name in self._parts:
            name = f"{file.with_suffix('')}-{self.count}{file.suffix}"
        title = file.name if document.title == "member" else document.title
        self._notes.extend(f"{name}: {note}" for note in document.notes)
        metadata = {**document.metadata, self._group: name}
        self._parts[name] = ParsedDocument(
            document.text, title, document.pages, document.sections, document.blocks, metadata
        )
        for part in document.parts:
            self._parts[f"{name}/{part.name}"] = part.document

    def document(self, builder: DocumentBuilder, title: str, metadata: dict[str, MetadataValue]) -> ParsedDocument:
        """Return the document of the archive or e-mail, with its members as parts."""
        whole = builder.build(title, metadata, tuple(self._notes))
        parts = tuple(Part(name, self._group, part) for name, part in self._parts.items())
        return ParsedDocument(
            whole.text, whole.title, whole.pages, whole.sections, whole.blocks, whole.metadata, whole.notes, parts
        )
