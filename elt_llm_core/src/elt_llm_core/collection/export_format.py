"""The export file: a zip archive of a manifest, documents (JSON lines) and vectors. Reading enforces size limits."""

import hashlib
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from elt_llm_core.errors import ImportRefused
from elt_llm_core.index.contents import Hashing
from elt_llm_core.store.documents import ForgottenDocument
from elt_llm_core.store.records import EmbeddingFingerprint
from elt_llm_core.utilities import Closeable

FORMAT = "elt-llm-collection"
FORMAT_VERSION = 2
MANIFEST, DOCUMENTS, KEYS, VECTORS = "manifest.json", "documents.jsonl", "vectors.keys", "vectors.f32"
MEMBERS = (DOCUMENTS, KEYS, VECTORS, MANIFEST)  # in the order in which they are written
KEY_BYTES = 32  # the length of a SHA-256
_MAX_COUNT = 2**62  # a count, and the sum of two counts, fit into SQLite's 64-bit integers

NonNegativeCount = Annotated[int, Field(ge=0, le=_MAX_COUNT)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _check_relative_path(path: str) -> str:
    """Raise ValueError unless the path is relative and stays below its folder."""
    steps = path.split("/")
    if "\0" in path or not steps[0] or ".." in steps:
        raise ValueError("the path is not relative or leads out of its folder")
    return path


def _check_timestamp(text: str) -> str:
    """Raise ValueError unless the text is an ISO 8601 date and time with an offset from UTC."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("the time has no UTC offset")
    return text


def _check_fingerprint(fingerprint: EmbeddingFingerprint) -> EmbeddingFingerprint:
    """Raise ValueError unless the dimension and the token limit are possible."""
    if not (1 <= fingerprint.dimension <= 65536 and 0 <= fingerprint.token_limit <= _MAX_COUNT):
        raise ValueError("no model has this dimension or token limit")
    return fingerprint


def _check_forgotten(forgotten: ForgottenDocument) -> ForgottenDocument:
    """Raise ValueError unless a forgotten document has a valid id, and each of its hashes is empty or a SHA-256."""
    hashes = (forgotten.content_hash, forgotten.name)
    if not re.fullmatch(r"[0-9a-f]{32}", forgotten.document_id) or any(len(it) not in {0, KEY_BYTES} for it in hashes):
        raise ValueError("a forgotten file has an invalid id or hash")
    return forgotten


RelativePath = Annotated[str, Field(max_length=4096), AfterValidator(_check_relative_path)]
Timestamp = Annotated[str, Field(max_length=40), AfterValidator(_check_timestamp)]
ArtefactName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, val_json_bytes="hex")


class ArchiveMember(_StrictModel):
    """The uncompressed size in bytes and the SHA-256 in hex of one archive member."""

    size: NonNegativeCount
    sha256: Digest


class ExportManifest(_StrictModel):
    """The manifest of an export file: its format version, and the counts, sizes and hashes of its contents."""

    format: Literal["elt-llm-collection"]
    version: Literal[1, 2]
    collection: str
    collection_hash: Digest
    fingerprint: Annotated[EmbeddingFingerprint, AfterValidator(_check_fingerprint)]
    chunker: str
    language: str
    chroma: dict[str, str | int]
    library_versions: dict[str, str]
    roots: tuple[RelativePath, ...]
    documents: NonNegativeCount
    nodes: NonNegativeCount
    vectors: NonNegativeCount
    members: dict[str, ArchiveMember]
    forgotten: tuple[Annotated[ForgottenDocument, AfterValidator(_check_forgotten)], ...] = ()

    @property
    def hashing(self) -> Hashing:
        """What `collection_hash` hashes: the "whole" contents (version 1), or hashes of all "nodes" (version 2)."""
        return "whole" if self.version == 1 else "nodes"


class ExportedNode(_StrictModel):
    """One exported chunk. Its text is `document.text[start:end]`."""

    node_id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")]
    start: NonNegativeCount
    end: NonNegativeCount
    page: NonNegativeCount | None
    section: str | None
    context: str
    metadata: dict[str, str | int | float | bool | list[str]]
    stems: str


class ExportedDocument(_StrictModel):
    """One document version: a line of the export. For a part of a file, `part_of` is the file's line, from 0."""

    part_of: NonNegativeCount | None
    document_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    root: RelativePath
    path: RelativePath
    content_hash: Digest
    size: NonNegativeCount
    reader: str
    chunker: str
    tokeniser: str
    outcome: Literal["ok", "empty"]
    title: str
    text: str
    pages: tuple[NonNegativeCount, ...]
    sections: tuple[tuple[NonNegativeCount, NonNegativeCount, str], ...]
    metadata: dict[str, str | int | float | bool | list[str]]
    notes: tuple[str, ...]
    part: str
    extraction: str
    modified_at: Timestamp | None
    created_at: Timestamp
    artefacts: dict[ArtefactName, Any]
    nodes: tuple[ExportedNode, ...]


Model = TypeVar("Model", bound=BaseModel)

MAX_UNPACKED = 64 << 30  # bytes of all members together
_MAX_MANIFEST = 4 << 20  # bytes
_MAX_LINE = 256 << 20  # bytes
# The maximum ratio of uncompressed to compressed size, and the uncompressed bytes up to which any ratio is accepted.
_MOST_RATIO, _ANY_RATIO_BELOW = 250, 16 << 20
_MAX_DIRECTORY = 1 << 16  # bytes; the directory of an archive of four members takes 400
# The signatures of the records at the end of a zip file, and the number of bytes at the end in which to find them.
_END, _END_64, _TAIL = b"PK\x05\x06", b"PK\x06\x06", 66_000
_FAILURES = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error, ValueError)


