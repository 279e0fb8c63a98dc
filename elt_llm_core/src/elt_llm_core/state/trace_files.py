"""Files with a line a question, in `traces` of the data directory: few, small, for their owner alone, and erasable."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from elt_llm_core.errors import StoreError

TRACES_FOLDER = "traces"
LARGEST = 16 << 20  # bytes of one file
Documents = frozenset[tuple[str, str, str]]
"""Collection, document id and hash of each document that a line is about."""


class TraceFiles:
    """Appends lines to the file of the day, a further one where that is full; the oldest beyond `most` are deleted.

    Several processes may append to the same files.
    """

    def __init__(self, data_dir: Path, most: int, largest: int = LARGEST) -> None:
        self._folder, self._most, self._largest = data_dir / TRACES_FOLDER, most, largest

    def append(self, line: Mapping[str, Any]) -> None:
        """Write one line. Raises OSError."""
        content = json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._file(len(content))
        is_new = not path.exists()
        with _locked(path) as stream:
            stream.seek(0, os.SEEK_END)
            stream.write(content)
        if is_new:
            for old in sorted(self._folder.glob("*.jsonl"))[: -self._most]:
                old.unlink(missing_ok=True)

    def _file(self, size: int) -> Path:
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        numbers = [int(path.stem[len(day) + 1 :]) for path in self._folder.glob(f"{day}-[0-9]*.jsonl")]
        number = max(numbers, default=1)
        path = self._folder / f"{day}-{number:04}.jsonl"
        full = path.exists() and path.stat().st_size + size > self._largest
        return self._folder / f"{day}-{number + 1:04}.jsonl" if full else path


def erase_lines(data_dir: Path, is_doomed: Callable[[Documents, str], bool]) -> int:
    """Take lines out of every trace file, by their documents and their text; returns how many. Raises StoreError.

    Files are written anew in their place, so that the bytes of what was taken out are gone from them.
    """
    try:
        return sum(_without(path, is_doomed) for path in sorted((data_dir / TRACES_FOLDER).glob("*.jsonl")))
    except OSError as error:
        raise StoreError(
            f"{error.filename or data_dir / TRACES_FOLDER}: {error.strerror}, and what traces say of documents that are"
            " gone is still there.",
            hint="Delete that file, then run the same command again.",
        ) from error


def _without(path: Path, is_doomed: Callable[[Documents, str], bool]) -> int:
    with _locked(path) as stream:
        before = stream.read().splitlines(keepends=True)
        kept = [line for line in before if not _is_doomed(line, is_doomed)]
        if len(kept) < len(before):
            stream.seek(0)
            stream.write(b"".join(kept))
            stream.truncate()
            stream.flush()
            os.fsync(stream.fileno())
        return len(before) - len(kept)


def _is_doomed(line: bytes, is_doomed: Callable[[Documents, str], bool]) -> bool:
    """Whether a line is to go; one that a crash cut off always is, for what it is about is not known."""
    try:
        told = json.loads(line)
    except ValueError:
        return True
    documents = frozenset((str(it[0]), str(it[1]), str(it[2])) for it in told.get("documents", ()))
    return is_doomed(documents, line.decode("utf-8", "replace"))


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """The file, created for its owner alone if need be, which no other process reads or writes meanwhile."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream
