"""Sample long test suites: a part of the cases in an ordinary run, all of them with `make test-full`."""

import os
import random
from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol, TypeVar

import pytest

FULL = os.environ.get("FULL") == "1"
_SEED = 7
Case = TypeVar("Case")


class MarkedTest(Protocol):
    """The attributes of a `pytest.Item` that this module uses."""

    @property
    def nodeid(self) -> str: ...

    def get_closest_marker(self, name: str) -> pytest.Mark | None: ...


Marked = TypeVar("Marked", bound=MarkedTest)


def sampled(cases: Iterable[Case], count: int, seed: int | str = _SEED) -> list[Case]:
    """Return `count` of the cases in their order, chosen by a fixed seed, or all of them if FULL is 1."""
    every = list(cases)
    if FULL or len(every) <= count:
        return every
    chosen = random.Random(seed).sample(range(len(every)), count)  # noqa: S311 - repeatable, not secret
    return [every[number] for number in sorted(chosen)]


def generated(count: int) -> int:
    """Return the number of examples for a property test: `count`, or ten times as many if FULL is 1."""
    return count * 10 if FULL else count


def unsampled(items: Iterable[Marked]) -> set[Marked]:
    """Return the cases that an ordinary run leaves out: of each test marked `sampled(count)`, all but `count`.

    The name of the test is the seed, so that the tests of a file choose different cases. A test that is named on the
    command line with one case has no other cases, so the case runs.
    """
    families: dict[str, list[Marked]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.nodeid):
        if item.get_closest_marker("sampled"):
            families[item.nodeid.partition("[")[0]].append(item)
    kept: set[Marked] = set()
    for name, cases in families.items():
        mark = cases[0].get_closest_marker("sampled")
        kept.update(sampled(cases, mark.args[0] if mark else 0, name))
    return {case for cases in families.values() for case in cases} - kept
