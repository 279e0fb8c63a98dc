"""Files out of the body of a request, written as they come: no more of them is in memory than one piece."""

import os
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from elt_llm_core.errors import UsageError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from elt_llm_api.serve.refusals import TooLarge, UnsupportedUpload

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

_MOST_FIELDS, _LONGEST_FIELD = 20, 4096  # other fields than files, bytes of one


@dataclass(frozen=True)
class CameIn:
    """One file on the disk: what its sender calls it, where it is, and its size in bytes."""

    given: str
    path: Path
    size: int


@dataclass
class _Part:
    """What is being read. `stream` is none for a field that is no file."""

    name: str
    given: str
    path: Path | None = None
    stream: BinaryIO | None = None
    content: bytearray = field(default_factory=bytearray)
    size: int = 0


@dataclass
class Form:
    """What a body held, once it was read to its end."""

    fields: dict[str, str] = field(default_factory=dict)
    files: list[CameIn] = field(default_factory=list)


class FormReader:
    """Takes the pieces of a body. Whatever is left in `folder` when `close` is called is deleted.

    No file may have more than `most_bytes`, and no more than `most_files` may come.
    """

    def __init__(self, content_type: str, folder: Path, most_bytes: int, most_files: int) -> None:
        """Raises UnsupportedUpload for a body that is no form with files."""
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise UnsupportedUpload(
                "Files are brought as multipart/form-data, and this is something else.",
                hint="Send the fields collection and files; see /openapi.json",
            )
        self._folder, self._most_bytes, self._most_files = folder, most_bytes, most_files
        self._form, self._part, self._ended = Form(), _Part("", ""), False
        self._header, self._headers = (bytearray(), bytearray()), dict[bytes, bytes]()
        self._opened = ExitStack()
        self._parser = MultipartParser(boundary, self._callbacks())

    def feed(self, piece: bytes) -> None:
        """Take a piece. Raises UsageError for what is no form, TooLarge, and OSError where the disk cannot take it."""
        try:
            self._parser.write(piece)
        except FormParserError as error:
            raise UsageError("The body is not a form as its header says.", hint=str(error)[:200]) from error

    def finished(self) -> Form:
        """All that came. Raises UsageError for a body that broke off."""
        if not self._ended:
            raise UsageError("The body broke off before its end.", hint="Send it again.")
        return self._form

    def close(self) -> None:
        """Close what is open, and delete what was not taken."""
        self._opened.close()
        for file in self._form.files:
            file.path.unlink(missing_ok=True)
        if self._part.path is not None:
            self._part.path.unlink(missing_ok=True)

    def _callbacks(self) -> "MultipartCallbacks":
        return {
            "on_part_begin": self._headers.clear,
            "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
            "on_header_end": self._header_ends,
            "on_headers_finished": self._begin,
            "on_part_data": self._write,
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def _header_ends(self) -> None:
        name, value = self._header
        self._headers[bytes(name).lower()] = bytes(value)
        name.clear()
        value.clear()

    def _begin(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" not in options:
            if len(self._form.fields) >= _MOST_FIELDS:
                raise TooLarge(f"A form may have {_MOST_FIELDS} fields beside files.")
            self._part = _Part(name, "")
            return
        if len(self._form.files) >= self._most_files:
            raise TooLarge(f"{self._most_files} files may come at once.", hint="Bring the others afterwards.")
        path = self._folder / uuid.uuid4().hex
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        stream = self._opened.enter_context(os.fdopen(descriptor, "wb"))
        self._part = _Part(name, options[b"filename"].decode("utf-8", "replace"), path, stream)

    def _write(self, data: bytes, start: int, end: int) -> None:
        part = self._part
        part.size += end - start
        if part.stream is None:
            if part.size > _LONGEST_FIELD:
                raise TooLarge(f"The field '{part.name[:40]}' is longer than {_LONGEST_FIELD} bytes.")
            part.content.extend(data[start:end])
            return
        if part.size > self._most_bytes:
            raise TooLarge(
                f"A file may have {self._most_bytes} bytes.", hint="Split it, or have ingest.max_file_mb raised."
            )
        part.stream.write(data[start:end])

    def _end(self) -> None:
        part = self._part
        if part.stream is None or part.path is None:
            self._form.fields[part.name] = part.content.decode("utf-8", "replace")
            return
        part.stream.flush()
        os.fsync(part.stream.fileno())
        part.stream.close()
        self._form.files.append(CameIn(part.given, part.path, part.size))
        self._part = _Part("", "")

    def _finish(self) -> None:
        self._ended = True
