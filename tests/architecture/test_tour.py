"""Every stop of the code tour in CONTRIBUTING.md exists: its file and its function or class."""

import ast
import re
from pathlib import Path

import pytest

STOPS_OF_A_WALK = 10
_STOP = re.compile(r"^\d+\. \[`(?P<name>[\w.]+)`\]\((?P<path>[\w/.]+\.py)\)", re.MULTILINE)


def walks(page: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the (name, path) pairs of the stops of each code tour, by the tour's heading."""
    tour = page.read_text(encoding="utf-8").split("## A tour of the code")[1].split("\n## ")[0]
    parts = re.split(r"^### (.+)$", tour, flags=re.MULTILINE)[1:]
    return {title: _STOP.findall(text) for title, text in zip(parts[::2], parts[1::2], strict=True)}


def names_in(path: Path) -> set[str]:
    """Functions and classes of a file, and methods as Class.method."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return found


@pytest.mark.parametrize("walk", ["Follow a question", "Follow a file"])
def test_each_code_tour_in_the_contributing_guide_has_ten_stops_that_exist(project: Path, walk: str) -> None:
    stops = walks(project / "CONTRIBUTING.md")[walk]
    assert len(stops) == STOPS_OF_A_WALK
    missing = [f"{path}: {name}" for name, path in stops if name not in names_in(project / path)]
    assert missing == []
