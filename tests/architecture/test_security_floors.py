"""No library in the lock file is older than its last security fix, and each download has a hash."""

import re
import tomllib
from pathlib import Path

import pytest

FLOORS = {
    "defusedxml": (0, 7, 1),
    "fastapi": (0, 165),
    "gradio": (6, 31),
    "h11": (0, 16),
    "lxml": (6, 1),
    "mcp": (2, 3),
    "pypdfium2": (5, 0),
    "python-multipart": (0, 0, 27),
    "starlette": (1, 5, 1),
    "uvicorn": (0, 40),
}
ABSENT = ("pdfminer-six", "pypdf", "python-jose", "langchain", "torch")
"""Libraries with many vulnerabilities that nothing here needs."""


@pytest.fixture(scope="module")
def locked(project: Path) -> dict[str, dict[str, object]]:
    """The packages of the lock file by name."""
    content = tomllib.loads((project / "uv.lock").read_text(encoding="utf-8"))
    return {one["name"]: one for one in content["package"]}


@pytest.mark.parametrize("name", sorted(FLOORS))
def test_no_library_is_older_than_its_lowest_safe_version(name: str, locked: dict[str, dict[str, object]]) -> None:
    version = tuple(int(part) for part in re.findall(r"\d+", str(locked[name]["version"]))[:4])
    assert version >= FLOORS[name]


@pytest.mark.parametrize("name", ABSENT)
def test_the_lock_file_contains_no_unneeded_library(name: str, locked: dict[str, dict[str, object]]) -> None:
    assert name not in locked


def test_every_download_has_its_hash(locked: dict[str, dict[str, object]]) -> None:
    files = [
        file
        for one in locked.values()
        for kind in ("wheels", "sdist")
        for file in (one.get(kind, []) if kind == "wheels" else [one[kind]] if kind in one else [])  # type: ignore[attr-defined]
    ]
    assert len(files) > 100
    assert all(str(file["hash"]).startswith("sha256:") for file in files)


def test_the_packages_require_the_lowest_safe_versions_of_their_libraries(project: Path) -> None:
    declared = (project / "elt_llm_api" / "pyproject.toml").read_text(encoding="utf-8")
    for floor in ("gradio>=6.31", "mcp>=2.3", "python-multipart>=0.0.27", "fastapi>=0.165", "starlette>=1.5.1"):
        assert floor in declared, floor
