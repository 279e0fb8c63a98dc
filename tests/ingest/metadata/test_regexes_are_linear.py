"""Every regular expression of the package runs in linear time, even on hostile text."""

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import elt_llm_ingest

SIZES = (4_000, 32_000, 128_000)  # ascending: a quadratic pattern fails before it hangs
LONGEST = 1_000_000  # characters
SECONDS, SECONDS_A_CHARACTER = 1.0, 1e-5  # a linear pattern needs a hundredth of this

HOSTILE = (
    *("a", "A", "1", " ", "\n", "-", "|", "<", "A ", "A of ", "A-", "A.", "a.b", "1.", "1 and ", "1 May "),
    *("Board of A and ", "Board A, ", "| a ", "<a x='y' ", "https://a."),
)


def _module_patterns() -> Iterator[tuple[str, "re.Pattern[str]"]]:
    """Yield the compiled patterns of all modules."""
    for module in pkgutil.walk_packages(elt_llm_ingest.__path__, "elt_llm_ingest."):
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in value if isinstance(value, tuple) else (value,):
                if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
                    yield f"{module.name.removeprefix('elt_llm_ingest.')}.{name}", pattern


def _calls_in_functions() -> Iterator[tuple[str, ast.Call]]:
    """Yield calls such as re.search(...) inside functions."""
    for path in sorted(Path(elt_llm_ingest.__path__[0]).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "import re\n" not in source:
            continue  # parsing every file would take a second in each worker
        for function in ast.walk(ast.parse(source)):
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
    """Return all patterns by their text, so that each pattern is tested once."""
    patterns = {pattern.pattern: (name, pattern) for name, pattern in _module_patterns()}
    for name, call in _calls_in_functions():
        if isinstance(call.args[0], ast.Constant):
            patterns.setdefault(str(call.args[0].value), (name, re.compile(str(call.args[0].value))))
    return patterns


EACH = pytest.mark.parametrize("pattern", [pytest.param(one, id=name) for name, one in _all_patterns().values()])


@pytest.mark.faults
@pytest.mark.long  # a run in CI tries every expression of all packages in tests/faults/test_slow_patterns.py
@EACH
def test_each_regular_expression_runs_in_linear_time_on_hostile_text(pattern: "re.Pattern[str]") -> None:
    for piece in HOSTILE:
        for size in SIZES:
            _assert_linear(pattern, piece, size)


@pytest.mark.bench
@EACH
def test_each_regular_expression_reads_a_million_hostile_characters_in_linear_time(pattern: "re.Pattern[str]") -> None:
    for piece in HOSTILE:
        _assert_linear(pattern, piece, LONGEST)


def _assert_linear(pattern: "re.Pattern[str]", piece: str, size: int) -> None:
    text = (piece * (size // len(piece)))[: size - 1] + "\0"
    started = time.process_time()
    for _ in pattern.finditer(text):
        pass
    seconds = time.process_time() - started
    assert seconds < SECONDS + size * SECONDS_A_CHARACTER, f"{seconds:.1f} s for {size} characters of {piece!r}"


def test_regular_expressions_inside_functions_are_string_literals() -> None:
    assert not [name for name, call in _calls_in_functions() if not isinstance(call.args[0], ast.Constant)]
