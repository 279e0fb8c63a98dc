"""The very file that was found, whatever stands at its name by the time it is read."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument

_OPENED = Path("/proc/self/fd")
_PLACE = Path("/tmp")  # noqa: S108 - the one place that a worker may write to
_PREFIX = "elt-llm-read-"


@contextmanager
def pinned(path: Path, within: Path | None) -> Iterator[Path]:
    """A path of the same name to the file as it is opened now; links are followed only where `within` is given.

    Raises UnreadableDocument if what was opened does not lie within. Where the system has no names for opened files,
    the path itself.
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
            raise UnreadableDocument("led out of its folder when it was opened")
        with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=_PLACE) as folder:
            name = Path(folder) / path.name
            name.symlink_to(opened)
            yield name
    finally:
        os.close(descriptor)


def clear_pinned() -> None:
    """Take away what workers left that ended in the middle of a file, also those of parents that are gone."""
    for folder in _PLACE.glob(f"{_PREFIX}*-*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not (_OPENED.parents[1] / process).exists():
            shutil.rmtree(folder, ignore_errors=True)
