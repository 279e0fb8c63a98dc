"""Sample long test suites: a part of the cases in an ordinary run, all of them with `make test-full`.

The part changes with each commit: successive commits take successive parts, so that after a few commits every case ran.
SAMPLE=17 repeats the sample of a run that reported "sample 17".
"""

import os
import random
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

FULL = os.environ.get("FULL") == "1"
Case = TypeVar("Case")


class MarkedTest(Protocol):
    """The attributes of a `pytest.Item` that this module uses."""

    @property
    def nodeid(self) -> str: ...

    def get_closest_marker(self, name: str) -> pytest.Mark | None: ...


Marked = TypeVar("Marked", bound=MarkedTest)


def _number_of_the_commit() -> int:
    """Count the commits so far.

    A shallow clone has only the last commits, so its number is made from the hash of the last one. Return 0 outside a
    clone, or if git is not installed.
    """
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        asked = [*git, "rev-parse", "--is-shallow-repository", "HEAD"]
        shallow, commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
        if shallow == "true":
            return int(commit[:8], 16)
        counted = subprocess.run([*git, "rev-list", "--count", "HEAD"], capture_output=True, text=True, check=True)
        return int(counted.stdout)
    except (OSError, subprocess.CalledProcessError):
        return 0


# Workers and other processes that tests start get the number from the first process.
SAMPLE = int(os.environ.setdefault("SAMPLE", "") or _number_of_the_commit())
os.environ["SAMPLE"] = str(SAMPLE)


def sampled(cases: Iterable[Case], count: int, name: str = "", number: int = SAMPLE) -> list[Case]:
    """Return `count` of the cases in their order, or all of them if FULL is 1.

    Samples with successive numbers are the parts of one shuffled sequence, until every case was in one of them; the
    next ones are parts of another. `name` makes suites with equally many cases choose differently.
    """
    every = list(cases)
    if FULL or len(every) <= count:
        return every
    parts = -(-len(every) // count)
    shuffled = list(range(len(every)))
    random.Random(f"{name} {number // parts}").shuffle(shuffled)  # noqa: S311 - repeatable, not secret
    start = number % parts * count
    return [every[place] for place in sorted((shuffled + shuffled)[start : start + count])]


def generated(count: int) -> int:
    """Return the number of examples for a property test: `count`, or ten times as many if FULL is 1."""
    return count * 10 if FULL else count


def unsampled(items: Iterable[Marked], number: int = SAMPLE, *, halve: bool = True) -> set[Marked]:
    """Return the cases that an ordinary run leaves out: of each test marked `sampled(count)`, all but `count`.

    Tests marked `sampled(count, "name")` with the same name are sampled together, as if they were cases of one test.
    Of the other tests of a file that is marked `halved`, half is left out, unless `halve` is false.
    A test that is named on the command line with one case has no other cases, so the case runs.
    """
    families: dict[str, list[Marked]] = defaultdict(list)
    counts: dict[str, int] = {}
    for item in sorted(items, key=lambda item: item.nodeid):
        if mark := item.get_closest_marker("sampled"):
            count, *names = mark.args
            family = names[0] if names else item.nodeid.partition("[")[0]
            counts[family] = count
        elif halve and item.get_closest_marker("halved"):
            family = item.nodeid.partition("::")[0]
            counts[family] = (len(families[family]) + 2) // 2
        else:
            continue
        families[family].append(item)
    kept = {case for name, cases in families.items() for case in sampled(cases, counts[name], name, number)}
    return {case for cases in families.values() for case in cases} - kept
