"""Unpack data directories that older versions wrote, from tests/fixtures."""

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive of the fixtures, without the extraction filters that only Python 3.11.4 and newer have."""
    with tarfile.open(archive) as opened:
        if hasattr(tarfile, "data_filter"):
            opened.extractall(folder, filter="data")
        else:
            opened.extractall(folder)  # noqa: S202
