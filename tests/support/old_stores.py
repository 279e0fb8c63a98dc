"""Data directories that older versions wrote, as they are kept in tests/fixtures."""

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks an archive of ours; Python has had filters since 3.11.4 only."""
    with tarfile.open(archive) as opened:
        if hasattr(tarfile, "data_filter"):
            opened.extractall(folder, filter="data")
        else:
            opened.extractall(folder)  # noqa: S202
