"""Continuous integration with the data at hand skips nothing; a fresh clone says why it skips."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NEEDS_DATA = """
def test_that_needs_data(datasets):
    assert datasets.is_dir()

def test_that_gives_up():
    import pytest
    pytest.skip("no mood")
"""


@pytest.mark.parametrize(
    ("given", "expected", "code"),
    [
        ({}, "2 skipped", 0),
        ({"CI": "true"}, "2 skipped", 0),
        ({"ELT_LLM_DATASETS": "."}, "1 passed, 1 skipped", 0),
        ({"ELT_LLM_DATASETS": ".", "CI": "true"}, "1 failed, 1 passed", 1),
    ],
)
def test_a_skip_is_a_failure_only_where_the_data_are(
    given: dict[str, str], expected: str, code: int, tmp_path: Path, project: Path
) -> None:
    shutil.copy(project / "tests" / "conftest.py", tmp_path)
    shutil.copytree(project / "tests" / "no_network", tmp_path / "no_network")
    (tmp_path / "test_data.py").write_text(NEEDS_DATA)
    environment = {name: value for name, value in os.environ.items() if name not in {"CI", "ELT_LLM_DATASETS"}}
    shown = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "-p", "no:xdist", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={**environment, **given},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == code, shown.stdout
    assert expected in shown.stdout
