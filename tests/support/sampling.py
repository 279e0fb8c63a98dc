"""Sample long test suites: a part of the cases in an ordinary run, and all with `make faults` or `make properties`."""

import os
import random
from collections.abc import Iterable
from typing import TypeVar

FULL = os.environ.get("FULL") == "1"
_SEED = 7
Case = TypeVar("Case")


def sampled(cases: Iterable[Case], count: int) -> list[Case]:
    """Return `count` of the cases in their order, chosen by a fixed seed, or all of them if FULL is 1."""
    every = list(cases)
    if FULL or len(every) <= count:
        return every
    chosen = random.Random(_SEED).sample(range(len(every)), count)  # noqa: S311 - repeatable, not secret
    return [every[number] for number in sorted(chosen)]


def generated(count: int) -> int:
    """Return the number of examples for a property test: `count`, or ten times as many if FULL is 1."""
    return count * 10 if FULL else count
