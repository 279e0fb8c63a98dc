"""Read archives: the text lists the members, and each readable member is a document of its own."""

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedIOBase, BytesIO
from pathlib import Path, PurePosixPath
from typing import ClassVar

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsing.archive import LARGEST_RATIO, LARGEST_SUM, MOST_ENTRIES, open_archive
from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.formats.members import ContainerReader, Members

# The first bytes of a compressed file, and the function that opens its decompressed content.
_COMPRESSIONS: dict[bytes, Callable[[BytesIO], BufferedIOBase]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
_LEAST_LIMIT = 1_000_000  # decompressed bytes that are allowed at any ratio


class ArchiveReader(ContainerReader):
    """Read .zip and .tar files, compressed .tar files, and single files compressed by gzip, bzip2 or xz."""

    name: ClassVar[str] = "archive"
    version: ClassVar[int] = 2

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
    """Yield name and content of each member file, within the limits of zip packages."""
    if path.suffix.lower() == ".zip":
        with open_archive(path) as archive:
            for name in archive.names:
                yield name, archive.read_member(name)
        return
    data = read_bytes(path)
    for signature, open_compressed in _COMPRESSIONS.items():
        if data.startswith(signature):
            most, packed = min(LARGEST_SUM, max(_LEAST_LIMIT, LARGEST_RATIO * len(data))), len(data)
            with open_compressed(BytesIO(data)) as stream:
                data = stream.read(most + 1)
            if len(data) > most:
                raise UnreadableDocument(f"decompresses {packed:,} bytes to more than the limit of {most:,} bytes")
            if not tarfile.is_tarfile(BytesIO(data)):
                yield path.stem, data
                return
            break
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