class ExportPackage(Closeable):
    """An open export file, whose list of members has been checked and whose manifest has been parsed."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raises ImportRefused if the file is not an export."""
        self.path = path
        self._streams = ExitStack()
        with self._named_failures():
            _refuse_large_directory(path)
            self._zip = zipfile.ZipFile(path)
        try:
            self._check_members()
            with self._member(MANIFEST) as stream:
                self.manifest = self.parse(ExportManifest, stream.read(_MAX_MANIFEST), MANIFEST)
            listed = {name: member.size for name, member in self.manifest.members.items()}
            if listed != {name: self._zip.getinfo(name).file_size for name in MEMBERS if name != MANIFEST}:
                raise self.refuse("the sizes of its members do not match the manifest")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file and all open members."""
        self._streams.close()
        self._zip.close()

    def refuse(self, why: str) -> ImportRefused:
        """Return an error that names the file and the reason `why` it cannot be imported."""
        return ImportRefused(
            f"{self.path} cannot be imported: {why}.", hint="Nothing was imported. Export the collection again."
        )

    def parse(self, model: type[Model], text: bytes, where: str) -> Model:
        """Parse the JSON `text` as a `model`. Raises ImportRefused, whose message has `where` and the first mistake."""
        try:
            return model.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise self.refuse(f"{where} is not valid: {place + ': ' if place else ''}{first['msg']}") from error

    def lines(self) -> Iterator[bytes]:
        """Yield each document as a line of JSON. After the last, raises ImportRefused if the member's hash is wrong."""
        for line in self._hashed(DOCUMENTS, lambda stream: stream.readline(_MAX_LINE + 1)):
            if len(line) > _MAX_LINE:
                raise self.refuse(f"a line of {DOCUMENTS} has more than {_MAX_LINE} bytes")
            yield line

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        """Yield an archive member in pieces of at most `size` bytes. Raises ImportRefused if its hash is wrong."""
        return self._hashed(name, lambda stream: stream.read(size))

    def _hashed(self, name: str, read: Callable[[IO[bytes]], bytes]) -> Iterator[bytes]:
        digest = hashlib.sha256()
        with self._member(name) as stream:
            while piece := read(stream):
                digest.update(piece)
                yield piece
            if self.manifest.members[name].sha256 != digest.hexdigest():
                raise self.refuse(f"{name} does not match its sha256 in the manifest")

    def _check_members(self) -> None:
        members = self._zip.infolist()
        if sorted(member.filename for member in members) != sorted(MEMBERS):
            raise self.refuse(f"it must contain each of these members exactly once: {', '.join(MEMBERS)}")
        for member in members:
            if member.flag_bits & 0x1:
                raise self.refuse(f"{member.filename} is encrypted")
            if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise self.refuse(f"{member.filename} has an unknown compression method")
            ratio = member.file_size / max(1, member.compress_size)
            if member.file_size > _ANY_RATIO_BELOW and ratio > _MOST_RATIO:
                raise self.refuse(f"{member.filename} expands to {ratio:.0f} times its compressed size")
        if sum(member.file_size for member in members) > MAX_UNPACKED:
            raise self.refuse(f"it expands to more than {MAX_UNPACKED} bytes")
        if self._zip.getinfo(MANIFEST).file_size > _MAX_MANIFEST:
            raise self.refuse(f"{MANIFEST} has more than {_MAX_MANIFEST} bytes")

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        with self._named_failures():
            yield self._streams.enter_context(self._zip.open(name))

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            raise self.refuse(f"it is damaged or not a zip file ({error})") from error
        except OSError as error:
            raise self.refuse(error.strerror or str(error)) from error


def _refuse_large_directory(path: Path) -> None:
    """Raise BadZipFile if the archive claims a long list of members, since zipfile would allocate the claimed size."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _TAIL))
        tail = stream.read()
    end, end_64 = tail.rfind(_END), tail.rfind(_END_64)
    if end < 0:
        raise zipfile.BadZipFile("it has no table of contents")
    sizes = [struct.unpack_from("<L", tail, end + 12)[0]]
    if end_64 >= 0:
        sizes.append(struct.unpack_from("<Q", tail, end_64 + 40)[0])
    if any(size > _MAX_DIRECTORY for size in sizes if size != 0xFFFFFFFF):
        raise zipfile.BadZipFile("its table of contents lists too many members")
