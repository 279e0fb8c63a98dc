"""Every pattern of the package takes time in proportion to its text, however hostile the text is."""

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import elt_llm_ingest

SIZES = (4_000, 32_000, 128_000)  # growing, so that a quadratic pattern is caught before it hangs
LONGEST = 1_000_000  # characters
SECONDS, SECONDS_A_CHARACTER = 1.0, 1e-5  # generous: a linear pattern needs a hundredth of it

HOSTILE = (
    *("a", "A", "1", " ", "\n", "-", "|", "<", "A ", "A of ", "A-", "A.", "a.b", "1.", "1 and ", "1 May "),
    *("Board of A and ", "Board A, ", "| a ", "<a x='y' ", "https://a."),
)


def _compiled() -> Iterator[tuple[str, "re.Pattern[str]"]]:
    """The patterns that modules keep."""
    for module in pkgutil.walk_packages(elt_llm_ingest.__path__, "elt_llm_ingest."):
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in value if isinstance(value, tuple) else (value,):
                if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
                    yield f"{module.name.removeprefix('elt_llm_ingest.')}.{name}", pattern


def _inside_functions() -> Iterator[tuple[str, ast.Call]]:
    """Calls such as re.search(...) that bring their own pattern."""
    for path in sorted(Path(elt_llm_ingest.__path__[0]).rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls = (node for node in ast.walk(function) if isinstance(node, ast.Call) and _has_pattern(node))
                yield from ((f"{path.name}:{call.lineno}", call) for call in calls)


def _has_pattern(node: ast.Call) -> bool:
    return (
        isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr != "escape"
    )


def _all_patterns() -> dict[str, tuple[str, "re.Pattern[str]"]]:
    """By what they say, so that each is tried once."""
    found = {pattern.pattern: (name, pattern) for name, pattern in _compiled()}
    for name, call in _inside_functions():
        if isinstance(call.args[0], ast.Constant):
            found.setdefault(str(call.args[0].value), (name, re.compile(str(call.args[0].value))))
    return found


EACH = pytest.mark.parametrize("pattern", [pytest.param(one, id=name) for name, one in _all_patterns().values()])


@EACH
def test_a_pattern_is_linear_on_hostile_text(pattern: "re.Pattern[str]") -> None:
    for piece in HOSTILE:
        for size in SIZES:
            _assert_linear(pattern, piece, size)


@pytest.mark.bench
@EACH
def test_a_pattern_is_linear_on_a_million_hostile_characters(pattern: "re.Pattern[str]") -> None:
    for piece in HOSTILE:
        _assert_linear(pattern, piece, LONGEST)


def _assert_linear(pattern: "re.Pattern[str]", piece: str, size: int) -> None:
    text = (piece * (size // len(piece)))[: size - 1] + "\0"
    began = time.process_time()
    for _ in pattern.finditer(text):
        pass
    taken = time.process_time() - began
    assert taken < SECONDS + size * SECONDS_A_CHARACTER, f"{taken:.1f} s for {size} characters of {piece!r}"


def test_a_pattern_within_a_function_is_written_out_so_that_it_is_tried_as_well() -> None:
    assert not [name for name, call in _inside_functions() if not isinstance(call.args[0], ast.Constant)]
