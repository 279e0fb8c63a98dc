"""An ordinary run takes N cases of a test marked `sampled(N)`, and a run with FULL=1 takes all cases."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from sampling import FULL, unsampled


@dataclass(frozen=True)
class CollectedCase:
    """A case of a test, marked with the number of cases that an ordinary run takes."""

    nodeid: str
    count: int = 0

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return pytest.mark.sampled(self.count).mark if self.count and name == "sampled" else None


def test_a_marked_test_runs_the_given_number_of_cases_and_other_tests_run_whole() -> None:
    marked = [CollectedCase(f"test_a.py::test_kill[{number}]", 2) for number in range(5)]
    whole = [CollectedCase(f"test_a.py::test_read[{number}]") for number in range(5)]
    left_out = unsampled([*marked, *whole])
    assert left_out <= set(marked)
    assert len(left_out) == (0 if FULL else 3)
    assert unsampled([*reversed(whole), *reversed(marked)]) == left_out, "the order of collection matters"
    assert unsampled(marked[:1]) == set(), "a single case named on the command line"


def test_the_make_target_test_full_runs_every_case_and_the_long_tests(project: Path) -> None:
    recipe = (project / "Makefile").read_text(encoding="utf-8").partition("\ntest-full:")[2].partition("\n\n")[0]
    assert "FULL=1 " in recipe
    assert "long" not in recipe.partition("-m")[2]
