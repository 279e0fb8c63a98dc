"""Servers write where they serve: each file of tests has a copy of the samples of its own."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def sample_folder(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory whose data hold the samples; the servers of one file of tests may write there."""
    copy = tmp_path_factory.mktemp("served") / "samples"
    shutil.copytree(sample_folder, copy)
    return copy
