"""Continuous integration, which has the test data, skips no test; a fresh clone reports why it skips tests."""

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


NEEDS_AN_EXTRA = "import {module}\n\ndef test_with_it():\n    assert {module}\n"


@pytest.mark.parametrize(
    ("given", "expected", "code"),
    [
        ({}, "2 skipped", 0),
        ({"CI": "true"}, "2 skipped", 0),
        ({"ELT_LLM_DATASETS": "."}, "1 passed, 1 skipped", 0),
        ({"ELT_LLM_DATASETS": ".", "CI": "true"}, "1 failed, 1 passed", 1),
    ],
)
def test_a_skipped_test_fails_only_where_its_data_is_available(
    given: dict[str, str], expected: str, code: int, tmp_path: Path, project: Path
) -> None:
    (tmp_path / "test_data.py").write_text(NEEDS_DATA)
    shown = run_below(tmp_path, project, given)
    assert shown.returncode == code, shown.stdout
    assert expected in shown.stdout


@pytest.mark.parametrize(
    ("module", "given", "expected", "code"),
    [
        ("mcp", {}, "needs mcp: uv run --extra mcp pytest", 0),
        ("mcp", {"CI": "true"}, "1 passed, 1 skipped", 0),
        ("mcp", {"ELT_LLM_DATASETS": ".", "CI": "true"}, "was skipped although CI has the data", 2),
        ("no_such_module", {}, "No module named 'no_such_module'", 2),
    ],
)
def test_a_test_file_that_needs_a_missing_extra_is_skipped_and_the_extra_is_named(
    module: str, given: dict[str, str], expected: str, code: int, tmp_path: Path, project: Path
) -> None:
    (tmp_path / "test_extra.py").write_text(NEEDS_AN_EXTRA.format(module=module))
    (tmp_path / "test_plain.py").write_text("def test_plain():\n    assert True\n")
    shown = run_below(tmp_path, project, given)
    assert shown.returncode == code, shown.stdout
    assert expected in shown.stdout


def run_below(folder: Path, project: Path, given: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run the tests of a folder with our conftest.py, as if `mcp` were not installed."""
    shutil.copy(project / "tests" / "conftest.py", folder)
    for name in ("optional.py", "sampling.py"):
        shutil.copy(project / "tests" / "support" / name, folder)
    shutil.copytree(project / "tests" / "no_network", folder / "no_network")
    (folder / "hidden.py").write_text("import sys\nsys.modules['mcp'] = None\n")
    environment = {name: value for name, value in os.environ.items() if name not in {"CI", "ELT_LLM_DATASETS"}}
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-rs", "--rootdir=.", "-p", "hidden"),
            *("-p", "no:xdist", "-p", "no:cacheprovider", "."),
        ],
        cwd=folder,
        env={**environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **given},
        capture_output=True,
        text=True,
        check=False,
    )
