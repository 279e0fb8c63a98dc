"""The tab Health: readiness, metrics over time, and doctor findings."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
from elt_llm_core.errors import EltError
from markupsafe import Markup

from elt_llm_api.display.plots import PlotColumn, draw_plot
from elt_llm_api.display.text import TableColumn, figure_columns, local_time
from elt_llm_api.doctor.check import CheckVerdict
from elt_llm_api.serve.actions.health import DiskSpace, HealthActions, MeasurePoint, MonitoringReport, Readiness
from elt_llm_api.serve.safe_text import escape_html
from elt_llm_api.serve.ui.controls import QUIET_EVENT, PageContext, html_area, principal_of_event
from elt_llm_api.serve.ui.markup import failure_markdown, fill_template, html_table
from elt_llm_api.serve.ui.texts import Texts

_HOURS, _DAYS = "hour", "day"
_SIGNS = {"FAIL": "✗", "warn": "!", "ok": "✓"}  # signs of the outcomes, in the order of the table
_TOTALS = ("questions", "succeeded", "failed", "cancelled", "answered", "refused")


def state_html(ready: Readiness, monitoring: MonitoringReport, disk: DiskSpace, texts: Texts) -> str:
    """Return HTML of the readiness, the queue, the disk space and the notes on settings."""
    counts = (f"{count} {texts(f'health.job.{status}')}" for status, count in sorted(monitoring.jobs.items()))
    data, free, size = (texts.figure(f"{one / 10**9:.1f}") for one in (disk.used_by_data, disk.free, disk.size))
    facts = [
        texts.count("health.capacity", monitoring.places_free),
        texts("health.jobs", counts=", ".join(counts) or texts("health.no_jobs")),
        texts("health.disk", data=data, free=free, size=size),
        texts.count("health.reloaded", monitoring.settings_version - 1),
    ]
    return fill_template("state", texts, ready, facts, [texts.say(note) for note in monitoring.notes])


def figures_html(monitoring: MonitoringReport, texts: Texts) -> str:
    """Return tables of totals, failures by type, caches and retrievers, and of durations of questions and stages."""
    total = monitoring.total
    rows = [(texts(f"health.{name}"), texts.figure(f"{total[name]:,}")) for name in _TOTALS]
    if total["mean_confidence"] is not None:
        rows.append((texts("health.mean_confidence"), f"{total['mean_confidence']:.0%}"))
    for cache, counts in sorted(total["cache"].items()):
        hits = texts("health.hits", hits=counts["hit"], misses=counts["miss"])
        rows.append((texts.find(f"health.cache.{cache}", cache), hits))
    for key, label in (("failures", "failed_with"), ("found_by", "found_by"), ("chunks", "chunks_by")):
        for name, count in sorted(total[key].items()):
            shown = texts.find(f"health.retriever.{name}", name)
            rows.append((texts(f"health.{label}", name=shown), texts.figure(f"{count:,}")))
    counted = html_table([TableColumn(texts("health.measure")), *figure_columns(texts("health.total"))], rows)
    keys = ("mean_ms", "p50_ms", "p95_ms", "moving_ms")
    times = [
        (_duration_name(name, texts), *(texts.figure(f"{durations[key]:,.1f}") for key in keys))
        for name, durations in total["times"].items()
    ]
    columns = [TableColumn(texts("health.milliseconds")), *figure_columns(*(texts(f"health.{key}") for key in keys))]
    return counted + html_table(columns, times)


def _duration_name(name: str, texts: Texts) -> str:
    """Return the name of a stage (`stage:rerank`) or of a whole request (`ask`) in the language of the page."""
    stage = name.removeprefix("stage:")
    return texts.find(f"trace.{stage}", stage) if stage != name else texts("health.whole", name=name)


def plots_html(points: Sequence[MeasurePoint], period: str, texts: Texts) -> str:
    """Return plots of questions, failures, 95th percentile and confidence over time. `period` is hour or day."""
    if not points:
        return f'<div class="facts">{escape_html(texts(f"health.no_{period}"))}</div>'
    plots: tuple[tuple[str, Callable[[Any], float], str], ...] = (
        ("questions", lambda measures: measures["questions"], "{:,.0f}"),
        ("failures", lambda measures: measures["failed"], "{:,.0f}"),
        ("slowest", _slowest, "{:,.0f} ms"),
        ("mean_confidence", lambda measures: measures["mean_confidence"] or 0.0, "{:.0%}"),
    )
    figures = []
    for title, value_of, form in plots:
        starts = [local_time(point.start) if period == _HOURS else point.start for point in points]
        values = [(start, value_of(point.measures)) for start, point in zip(starts, points, strict=True)]
        caption = texts(f"health.by_{period}", title=texts(f"health.{title}"))
        columns = [PlotColumn(start, value, texts.figure(form.format(value))) for start, value in values]
        plot = draw_plot("column_plot", caption, columns)
        figures.append((caption, Markup(plot)))  # noqa: S704 - escaped
    return fill_template("plots", figures)


def findings_html(findings: Mapping[str, CheckVerdict], texts: Texts) -> str:
    """Return a table of the doctor's findings with their cures, failures first. Findings are in English."""
    ordered = sorted(findings.items(), key=lambda item: list(_SIGNS).index(item[1].outcome))
    rows = [(f"{_SIGNS[one.outcome]} {one.outcome}", name, one.detail, one.hint) for name, one in ordered]
    titles = ("", *(texts(f"health.{name}") for name in ("check", "finding", "cure")))
    return html_table([TableColumn(title) for title in titles], rows)


def _slowest(measures: Any) -> float:
    times = measures["times"]
    return max((times[kind]["p95_ms"] for kind in ("ask", "search") if kind in times), default=0.0)


class HealthTab:
    """The controls of the tab Health and their event handlers. Metrics are loaded when it is opened, and on request."""

    def __init__(self, page: PageContext) -> None:
        self._health, self._texts = HealthActions(page.services), page.texts
        t = page.texts
        with gr.Row(elem_id="health-buttons"):
            refresh = gr.Button(t("health.refresh"), elem_id="health-refresh")
            examine = gr.Button(t("health.doctor"), elem_id="health-doctor")
            periods = [(t("health.hours"), _HOURS), (t("health.days"), _DAYS)]
            by = gr.Radio(periods, value=_HOURS, label=t("health.by"), elem_id="health-by")
        areas = [html_area(f"health-{name}") for name in ("state", "plots", "figures")]
        findings = html_area("health-findings")
        for event in (refresh.click, by.change, page.tab.select):
            event(self.figures, [by], areas, **QUIET_EVENT)
        examine.click(self.findings, None, [findings], api_visibility="private")

    def figures(self, by: str, request: gr.Request) -> tuple[str, str, str]:
        """Return HTML of the current state, the plots and the totals."""
        principal = principal_of_event(request)
        try:
            monitoring = self._health.monitoring(principal)
            state = state_html(self._health.ready(principal), monitoring, self._health.disk(principal), self._texts)
        except EltError as error:
            return failure_markdown(error, self._texts), "", ""
        points = monitoring.days if by == _DAYS else monitoring.hours
        return state, plots_html(points, by, self._texts), figures_html(monitoring, self._texts)

    def findings(self, request: gr.Request) -> str:
        """Run the checks of the doctor and return their findings."""
        try:
            return findings_html(self._health.findings(principal_of_event(request)), self._texts)
        except EltError as error:
            return failure_markdown(error, self._texts)
