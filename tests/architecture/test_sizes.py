"""A file is one thing, a function does one thing."""

import ast
from pathlib import Path

LONGEST_FILE = 300
LONGEST_FUNCTION = 40
LONGEST_LINE = 120


def functions_of(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_longer_than_three_hundred_lines(sources: list[Path], test_files: list[Path]) -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (*sources, *test_files)}
    assert {str(path): length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_longer_than_forty_lines(sources: list[Path]) -> None:
    lengths = {(path.name, node.name): lines_of(node) for path in sources for node in functions_of(path)}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}


def test_no_file_is_named_after_nothing(sources: list[Path]) -> None:
    unsaid = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
    assert [str(path) for path in sources if path.stem in unsaid] == []
