"""Pins: a reader's shared lock on the generation it reads, which the collector respects.

The pin is a lock on a file, not the file: it ends with its holder, however that ends.
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from elt_llm_core.errors import StoreError

PIN_NAME = "pin"
_ATTEMPTS = 100


class Pin:
    """One reader's hold on one generation; ends with `release` or with the process."""

    def __init__(self, number: int, descriptor: int) -> None:
        self.number = number
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Let the collector have it; harmless if done already."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def pin_published(folder: Path, pointer: Callable[[], int | None]) -> Pin | None:
    """Pin what `pointer` names below `folder`; None if it names nothing.

    The pointer is read again once the lock is held: if it moved meanwhile, the newer generation is taken instead.
    Raises StoreError if the directory it names is not there.
    """
    number = pointer()
    for _ in range(_ATTEMPTS):
        if number is None:
            return None
        descriptor = _lock(folder / str(number) / PIN_NAME, fcntl.LOCK_SH)
        if descriptor is not None:
            if pointer() == number:
                return Pin(number, descriptor)
            os.close(descriptor)
        elif pointer() == number and not (folder / str(number) / PIN_NAME).exists():
            break
        number = pointer()
    raise StoreError(
        f"The published generation {number} of '{folder.name}' is not in {folder}.",
        hint=f"Run: elt-llm verify -c {folder.name}",
    )


def discard(directory: Path, trash: Path) -> bool:
    """Delete a generation's directory unless somebody pins it; tells whether it is gone.

    It is renamed first, so that a crash in the middle leaves rubbish in `trash` and never half a generation.
    """
    if not directory.exists():
        return True
    descriptor = _lock(directory / PIN_NAME, fcntl.LOCK_EX)
    if descriptor is None and (directory / PIN_NAME).exists():
        return False
    try:
        trash.mkdir(mode=0o700, exist_ok=True)
        target = trash / f"{directory.parent.name}-{directory.name}-{uuid.uuid4().hex[:8]}"
        directory.rename(target)
    finally:
        if descriptor is not None:
            os.close(descriptor)
    shutil.rmtree(target)
    return True


def pin_holders(path: Path) -> list[int]:
    """Ids of the processes that have a pin file locked; empty where the system does not tell."""
    locks = Path("/proc/locks")
    if not locks.exists():
        return []
    inode = f":{path.stat().st_ino}"
    rows = (line.split() for line in locks.read_text(encoding="ascii", errors="replace").splitlines())
    return sorted({int(row[4]) for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(inode)})


def _lock(path: Path, kind: int) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
