"""Check a file before parsing, and pin the open file so that it cannot be replaced."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.sandbox.guards import MEGABYTE


def check_file(path: Path, within: Path | None, most_megabytes: int) -> None:
    """Check that a path is a readable regular file within the size limit, inside the folder `within` if that is set.

    The check does not wait on pipes, and does not follow a link that has replaced the file in the meantime.

    Raises:
        UnreadableDocument: the path is a pipe, a device, a folder or a link out of `within`, or the file is too large.
    """
    real = _resolve_within(path, within) if within is not None else path
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        reason = "is a symbolic link" if real.is_symlink() else f"cannot be opened: {error.strerror or error}"
        raise UnreadableDocument(reason) from error
    except ValueError as error:
        raise UnreadableDocument(f"cannot be opened: {error}") from error
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableDocument("is not a regular file")
    if status.st_size > most_megabytes * MEGABYTE:
        raise UnreadableDocument(
            f"is {status.st_size / MEGABYTE:,.0f} MB, more than the limit of {most_megabytes:,} MB",
            hint="Raise ingest.max_file_mb.",
        )


def _resolve_within(path: Path, within: Path) -> Path:
    try:
        real, folder = path.resolve(strict=True), within.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableDocument(f"cannot be opened: {reason}") from error
    if not real.is_relative_to(folder):
        raise UnreadableDocument("is a symbolic link that leads out of the folder")
    return real


_OPENED = Path("/proc/self/fd")
_PIN_FOLDER = Path("/tmp")  # noqa: S108 - the one place that a worker may write to
_PREFIX = "elt-llm-read-"


@contextmanager
def pin_file(path: Path, within: Path | None) -> Iterator[Path]:
    """Open a file and yield a path with the same name that leads to the open file.

    Links are followed only if `within` is set. Where the system has no paths of open files, the path itself is yielded.

    Raises:
        UnreadableDocument: the file cannot be opened, or the open file is not inside `within`.
    """
    if not _OPENED.is_dir():
        yield path
        return
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if within else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        raise UnreadableDocument(f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error
    try:
        opened = _OPENED / str(descriptor)
        if within is not None and not opened.readlink().is_relative_to(within.resolve()):
            raise UnreadableDocument("led out of its folder when it was opened, since a link replaced it")
        with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=_PIN_FOLDER) as folder:
            name = Path(folder) / path.name
            name.symlink_to(opened)
            yield name
    finally:
        os.close(descriptor)


def remove_pinned() -> None:
    """Remove the folders with pinned files that ended worker processes have left behind."""
    for folder in _PIN_FOLDER.glob(f"{_PREFIX}*-*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not (_OPENED.parents[1] / process).exists():
            shutil.rmtree(folder, ignore_errors=True)
