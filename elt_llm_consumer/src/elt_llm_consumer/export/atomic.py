"""Files that are there whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.store.fsync import sync_file


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` beside `path`, flush it to the disk, and put it in place of what is there.

    Whoever reads meanwhile, or after a crash, has the old file or the new one. Raises StoreError with path and cure.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_file(path.parent)
    except (OSError, ValueError) as error:  # ValueError: of a path with a zero byte
        with suppress(OSError, ValueError):
            beside.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise StoreError(
            f"{str(path).replace(chr(0), '?')} cannot be written: {reason}.",
            hint="Choose another outputs.folder in the job file, or make room there; finished rows are kept.",
        ) from error
