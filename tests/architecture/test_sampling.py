"""An ordinary run takes N cases of a test marked `sampled(N)`, and a run with FULL=1 takes all cases."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from sampling import FULL, sampled, unsampled


@dataclass(frozen=True)
class CollectedCase:
    """A case of a test, marked with the number of cases that an ordinary run takes, and the name of its family."""

    nodeid: str
    marked: tuple[int | str, ...] = ()

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return pytest.mark.sampled(*self.marked).mark if self.marked and name == "sampled" else None


def test_a_marked_test_runs_the_given_number_of_cases_and_other_tests_run_whole() -> None:
    marked = [CollectedCase(f"test_a.py::test_kill[{number}]", (2,)) for number in range(5)]
    whole = [CollectedCase(f"test_a.py::test_read[{number}]") for number in range(5)]
    left_out = unsampled([*marked, *whole])
    assert left_out <= set(marked)
    assert len(left_out) == (0 if FULL else 3)
    assert unsampled([*reversed(whole), *reversed(marked)]) == left_out, "the order of collection matters"
    assert unsampled(marked[:1]) == set(), "a single case named on the command line"


@dataclass(frozen=True)
class SlowTest:
    """A test of a file that is marked `halved`."""

    nodeid: str

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return pytest.mark.halved.mark if name == "halved" else None


@pytest.mark.parametrize("count", [1, 2, 5])
def test_two_successive_runs_take_every_test_of_a_halved_file(count: int) -> None:
    tests = {SlowTest(f"test_slow.py::test_{number}") for number in range(count)}
    left_out = [unsampled(tests, number) for number in (6, 7)]
    assert left_out[0] & left_out[1] == set()
    assert all(len(those) == (0 if FULL else count // 2) for those in left_out)
    assert unsampled(tests, halve=False) == set(), "the file is named on the command line"


def test_tests_with_the_same_name_are_sampled_together() -> None:
    cases = [
        CollectedCase(f"{file}::test_{test}[{case}]", (2, test)) for file in "ab" for test in "xy" for case in range(3)
    ]
    kept = set(cases) - unsampled(cases)
    assert {test: sum(f"test_{test}[" in case.nodeid for case in kept) for test in "xy"} == dict.fromkeys(
        "xy", 6 if FULL else 2
    )


@pytest.mark.skipif(FULL, reason="every sample has all cases")
@pytest.mark.parametrize(("cases", "count"), [(5, 2), (6, 2), (7, 1), (12, 5), (60, 10)])
def test_successive_commits_run_every_case_and_a_number_always_chooses_the_same_cases(cases: int, count: int) -> None:
    parts = -(-cases // count)
    first = parts * 1000  # the number of a commit whose sample is the first part of a sequence
    rounds = [[sampled(range(cases), count, "kills", first + number) for number in range(3 * parts)] for _ in range(2)]
    assert rounds[0] == rounds[1]
    assert all(len(sample) == count == len(set(sample)) for sample in rounds[0])
    for start in (0, parts, 2 * parts):
        assert {case for sample in rounds[0][start : start + parts] for case in sample} == set(range(cases))
    assert len({tuple(sample) for sample in rounds[0]}) > parts or count == 1, "another sequence each time"
    seldom = [sampled(range(cases), count, "kills", number) for number in range(0, 40 * parts * parts, parts)]
    assert {case for sample in seldom for case in sample} == set(range(cases)), "also if only some commits are tested"


def test_the_make_target_test_full_runs_every_case_and_the_long_tests(project: Path) -> None:
    recipe = (project / "Makefile").read_text(encoding="utf-8").partition("\ntest-full:")[2].partition("\n\n")[0]
    assert "FULL=1 " in recipe
    assert "long" not in recipe.partition("-m")[2]
