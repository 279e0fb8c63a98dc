"""Draw plots as inline SVG without scripts: bars, intervals, curves, and columns over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PlotBar:
    """A bar: its label, its length as a share of the scale (0 to 1), its value as text, an optional second value."""

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


def bar_plot(title: str, rows: Sequence[PlotBar]) -> str:
    """Draw horizontal bars, one per row."""
    return _draw("bar_plot", title, rows)


def stacked_bars(title: str, rows: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Draw one bar per row, divided into shares that add up to 1, best first."""
    return _draw("stacked_bars", title, rows)


def interval_plot(title: str, rows: Sequence[PlotInterval]) -> str:
    """Draw a dot within its bounds on each row; better values are right of the middle line."""
    return _draw("interval_plot", title, rows)


def curve_plot(title: str, rows: Sequence[tuple[str, Sequence[tuple[float, float]]]]) -> str:
    """Draw a line through the points of each row; x and y are from 0 to 1."""
    return _draw("curve_plot", title, rows)


def column_plot(title: str, values: Sequence[PlotColumn]) -> str:
    """Draw a column for each time, oldest first, scaled to the highest; the first and the last are labelled."""
    return _draw("column_plot", title, values)


def _draw(macro: str, title: str, rows: Sequence[Any]) -> str:
    svg: str = getattr(_macros(), macro)(title, rows)
    return "".join(line.strip() for line in svg.splitlines())


@cache
def _macros() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["clamp"] = lambda value, low=0.0: max(low, min(1.0, value))
    return environment.from_string(Path(__file__).with_name("plots.jinja").read_text(encoding="utf-8")).module
