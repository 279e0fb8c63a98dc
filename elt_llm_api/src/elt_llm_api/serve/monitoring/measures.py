"""Counts and times of all questions of a period: of one hour, one day, or ever."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from elt_llm_api.serve.monitoring.histogram import Histogram, histogram_from
from elt_llm_api.serve.monitoring.observation import Observation

_MOST_NAMES = 100  # stages or types of errors that are told apart; more would be a mistake, and would eat memory


@dataclass
class Measures:
    """Everything that is counted. `counts` are by group and name, such as `outcome` and `answered`."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    confidence: float = 0.0
    """The sum over the answers counted as `outcome`, `answered`."""
    times: dict[str, Histogram] = field(default_factory=dict)
    """By kind of question, such as `ask`, and by stage, such as `stage:retrieve`."""

    def add(self, seen: Observation) -> None:
        """Count one question."""
        self._count("kind", seen.kind)
        self._count("outcome", seen.outcome)
        if seen.error:
            self._count("failure", seen.error)
        for cache, hit in seen.caches.items():
            self._count("cache", f"{cache}:{'hit' if hit else 'miss'}")
        if seen.succeeded:
            self._count("found_by", seen.found_by)
            self._time(seen.kind, seen.took_ms)
        for leg, passages in seen.legs.items():
            self._count("passages", leg, passages)
        if seen.outcome == "answered":
            self.confidence += seen.confidence or 0.0
        for stage in seen.stages:
            if stage.took_ms > 0:  # a stage that was kept from before took none
                self._time(f"stage:{stage.name}", stage.took_ms)

    def merge(self, later: "Measures") -> None:
        """Count everything that others counted after these."""
        for group, counts in later.counts.items():
            self.counts.setdefault(group, Counter()).update(counts)
        self.confidence += later.confidence
        for name, times in later.times.items():
            self.times.setdefault(name, Histogram()).merge(times)

    def of(self, group: str, name: str | None = None) -> int:
        """A count, or all of a group together."""
        counts = self.counts.get(group, Counter())
        return sum(counts.values()) if name is None else counts[name]

    def summary(self) -> dict[str, Any]:
        """What people want to know: totals, shares, and times in milliseconds."""
        answered, refused = self.of("outcome", "answered"), self.of("outcome", "refused")
        succeeded = answered + refused + self.of("outcome", "found")
        return {
            "questions": self.of("kind"),
            "by_kind": dict(self.counts.get("kind", {})),
            "succeeded": succeeded,
            "failed": self.of("outcome", "failed"),
            "cancelled": self.of("outcome", "cancelled"),
            "failures": dict(self.counts.get("failure", {})),
            "answered": answered,
            "abstentions": refused,
            "mean_confidence": round(self.confidence / answered, 4) if answered else None,
            "cache": self._caches(),
            "legs": dict(self.counts.get("found_by", {})),
            "passages": dict(self.counts.get("passages", {})),
            "times": {name: times.summary() for name, times in sorted(self.times.items())},
        }

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "counts": {group: dict(counts) for group, counts in self.counts.items()},
            "confidence": self.confidence,
            "times": {name: times.to_json() for name, times in self.times.items()},
        }

    def _caches(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for name, count in self.counts.get("cache", {}).items():
            cache, _, what = name.partition(":")
            found.setdefault(cache, {"hit": 0, "miss": 0})[what] = count
        return found

    def _count(self, group: str, name: str, by: int = 1) -> None:
        counts = self.counts.setdefault(group, Counter())
        counts[name if name in counts or len(counts) < _MOST_NAMES else "other"] += by

    def _time(self, name: str, milliseconds: float) -> None:
        known = name in self.times or len(self.times) < _MOST_NAMES
        self.times.setdefault(name if known else "stage:other", Histogram()).add(milliseconds)


def measures_from(kept: Mapping[str, Any]) -> Measures:
    """The measures that `to_json` gave."""
    counts = {group: Counter({name: int(count) for name, count in of.items()}) for group, of in kept["counts"].items()}
    times = {name: histogram_from(one) for name, one in kept["times"].items()}
    return Measures(counts, float(kept["confidence"]), times)
