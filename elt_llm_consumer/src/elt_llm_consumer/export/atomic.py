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
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}.",
            hint="Choose another outputs.folder in the job file, or make room there; finished rows are kept.",
        ) from error
