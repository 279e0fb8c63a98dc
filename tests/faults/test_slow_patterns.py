"""No pattern takes a text of 20,000 signs that was made to be slow for longer than half a second."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).parents[1] / "support" / "regex_sweep.py"
PACKAGES = ["elt_llm_core", "elt_llm_ingest", "elt_llm_query", "elt_llm_api", "elt_llm_consumer"]


@pytest.mark.faults
@pytest.mark.parametrize("package", PACKAGES)
def test_every_pattern_of_a_package_is_quick_with_texts_made_to_be_slow(package: str) -> None:
    ended = subprocess.run(
        [sys.executable, str(SWEEP), package, "20000", "0.5"], capture_output=True, text=True, check=False, timeout=550
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["patterns"] > 0
    assert found["slow"] == []
