"""Small plots as inline SVG: no script, no colours of their own but the page's classes, readable on a phone."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 360  # units; a phone shows one as about one pixel, so that text keeps its size there
_ROW, _LABEL, _FIGURE = 22, 84, 52
_PLOT = WIDTH - _LABEL - _FIGURE
_LONGEST_LABEL = 12


@dataclass(frozen=True)
class Bar:
    """One row of a plot: its name, its value as a share of the scale (0 to 1), and how the value is written.

    `mark` is a second value on the same scale.
    """

    label: str
    share: float
    shown: str
    mark: float | None = None


@dataclass(frozen=True)
class Interval:
    """A value with its bounds, all on a scale from -1 to 1 around a line at 0."""

    label: str
    middle: float
    low: float
    high: float
    shown: str


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars, one a row."""
    drawn = []
    for number, row in enumerate(rows):
        top = number * _ROW
        drawn.append(
            f'<rect class="track" x="{_LABEL}" y="{top + 4}" width="{_PLOT}" height="14" rx="2"/>'
            f'<rect class="bar" x="{_LABEL}" y="{top + 4}" width="{_PLOT * _held(row.share):.1f}" height="14" rx="2"/>'
        )
        if row.mark is not None:
            drawn.append(f'<rect class="mark" x="{_LABEL + _PLOT * _held(row.mark):.1f}" y="{top + 2}" width="2"'
                         ' height="18"/>')  # fmt: skip
        drawn.append(_texts(top, row.label, row.shown))
    return _svg(title, len(rows), drawn)


def stacks(title: str, rows: Sequence[tuple[str, Sequence[float]]]) -> str:
    """One bar a row, cut into shares that add up to 1; the first is the best."""
    drawn = []
    width = WIDTH - _LABEL
    for number, (label, shares) in enumerate(rows):
        left = float(_LABEL)
        for step, share in enumerate(shares):
            drawn.append(
                f'<rect class="step{step}" x="{left:.1f}" y="{number * _ROW + 4}" width="{width * share:.1f}"'
                f' height="14"><title>{share:.1%}</title></rect>'
            )
            left += width * share
        drawn.append(_texts(number * _ROW, label, ""))
    return _svg(title, len(rows), drawn)


def intervals(title: str, rows: Sequence[Interval]) -> str:
    """A dot within its bounds on each row, right of the middle line what is better."""
    middle, half = _LABEL + _PLOT / 2, _PLOT / 2
    height = len(rows) * _ROW
    drawn = [f'<rect class="mark" x="{middle - 0.5}" y="0" width="1" height="{height}"/>']
    for number, row in enumerate(rows):
        centre = number * _ROW + 11
        low, high, dot = (middle + half * max(-1.0, min(1.0, value)) for value in (row.low, row.high, row.middle))
        drawn.append(
            f'<rect class="bar" x="{low:.1f}" y="{centre - 1.5}" width="{max(1.0, high - low):.1f}" height="3"/>'
            f'<circle class="bar" cx="{dot:.1f}" cy="{centre}" r="4.5"/>'
        )
        drawn.append(_texts(number * _ROW, row.label, row.shown))
    return _svg(title, len(rows), drawn)


def curves(title: str, rows: Sequence[tuple[str, Sequence[tuple[float, float]]]]) -> str:
    """A line for each row through its points, whose x and y are shares from 0 to 1; y is drawn upwards."""
    height, left = 200, 34
    width = WIDTH - left - 6
    drawn = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y, x = 8 + height * (1 - share), left + width * share
        drawn.append(
            f'<rect class="track" x="{left}" y="{y:.1f}" width="{width}" height="1"/>'
            f'<text x="{left - 4}" y="{y + 4:.1f}" text-anchor="end">{share:g}</text>'
            f'<text x="{x:.1f}" y="{height + 24}" text-anchor="middle">{share:g}</text>'
        )
    for number, (label, points) in enumerate(rows):
        path = " ".join(f"{left + width * _held(x):.1f},{8 + height * (1 - _held(y)):.1f}" for x, y in points)
        drawn.append(f'<polyline class="line{number}" points="{path}"><title>{escape(label)}</title></polyline>')
    return _svg(title, (height + 30) / _ROW, drawn)


def _texts(top: int, label: str, shown: str) -> str:
    short = label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "\u2026"
    right = f'<text x="{WIDTH}" y="{top + 15}" text-anchor="end">{escape(shown)}</text>' if shown else ""
    return f'<text x="0" y="{top + 15}">{escape(short)}<title>{escape(label)}</title></text>{right}'


def _svg(title: str, rows: float, drawn: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {rows * _ROW:g}" role="img" aria-label="{escape(title)}"'
        f' xmlns="http://www.w3.org/2000/svg">{"".join(drawn)}</svg>'
    )


def _held(share: float) -> float:
    return max(0.0, min(1.0, share))
