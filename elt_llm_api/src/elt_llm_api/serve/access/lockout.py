"""Slowing down who guesses: too many wrong keys lock an address out, too many requests make a caller wait."""

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

_MOST_CALLERS = 10_000


class Lockout:
    """Counts failures by address; `tries` of them within `seconds` lock it out until the first of them is as old."""

    def __init__(self, tries: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._tries, self._seconds, self._clock = tries, seconds, clock
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = Lock()

    def waits(self, address: str) -> float:
        """Seconds until this address may try again; 0 if it may now."""
        with self._lock:
            recent = self._recent(address)
            return recent[0] + self._seconds - self._clock() if len(recent) >= self._tries else 0.0

    def failed(self, address: str) -> None:
        """Count a wrong key."""
        with self._lock:
            self._failures[address] = [*self._recent(address), self._clock()][-self._tries :]
            self._failures.move_to_end(address)
            while len(self._failures) > _MOST_CALLERS:
                self._failures.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - self._seconds
        return [moment for moment in self._failures.get(address, ()) if moment > since]


class RateLimit:
    """A bucket for each caller: `per_minute` requests, refilled evenly, as many at once as a minute has."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._most, self._clock = per_minute / 60, float(per_minute), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def waits(self, caller: str) -> float:
        """Take one; seconds to wait if there is none, 0 if there was."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.pop(caller, (self._most, now))
            left = min(self._most, left + (now - since) * self._per_second)
            wait = 0.0 if left >= 1 else (1 - left) / self._per_second
            self._buckets[caller] = (left if wait else left - 1, now)
            while len(self._buckets) > _MOST_CALLERS:
                self._buckets.popitem(last=False)
            return wait
