"""Reading an exported file that may come from anybody: nothing is unpacked to the disk, and nothing without a bound."""

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TypeVar

from pydantic import BaseModel, ValidationError

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import ImportRefused
from elt_llm_core.exchange import DOCUMENTS, MANIFEST, MEMBERS, Manifest

Model = TypeVar("Model", bound=BaseModel)

MOST_UNPACKED = 64 << 30  # bytes of all members
_MOST_MANIFEST = 4 << 20
_MOST_LINE = 256 << 20
_MOST_RATIO, _ANY_RATIO_BELOW = 250, 16 << 20  # unpacked to packed
_MOST_DIRECTORY = 1 << 16  # bytes; four members need 400
_END, _END_64, _TAIL = b"PK\x05\x06", b"PK\x06\x06", 66_000
_FAILURES = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error, ValueError)


class Package(Closeable):
    """An exported file, its members checked against their limits, its manifest read."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises ImportRefused if it is not an exported file."""
        self.path = path
        self._streams = ExitStack()
        with self._named_failures():
            _refuse_large_directory(path)
            self._zip = zipfile.ZipFile(path)
        try:
            self._check_members()
            self.manifest = self.parse(Manifest, self._read_manifest(), MANIFEST)
            self._check_sizes()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file, and members that were not read to their end."""
        self._streams.close()
        self._zip.close()

    def refuse(self, why: str) -> ImportRefused:
        """The error to raise."""
        return ImportRefused(
            f"{self.path} cannot be imported: {why}.", hint="Nothing was imported. Export the collection again."
        )

    def parse(self, model: type[Model], text: bytes, where: str) -> Model:
        """The JSON `text` as this model. Raises ImportRefused with the first thing wrong."""
        try:
            return model.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise self.refuse(f"{where}: {place + ': ' if place else ''}{first['msg']}") from error

    def lines(self) -> Iterator[bytes]:
        """The lines of the documents; at their end, their hash is compared. Raises ImportRefused."""
        with self._member(DOCUMENTS) as stream:
            digest = hashlib.sha256()
            while line := stream.readline(_MOST_LINE + 1):
                if len(line) > _MOST_LINE:
                    raise self.refuse(f"a line of {DOCUMENTS} has more than {_MOST_LINE} bytes")
                digest.update(line)
                yield line
            self._compare(DOCUMENTS, digest.hexdigest())

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        """A member in pieces of `size` bytes, the last perhaps shorter; at their end, its hash is compared."""
        with self._member(name) as stream:
            digest = hashlib.sha256()
            while piece := stream.read(size):
                digest.update(piece)
                yield piece
            self._compare(name, digest.hexdigest())

    def _compare(self, name: str, digest: str) -> None:
        if self.manifest.members[name].sha256 != digest:
            raise self.refuse(f"{name} has another sha256 than the manifest says")

    def _read_manifest(self) -> bytes:
        with self._member(MANIFEST) as stream:
            return stream.read(_MOST_MANIFEST)

    def _check_members(self) -> None:
        members = self._zip.infolist()
        if sorted(member.filename for member in members) != sorted(MEMBERS):
            raise self.refuse(f"its members are not {', '.join(MEMBERS)}, each once")
        for member in members:
            if member.flag_bits & 0x1:
                raise self.refuse(f"{member.filename} is encrypted")
            if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise self.refuse(f"{member.filename} is packed in an unknown way")
            ratio = member.file_size / max(1, member.compress_size)
            if member.file_size > _ANY_RATIO_BELOW and ratio > _MOST_RATIO:
                raise self.refuse(f"{member.filename} unpacks to {ratio:.0f} times its size")
        if sum(member.file_size for member in members) > MOST_UNPACKED:
            raise self.refuse(f"it unpacks to more than {MOST_UNPACKED} bytes")
        if self._zip.getinfo(MANIFEST).file_size > _MOST_MANIFEST:
            raise self.refuse(f"{MANIFEST} has more than {_MOST_MANIFEST} bytes")

    def _check_sizes(self) -> None:
        said = {name: member.size for name, member in self.manifest.members.items()}
        there = {name: self._zip.getinfo(name).file_size for name in MEMBERS if name != MANIFEST}
        if said != there:
            raise self.refuse("its members have other sizes than the manifest says")

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        with self._named_failures():
            yield self._streams.enter_context(self._zip.open(name))

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        try:
            yield
        except _FAILURES as error:
            raise self.refuse(f"it is damaged, or no zip file ({error})") from error
        except OSError as error:
            raise self.refuse(error.strerror or str(error)) from error


def _refuse_large_directory(path: Path) -> None:
    """Raises BadZipFile if the list of members is long: to read it would take the memory it says it has."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _TAIL))
        tail = stream.read()
    end, end_64 = tail.rfind(_END), tail.rfind(_END_64)
    if end < 0:
        raise zipfile.BadZipFile("it has no list of members")
    sizes = [struct.unpack_from("<L", tail, end + 12)[0]]
    if end_64 >= 0:
        sizes.append(struct.unpack_from("<Q", tail, end_64 + 40)[0])
    if any(size > _MOST_DIRECTORY for size in sizes if size != 0xFFFFFFFF):
        raise zipfile.BadZipFile("it has a list of too many members")
