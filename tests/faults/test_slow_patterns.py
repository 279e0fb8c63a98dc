"""No regular expression takes longer than half a second on hostile texts of 20,000 characters."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from optional import needs
from sampling import FULL, SAMPLE

SWEEP = Path(__file__).parents[1] / "support" / "regex_sweep.py"
_POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[+*?]|\{[\d,]+\})\+")
PROJECT = Path(__file__).parents[2]
INGEST = PROJECT / "elt_llm_ingest" / "src"
PACKAGES = ("elt_llm_core", "elt_llm_ingest", "elt_llm_query", "elt_llm_api", "elt_llm_consumer")


@pytest.mark.faults
def test_every_regular_expression_is_fast_on_hostile_texts() -> None:
    needs("gradio", "mcp")
    ended = subprocess.run(
        [sys.executable, str(SWEEP), "20000", "0.5", "0" if FULL else "1", str(SAMPLE), *PACKAGES],
        capture_output=True,
        text=True,
        check=False,
        timeout=3000 if FULL else 550,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found.keys() == set(PACKAGES)
    for patterns, slow in found.values():
        assert patterns > 0
        assert slow == []


def test_regular_expressions_of_the_ingest_inside_functions_are_string_literals() -> None:
    """Other expressions cannot be tested for speed."""
    calls = [
        (f"{path.name}:{call.lineno}", call)
        for path in sorted(INGEST.rglob("*.py"))
        if "import re\n" in (source := path.read_text(encoding="utf-8"))
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and _has_pattern(call)
    ]
    assert calls
    assert not [place for place, call in calls if not isinstance(call.args[0], ast.Constant)]


def test_no_regular_expression_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 matches "(?:a|b)++" wrongly (python/cpython#106052); not "(?>(?:a|b)+)"."""
    files = (path for kind in ("py", "toml") for path in PROJECT.glob(f"elt_llm_*/src/**/*.{kind}"))
    lines = ((path.name, line) for path in files for line in path.read_text(encoding="utf-8").splitlines())
    assert not [line for line in lines if _POSSESSIVE_GROUP.search(line[1]) and not line[1].startswith("#")]


def _has_pattern(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id="re"), attr=attr):
            return attr != "escape"
    return False
