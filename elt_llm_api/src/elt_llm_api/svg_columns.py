"""Values over time as small columns, in inline SVG: no script, no colours of their own but the page's classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from elt_llm_api.svg_plots import WIDTH

_HEIGHT, _TOP, _FOOT = 90, 16, 18
_WIDEST = 28  # units: a single column is no wall
_WIDE_ENOUGH = 0.75 * WIDTH  # for two names beside each other


@dataclass(frozen=True)
class Column:
    """One moment: its name, its value, 0 or more, and how the value is written."""

    label: str
    value: float
    shown: str


def columns(title: str, values: Sequence[Column]) -> str:
    """A column for each moment, the oldest first, as high as its share of the highest; the first and last are named."""
    highest = max((it.value for it in values), default=0.0)
    step = min(WIDTH / max(1, len(values)), _WIDEST)
    drawn = [f'<rect class="track" x="0" y="{_TOP + _HEIGHT}" width="{WIDTH}" height="1"/>']
    for number, it in enumerate(values):
        height = _HEIGHT * it.value / highest if highest else 0.0
        drawn.append(
            f'<rect class="bar" x="{number * step:.1f}" y="{_TOP + _HEIGHT - height:.1f}" width="{step * 0.8:.1f}"'
            f' height="{height:.1f}"><title>{escape(f"{it.label}: {it.shown}")}</title></rect>'
        )
    if values:
        top = max(values, key=lambda it: it.value)
        drawn.append(f'<text x="0" y="11">{escape(f"most: {top.shown} ({top.label})")}</text>')
        drawn += _named(values, step * len(values))
    return (
        f'<svg viewBox="0 0 {WIDTH} {_TOP + _HEIGHT + _FOOT}" role="img" aria-label="{escape(title)}"'
        f' xmlns="http://www.w3.org/2000/svg">{"".join(drawn)}</svg>'
    )


def _named(values: Sequence[Column], end: float) -> list[str]:
    """The first moment and the last below their columns, which end at `end`; in one line where they would overlap."""
    below, first, last = _TOP + _HEIGHT + 14, escape(values[0].label), escape(values[-1].label)
    if len(values) > 1 and end < _WIDE_ENOUGH:
        return [f'<text x="0" y="{below}">{first} to {last}</text>']
    at_end = f'<text x="{end:.1f}" y="{below}" text-anchor="end">{last}</text>'
    return [f'<text x="0" y="{below}">{first}</text>', *([at_end] if len(values) > 1 else [])]
