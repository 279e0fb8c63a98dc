"""Room on the disk, looked for before work that would otherwise end halfway."""

import os
import shutil
from pathlib import Path

from elt_llm_core.errors import StoreError

_A_VECTOR_IS_KEPT = 3  # times: in the arrays, in Chroma's graph, and in its journal of what was added
_BYTES_A_NODE = 1024  # ids, fields, keyword postings and links of the graph
_BYTES_A_GENERATION = 1 << 20


def require_space(folder: Path, needed: int, purpose: str) -> None:
    """Raise StoreError, with path and bytes, unless `needed` bytes are free on the disk of `folder`."""
    free = shutil.disk_usage(_nearest_existing(folder)).free
    if free < needed:
        raise StoreError(
            f"{folder} has too little room for {purpose}: {needed} bytes are needed, {free} are free.",
            hint="Nothing was changed. Make room on that disk, then run the same command again.",
        )


def generation_size(nodes: int, dimension: int) -> int:
    """About how many bytes a generation of so many nodes takes, rather more than less."""
    return _BYTES_A_GENERATION + nodes * (_A_VECTOR_IS_KEPT * 4 * dimension + _BYTES_A_NODE)


def can_write(folder: Path, size: int) -> bool:
    """Whether a file of `size` bytes could be written into `folder` now; nothing is left of the attempt."""
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600) if hasattr(os, "O_TMPFILE") else _probe(folder)
    except OSError:
        return False
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, max(1, size))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _probe(folder: Path) -> int:
    """Where files cannot be made without a name, one whose name is taken away at once."""
    path = folder / f".probe-{os.getpid()}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    path.unlink()
    return descriptor


def _nearest_existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.absolute().parents) if folder.exists())
