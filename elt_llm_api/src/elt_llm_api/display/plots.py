"""Draw plots as inline SVG without scripts: bars, intervals, curves, and columns over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

PlotKind = Literal["bar_plot", "stacked_bars", "interval_plot", "curve_plot", "column_plot"]


@dataclass(frozen=True)
class PlotBar:
    """A bar: label, length (0 to 1), value as text, and the position (0 to 1) of a line that marks another value."""

    label: str
    share: float
    shown: str
    mark: float | None = None


@dataclass(frozen=True)
class PlotInterval:
    """A value with its lower and upper bound, all on a scale from -1 to 1."""

    label: str
    middle: float
    low: float
    high: float
    shown: str


@dataclass(frozen=True)
class PlotColumn:
    """A column of a plot over time: its label, its value (0 or more), and the value as text."""

    label: str
    value: float
    shown: str


def draw_plot(kind: PlotKind, title: str, rows: Sequence[Any]) -> str:
    """Draw a plot as SVG.

    - bar_plot: a horizontal bar for each PlotBar.
    - stacked_bars: a bar for each (label, shares); the shares add up to 1, best first.
    - interval_plot: a dot within its bounds for each PlotInterval; better values are right of the middle line.
    - curve_plot: a line through the points of each (label, points); x and y are from 0 to 1.
    - column_plot: a vertical bar for each PlotColumn, oldest first, scaled to the highest; first and last are labelled.
    """
    svg: str = getattr(_macros(), kind)(title, rows)
    return "".join(line.strip() for line in svg.splitlines())


@cache
def _macros() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["clamp"] = lambda value, low=0.0: max(low, min(1.0, value))
    return environment.from_string(Path(__file__).with_name("plots.jinja").read_text(encoding="utf-8")).module
