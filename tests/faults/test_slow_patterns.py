"""No regular expression takes longer than half a second on hostile texts of 20,000 characters."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from optional import needs
from sampling import FULL

SWEEP = Path(__file__).parents[1] / "support" / "regex_sweep.py"
PACKAGES = ["elt_llm_core", "elt_llm_ingest", "elt_llm_query", "elt_llm_api", "elt_llm_consumer"]


@pytest.mark.faults
@pytest.mark.parametrize("package", PACKAGES)
def test_every_regular_expression_of_a_package_is_fast_on_hostile_texts(package: str) -> None:
    if package == "elt_llm_api":
        needs("gradio", "mcp")
    ended = subprocess.run(
        [sys.executable, str(SWEEP), package, "20000", "0.5", *([] if FULL else ["2"])],
        capture_output=True,
        text=True,
        check=False,
        timeout=550,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["patterns"] > 0
    assert found["slow"] == []
