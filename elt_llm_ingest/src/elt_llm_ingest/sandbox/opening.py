"""A look at a file before a worker gets it: only a regular file of bearable size, and no link to elsewhere."""

import os
import stat
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.sandbox.limits import MEGABYTE


def check_file(path: Path, within: Path | None, most_megabytes: int) -> None:
    """Raises UnreadableDocument for a pipe, a device, a folder, a link that leads out, and a file that is too large.

    Opening neither waits, as it would for a pipe, nor follows a link put in the file's place meanwhile.
    """
    real = _resolve(path, within) if within is not None else path
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
        raise UnreadableDocument("not a regular file")
    if status.st_size > most_megabytes * MEGABYTE:
        raise UnreadableDocument(
            f"is {status.st_size / MEGABYTE:,.0f} MB, more than the {most_megabytes:,} MB that are read",
            hint="Raise ingest.max_file_mb.",
        )


def _resolve(path: Path, within: Path) -> Path:
    try:
        real, folder = path.resolve(strict=True), within.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableDocument(f"cannot be opened: {reason}") from error
    if not real.is_relative_to(folder):
        raise UnreadableDocument("symbolic link that leads out of the folder")
    return real
