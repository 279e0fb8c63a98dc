"""Making sure that what was written is on the disk before anything points at it."""

import os
from pathlib import Path


def sync_file(path: Path) -> None:
    """Flush one file or directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Flush every file below `folder`, then the directories from the innermost outwards, `folder` last."""
    for inner, _, names in os.walk(folder, topdown=False):
        for name in names:
            sync_file(Path(inner) / name)
        sync_file(Path(inner))
