"""How a comparison with gold is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SHOWN_REMARKS = 40


@dataclass(frozen=True)
class Share:
    """`right` of `of`, under a name."""

    name: str
    right: float
    of: float

    @property
    def value(self) -> float | None:
        """0 to 1; None where there was nothing to count."""
        return self.right / self.of if self.of else None

    @property
    def line(self) -> str:
        """Such as "recall  96.0 % (48 of 50)"."""
        if self.value is None:
            return f"{self.name}: nothing to count"
        return f"{self.name}: {100 * self.value:.1f} % ({self.right:g} of {self.of:g})"


@dataclass(frozen=True)
class GoldReport:
    """Shares of what is right, then each thing that is not, in a sentence."""

    job: str
    kind: str
    shares: tuple[Share, ...]
    remarks: tuple[str, ...] = field(default=())

    def share(self, name: str) -> Share:
        """The share of that name; KeyError if it was not counted."""
        for one in self.shares:
            if one.name == name:
                return one
        raise KeyError(name)

    def lines(self, most_remarks: int = SHOWN_REMARKS) -> list[str]:
        """The report for people; beyond so many remarks it says how many are left."""
        shown = [f"  {remark}" for remark in self.remarks[:most_remarks]]
        left = len(self.remarks) - len(shown)
        more = [f"  ... and {left} more; --json names them all"] if left > 0 else []
        return [f"{self.job} ({self.kind}) against gold:", *(one.line for one in self.shares), *shown, *more]

    def to_json(self) -> Mapping[str, Any]:
        """Every share with its counts, and every remark."""
        shares = {
            one.name: {"value": None if one.value is None else round(one.value, 4), "right": one.right, "of": one.of}
            for one in self.shares
        }
        return {"job": self.job, "kind": self.kind, "shares": shares, "remarks": list(self.remarks)}


def f1(name: str, both: int, found: int, gold: int) -> Share:
    """The harmonic mean of precision and recall of `found` things, `both` of which are among the `gold` ones."""
    return Share(name, 2 * both, found + gold)
