"""Each test file gets its own copy of the samples, because servers write into their data directory."""

import shutil
import sys
from pathlib import Path

import pytest
from elt_llm_api.serve.ui.mounting import _StublessFinder

sys.meta_path.insert(0, _StublessFinder())  # tests that import Gradio do so without its stub files, as the server does


@pytest.fixture(scope="module")
def sample_folder(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a working directory with an ingested copy of the samples, which the servers of a file may change."""
    copy = tmp_path_factory.mktemp("served") / "samples"
    shutil.copytree(sample_folder, copy)
    return copy
