"""Plots as inline SVG: bars, intervals, curves and columns over time, without scripts. Drawn by `plots.jinja`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PlotBar:
    """One row: its label, its share of the scale (0 to 1), its value as text, and a second value on the same scale."""

    label: str
    share: float
    shown: str
    mark: float | None = None


@dataclass(frozen=True)
class PlotInterval:
    """A value with its bounds, all on a scale from -1 to 1 around a line at 0."""

    label: str
    middle: float
    low: float
    high: float
    shown: str


@dataclass(frozen=True)
class PlotColumn:
    """One moment: its label, its value (0 or more), and the value as text."""

    label: str
    value: float
    shown: str


def bar_plot(title: str, rows: Sequence[PlotBar]) -> str:
    """Horizontal bars, one per row."""
    return _draw("bar_plot", title, rows)


def stacked_bars(title: str, rows: Sequence[tuple[str, Sequence[float]]]) -> str:
    """One bar per row, divided into shares that add up to 1, the best first."""
    return _draw("stacked_bars", title, rows)


def interval_plot(title: str, rows: Sequence[PlotInterval]) -> str:
    """A dot within its bounds on each row; better values are right of the middle line."""
    return _draw("interval_plot", title, rows)


def curve_plot(title: str, rows: Sequence[tuple[str, Sequence[tuple[float, float]]]]) -> str:
    """A line for each row through its points, whose x and y are shares from 0 to 1; y grows upwards."""
    return _draw("curve_plot", title, rows)


def column_plot(title: str, values: Sequence[PlotColumn]) -> str:
    """A column for each moment, oldest first, scaled to the highest; the first and last moments are labelled."""
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
