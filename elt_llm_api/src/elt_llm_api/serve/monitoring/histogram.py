"""Times in a fixed number of buckets: mean, percentiles and a moving average, in the same memory for ever."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_FIRST, _FACTOR, _COUNT = 0.1, 1.2, 88
BOUNDS = tuple(_FIRST * _FACTOR**step for step in range(_COUNT))
"""Upper bounds of the buckets in milliseconds, from 0.1 ms to some 13 minutes, each 1.2 times the one before."""
_WEIGHT = 0.1  # of the latest value in the moving average: about the last twenty values count


@dataclass
class Histogram:
    """How long something took, in milliseconds.

    A percentile is exact to its bucket, which is at most a fifth wide; longer times than the last bound count as that.
    """

    count: int = 0
    total: float = 0.0
    moving: float = 0.0
    """Exponentially weighted moving average."""
    buckets: dict[int, int] = field(default_factory=dict)
    """How many values by place of their bucket; those without values are left out."""

    def add(self, milliseconds: float) -> None:
        """Count one value, 0 or more."""
        place = min(bisect_left(BOUNDS, milliseconds), _COUNT - 1)
        self.buckets[place] = self.buckets.get(place, 0) + 1
        self.moving = milliseconds if not self.count else self.moving + _WEIGHT * (milliseconds - self.moving)
        self.count += 1
        self.total += milliseconds

    def merge(self, later: "Histogram") -> None:
        """Count everything that another counted after this one."""
        for place, count in later.buckets.items():
            self.buckets[place] = self.buckets.get(place, 0) + count
        if later.count:
            self.moving = later.moving if not self.count else _continued(self.moving, later)
        self.count += later.count
        self.total += later.total

    @property
    def mean(self) -> float:
        """The mean in milliseconds; 0 without values."""
        return self.total / self.count if self.count else 0.0

    def percentile(self, share: float) -> float:
        """The value below which `share` (0 to 1) of the values lie, in milliseconds; 0 without values."""
        wanted, seen = share * self.count, 0
        for place in sorted(self.buckets):
            here = self.buckets[place]
            if seen + here >= wanted:
                low = BOUNDS[place - 1] if place else 0.0
                return low + (BOUNDS[place] - low) * max(0.0, wanted - seen) / here
            seen += here
        return 0.0

    def summary(self) -> dict[str, float]:
        """Count, mean, percentiles and moving average, times in milliseconds."""
        return {
            "count": self.count,
            "mean_ms": round(self.mean, 3),
            "p50_ms": round(self.percentile(0.5), 3),
            "p95_ms": round(self.percentile(0.95), 3),
            "moving_ms": round(self.moving, 3),
        }

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        buckets = {str(place): count for place, count in sorted(self.buckets.items())}
        return {"count": self.count, "total": self.total, "moving": self.moving, "buckets": buckets}


def histogram_from(kept: Mapping[str, Any]) -> Histogram:
    """The histogram that `to_json` gave."""
    buckets = {int(place): int(count) for place, count in kept["buckets"].items()}
    return Histogram(int(kept["count"]), float(kept["total"]), float(kept["moving"]), buckets)


def _continued(before: float, later: Histogram) -> float:
    """The moving average after later values, of which only their own average is known."""
    kept: float = (1 - _WEIGHT) ** later.count
    return kept * before + (1 - kept) * later.moving
