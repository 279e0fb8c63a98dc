"""How the server fares, as HTML of ours: state, figures, plots and findings, each on one line as Markdown wants it."""

from collections.abc import Callable, Sequence
from typing import Any

from elt_llm_api.serve.actions.health import Disk, Finding, Monitoring, Point, Ready
from elt_llm_api.serve.safe_text import as_text
from elt_llm_api.serve.ui.html_tables import Column, flat, table
from elt_llm_api.svg_columns import Column as Bar
from elt_llm_api.svg_columns import columns

_SIGNS = {"ok": "✓", "warn": "!", "FAIL": "✗"}
_GIGABYTE = 10**9
_FIGURES = (
    ("questions", "Questions"),
    ("succeeded", "Succeeded"),
    ("failed", "Failed"),
    ("cancelled", "Given up"),
    ("answered", "Answered"),
    ("abstentions", "Not in the documents"),
)


def state_html(ready: Ready, monitoring: Monitoring, disk: Disk) -> str:
    """Whether it can answer, what is not in force, the queue and the disk."""
    said = "✓ Ready to answer" if ready.ready else "✗ Not ready: " + " ".join(map(as_text, ready.reasons))
    jobs = ", ".join(f"{count} {status}" for status, count in sorted(monitoring.jobs.items())) or "none"
    facts = [
        f"{monitoring.places_free} more questions would be taken now",
        f"jobs: {jobs}",
        f"data {disk.used_by_data / _GIGABYTE:.2f} GB, free {disk.free / _GIGABYTE:.1f} of"
        f" {disk.size / _GIGABYTE:.0f} GB",
        f"settings taken {monitoring.settings_version - 1} times since the start",
    ]
    notes = "".join(f'<div class="notes">{as_text(flat(note))}</div>' for note in monitoring.notes)
    return f'<div class="badge">{said}</div><div class="facts">{" · ".join(map(as_text, facts))}</div>{notes}'


def figures_html(monitoring: Monitoring) -> str:
    """Totals since ever, failures by type, caches, legs, and the times of questions and stages."""
    total = monitoring.total
    rows = [(name, f"{total[key]:,}") for key, name in _FIGURES]
    if total["mean_confidence"] is not None:
        rows.append(("Mean confidence", f"{total['mean_confidence']:.0%}"))
    rows += [(f"Failed: {kind}", f"{count:,}") for kind, count in sorted(total["failures"].items())]
    for cache, counts in sorted(total["cache"].items()):
        rows.append((f"Cache of {cache}", f"{counts['hit']:,} hits, {counts['miss']:,} misses"))
    rows += [(f"Found by {legs}", f"{count:,}") for legs, count in sorted(total["legs"].items())]
    rows += [(f"Passages by {leg}", f"{count:,}") for leg, count in sorted(total["passages"].items())]
    counted = table(_with_figures("What", "Since ever"), rows)
    taken = _with_figures("Milliseconds", "Mean", "Half below", "95 % below", "Lately")
    return counted + table(taken, [_times(name, told) for name, told in total["times"].items()])


def plots_html(points: Sequence[Point], what: str) -> str:
    """Questions, failures, p95 and confidence over time; `what` a point is, such as hour."""
    if not points:
        return f'<div class="facts">Nothing was asked yet: here stand the figures of each {as_text(what)}.</div>'
    plots: tuple[tuple[str, Callable[[Any], float], Callable[[float], str]], ...] = (
        ("Questions", lambda it: it["questions"], lambda value: f"{value:,.0f}"),
        ("Failures", lambda it: it["failed"], lambda value: f"{value:,.0f}"),
        ("95 % of the questions took less than", _slowest, lambda value: f"{value:,.0f} ms"),
        ("Mean confidence", lambda it: it["mean_confidence"] or 0.0, lambda value: f"{value:.0%}"),
    )
    drawn = []
    for title, value_of, shown in plots:
        values = [Bar(it.start, value_of(it.measures), shown(value_of(it.measures))) for it in points]
        named = f"{title} by the {what}"
        drawn.append(f'<figure class="plot"><figcaption>{as_text(named)}</figcaption>{columns(named, values)}</figure>')
    return f'<div class="plots">{"".join(drawn)}</div>'


def findings_html(findings: Sequence[Finding]) -> str:
    """What the doctor says, what needs mending first, with its cure."""
    ordered = sorted(findings, key=lambda it: ("FAIL", "warn", "ok").index(it.outcome))
    rows = [(f"{_SIGNS[it.outcome]} {it.outcome}", it.name, it.detail, it.hint) for it in ordered]
    return table([Column(title) for title in ("", "Check", "Found", "Cure")], rows)


def _slowest(measures: Any) -> float:
    times = measures["times"]
    return max((times[kind]["p95_ms"] for kind in ("ask", "search") if kind in times), default=0.0)


def _times(name: str, told: Any) -> tuple[str, ...]:
    shown = name.removeprefix("stage:") if name.startswith("stage:") else f"{name}, whole"
    return shown, *(f"{told[key]:,.1f}" for key in ("mean_ms", "p50_ms", "p95_ms", "moving_ms"))


def _with_figures(first: str, *others: str) -> list[Column]:
    """Columns of a table in which all but the first are figures."""
    return [Column(first), *(Column(title, figure=True) for title in others)]
