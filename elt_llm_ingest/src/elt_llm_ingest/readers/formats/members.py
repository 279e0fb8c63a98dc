"""Read archives. Each member of an archive, and each attachment of an e-mail, becomes a separate document."""

import bz2
import gzip
import hashlib
import lzma
import re
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib.metadata import version as installed_version
from io import BufferedIOBase, BytesIO
from pathlib import Path, PurePosixPath
from typing import ClassVar, TypeVar

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue

from elt_llm_ingest.parsing.archive import LARGEST_RATIO, LARGEST_SUM, MOST_ENTRIES, RATIO_FROM, open_archive
from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, Part
from elt_llm_ingest.readers import ARCHIVES, FORMAT_SUFFIXES, SUPPORTED_SUFFIXES, ReaderOptions, create_reader

_Found = TypeVar("_Found")
_MAILS = (".eml", ".msg")
# The line above each e-mail in a .mbox file, and an equal line within an e-mail, which is quoted with ">".
_MAIL_STARTS = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]{1,998}\n")
_QUOTED_START = re.compile(rb"^>(?=>{0,20}From )", re.MULTILINE)
# The errors that libraries raise for a damaged member. The other members must still be read.
_FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


def printable(name: str) -> str:
    """Return a name or header with each unprintable character replaced by a space."""
    return "".join(character if character.isprintable() else " " for character in name)


class ContainerReader(DocumentReader):
    """A reader for files that contain files. With `with_members=False`, it only notes that inner files are not read."""

    def __init__(self, options: ReaderOptions, *, with_members: bool = True) -> None:
        self.options, self.with_members = options, with_members

    @property
    def identity(self) -> str:
        """Identifies the reader: its version, kreuzberg's, and the identities of all readers for contained files."""
        return f"{super().identity}-{installed_version('kreuzberg')}-{_readers_digest(self.options)}"


@lru_cache(maxsize=8)
def _readers_digest(options: ReaderOptions) -> str:
    """Return a digest of the identities of all readers that may read a contained file."""
    suffixes = sorted((SUPPORTED_SUFFIXES | FORMAT_SUFFIXES) - {*ARCHIVES, *_MAILS})
    readers = (create_reader(Path(f"file{suffix}"), options) for suffix in suffixes)
    identities = " ".join(reader.identity for reader in readers if reader is not None)
    return hashlib.sha256(identities.encode()).hexdigest()[:12]


class Members:
    """Reads the members of an archive, or the attachments of an e-mail, one by one into parts of the document."""

    def __init__(self, reader: ContainerReader, group: str) -> None:
        self._reader, self._group = reader, group
        self._parts: dict[str, ParsedDocument] = {}
        self._notes: list[str] = []
        self.count = 0

    def add(self, name: str, content: Callable[[], bytes]) -> None:
        """Read a member into a part. If this fails, add a note with the reason."""
        file = self._next_path(name)
        try:
            self._keep(file, self._read(file, content))
        except UnreadableDocument as error:
            self.add_note(f"{file}: {error}")
        except _FAILURES as error:
            self.add_note(f"{file}: is damaged, or has another format than its suffix ({type(error).__name__})")

    def _read(self, file: PurePosixPath, content: Callable[[], bytes]) -> ParsedDocument:
        if not self._reader.with_members:
            raise UnreadableDocument("the attachment of an attachment is not read")
        if file.suffix.lower() in ARCHIVES:
            raise UnreadableDocument("an archive inside a file is not read")
        reader = create_reader(Path(file.name), self._reader.options)
        if reader is None:
            raise UnreadableDocument(f"no reader for {file.suffix or 'files without a suffix'}")
        if isinstance(reader, ContainerReader):
            reader.with_members = self._group == "member"
        with tempfile.TemporaryDirectory(prefix="elt-llm-member-") as folder:
            path = Path(folder, f"member{file.suffix}")
            path.write_bytes(content())
            return reader.read(path)

    def add_document(self, name: str, document: ParsedDocument) -> None:
        """Add an already parsed member to the parts."""
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
        """Count one more member, and return its path without `..` or other steps that lead out of the folder."""
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
        self._parts[name] = replace(document, title=title, metadata=metadata, notes=(), parts=(), artefacts={})
        for part in document.parts:
            self._parts[f"{name}/{part.name}"] = part.document

    def document(self, builder: DocumentBuilder, title: str, metadata: dict[str, MetadataValue]) -> ParsedDocument:
        """Return the archive or e-mail as a document, with its members as parts."""
        parts = tuple(Part(name, self._group, part) for name, part in self._parts.items())
        return replace(builder.build(title, metadata, tuple(self._notes)), parts=parts, artefacts={})


# The first bytes of a compressed file, and the function that opens its decompressed content.
_COMPRESSIONS: dict[bytes, Callable[[BytesIO], BufferedIOBase]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}


class ArchiveReader(ContainerReader):
    """Reads .zip, .tar and .mbox files, compressed .tar files, and single files compressed by gzip, bzip2 or xz."""

    name: ClassVar[str] = "archive"
    version: ClassVar[int] = 3

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged, encrypted or exceeds a limit."""
        members, builder = Members(self, "member"), DocumentBuilder()
        try:
            for name, data in _archive_members(path):
                members.add(name, partial(bytes, data))
                builder.add(f"- {name}", "list", tight=bool(members.count - 1))
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError) as error:
            raise UnreadableDocument(f"is not a {path.suffix} archive, or is damaged: {error}") from error
        return members.document(builder, path.stem, {})


def _archive_members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each member file. The limits of zip packages apply to all archives."""
    if path.suffix.lower() == ".zip":
        with open_archive(path) as archive:
            for name in archive.names:
                yield name, archive.read_member(name)
        return
    data = read_bytes(path)
    if path.suffix.lower() == ".mbox":
        yield from _mails(data)
        return
    for signature, open_compressed in _COMPRESSIONS.items():
        if data.startswith(signature):
            most, packed = min(LARGEST_SUM, max(RATIO_FROM, LARGEST_RATIO * len(data))), len(data)
            with open_compressed(BytesIO(data)) as stream:
                data = stream.read(most + 1)
            if len(data) > most:
                raise UnreadableDocument(f"decompresses {packed:,} bytes to more than the limit of {most:,} bytes")
            if not tarfile.is_tarfile(BytesIO(data)):
                yield path.stem, data
                return
            break
    yield from _tar_members(data)


def _mails(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each e-mail in a mailbox file.

    `mailbox.mbox` of the standard library is not used, because it opens the file for writing.
    """
    starts = list(_MAIL_STARTS.finditer(data))
    if not starts or starts[0].start():
        raise ValueError('it does not start with "From "')
    if len(starts) > MOST_ENTRIES:
        raise UnreadableDocument(f"has more than {MOST_ENTRIES:,} entries")
    ends = [found.start() for found in starts[1:]] + [len(data)]
    for number, (found, end) in enumerate(zip(starts, ends, strict=True), 1):
        yield f"mail-{number}.eml", _QUOTED_START.sub(b"", data[found.end() : end])


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
