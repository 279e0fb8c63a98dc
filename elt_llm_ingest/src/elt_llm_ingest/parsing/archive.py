"""Open zip archives safely: check the declared sizes first, and count the bytes during decompression."""

import stat
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsing.document_reader import read_bytes

LARGEST_SUM = 200_000_000  # decompressed bytes of all members
LARGEST_RATIO = 100  # decompressed size divided by compressed size
MOST_ENTRIES = 10_000
RATIO_FROM = 1_000_000  # decompressed bytes; the ratio of a smaller member is not checked
_PIECE = 65_536
_DIRECTORY_ENTRY = b"PK\x01\x02"
_LOCAL_HEADER = b"PK\x03\x04"
_LOCAL_HEADER_SIZE = 30
_ARCHIVES = (_LOCAL_HEADER, b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
_ENCRYPTED = 0x1 | 0x40 | 0x2000
# Charts in Office files store their numbers as a workbook in this folder. No reader opens this workbook.
_EMBEDDED = "embeddings"


class Archive:
    """A zip package in memory. `names` lists its files (not its folders) in the order of the zip directory."""

    def __init__(self, data: bytes, entries: Sequence[ZipInfo]) -> None:
        self._data = data
        self._entries = {entry.filename: entry for entry in entries if not entry.is_dir()}
        self.names = tuple(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def read_member(self, name: str) -> bytes:
        """Return the decompressed bytes of a member; raise UnreadableDocument if it is damaged, KeyError if missing."""
        return b"".join(self._inflate(self._entries[name]))

    def check_members(self) -> None:
        """Decompress every member once; raise UnreadableDocument if a member is damaged or larger than declared."""
        for entry in self._entries.values():
            for _ in self._inflate(entry):
                pass

    def _inflate(self, entry: ZipInfo) -> Iterator[bytes]:
        """Yield the decompressed bytes of a member, and compare their count with the size in the zip directory."""
        size = checksum = 0
        start = _content_start(self._data, entry)
        for piece in _unpacked_pieces(memoryview(self._data)[start : start + entry.compress_size], entry):
            if not size and piece.startswith(_ARCHIVES) and _EMBEDDED not in Path(entry.filename).parts:
                raise UnreadableDocument(f"holds another archive inside the archive: {_shortened(entry)}")
            size += len(piece)
            checksum = zlib.crc32(piece, checksum)
            if size > entry.file_size:
                raise UnreadableDocument(
                    f"is damaged: member {_shortened(entry)} decompresses to more than its declared size"
                )
            yield piece
        if size != entry.file_size or checksum != entry.CRC:
            raise UnreadableDocument(f"is damaged: member {_shortened(entry)} does not match its size or checksum")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a zip package without decompressing it; raise UnreadableDocument if it is invalid or exceeds a limit."""
    data = read_bytes(path)
    entries = _directory(data)
    for entry in entries:
        _check_entry(entry)
    _check_sizes(entries, len(data))
    _check_overlaps(entries, data)
    yield Archive(data, entries)


def _directory(data: bytes) -> list[ZipInfo]:
    # Count before parsing, since parsing a million entries would take seconds and hundreds of megabytes.
    if (count := data.count(_DIRECTORY_ENTRY)) > MOST_ENTRIES:
        raise UnreadableDocument(f"has {count:,} entries, more than the limit of {MOST_ENTRIES:,}")
    try:
        with ZipFile(BytesIO(data)) as archive:
            return archive.infolist()
    except (BadZipFile, NotImplementedError, ValueError, OSError, EOFError, struct.error) as error:
        raise UnreadableDocument(f"is not a zip package, or is damaged: {error}") from error


def _check_entry(entry: ZipInfo) -> None:
    path = entry.orig_filename.replace("\\", "/")
    if path.startswith("/") or path[1:2] == ":" or "\0" in path or ".." in path.split("/"):
        raise UnreadableDocument(f"holds a member whose path leads out of its folder: {_shortened(entry)}")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise UnreadableDocument(f"holds a symbolic link: {_shortened(entry)}")
    if entry.flag_bits & _ENCRYPTED:
        raise UnreadableDocument("is encrypted: a password is needed")
    if entry.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        raise UnreadableDocument(f"uses compression method {entry.compress_type}, which is not supported: use Deflate")


def _check_sizes(entries: Sequence[ZipInfo], packed: int) -> None:
    total = sum(entry.file_size for entry in entries)
    if total > LARGEST_SUM:
        raise UnreadableDocument(
            f"decompresses to {total / 1e6:,.0f} MB, more than the limit of {LARGEST_SUM / 1e6:.0f} MB: split the file"
        )
    for entry in entries:
        if entry.file_size > max(RATIO_FROM, LARGEST_RATIO * entry.compress_size):
            raise UnreadableDocument(
                f"holds a member with a compression ratio above {LARGEST_RATIO}: {_shortened(entry)}"
            )
    if total > max(RATIO_FROM, LARGEST_RATIO * packed):
        raise UnreadableDocument(f"has a compression ratio above {LARGEST_RATIO} and may be a decompression bomb")


def _check_overlaps(entries: Sequence[ZipInfo], data: bytes) -> None:
    """Refuse repeated names and overlapping members: two programs could read different content from such a file."""
    names: set[str] = set()
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.filename in names:
            raise UnreadableDocument(f"holds two members with the same name: {_shortened(entry)}")
        names.add(entry.filename)
        if entry.header_offset < end:
            raise UnreadableDocument(f"holds overlapping members and may be a decompression bomb: {_shortened(entry)}")
        end = _content_start(data, entry) + entry.compress_size
        if end > len(data):
            raise UnreadableDocument(f"is damaged: member {_shortened(entry)} is truncated")


def _content_start(data: bytes, entry: ZipInfo) -> int:
    start = entry.header_offset
    header = data[start : start + _LOCAL_HEADER_SIZE] if start >= 0 else b""
    if len(header) < _LOCAL_HEADER_SIZE or not header.startswith(_LOCAL_HEADER):
        raise UnreadableDocument(f"is damaged: member {_shortened(entry)} is not at the offset in the zip directory")
    name, extra = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
    return start + _LOCAL_HEADER_SIZE + name + extra


def _unpacked_pieces(packed: memoryview, entry: ZipInfo) -> Iterator[bytes]:
    if entry.compress_type == ZIP_STORED:
        for start in range(0, len(packed), _PIECE):
            yield bytes(packed[start : start + _PIECE])
        return
    try:
        yield from inflate_pieces(packed)
    except zlib.error as error:
        raise UnreadableDocument(f"is damaged: member {_shortened(entry)} cannot be decompressed") from error


def inflate_pieces(deflated: bytes | memoryview) -> Iterator[bytes]:
    """Yield the decompressed bytes of a raw deflate stream in pieces; raise zlib.error if the stream is damaged."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    for start in range(0, len(deflated), _PIECE):
        piece = inflater.decompress(deflated[start : start + _PIECE], _PIECE)
        while piece:
            yield piece
            piece = inflater.decompress(inflater.unconsumed_tail, _PIECE)
    if not inflater.eof:
        raise zlib.error("the stream is truncated")


def _shortened(entry: ZipInfo) -> str:
    return f"{entry.orig_filename[:80]!a}"
