"""Print evaluation results as tables and JSON, and write the HTML report."""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.display.plots import PlotBar, PlotInterval, draw_plot
from elt_llm_api.display.text import align_columns, count_noun, print_result, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_query.evaluate.answers import GoldAnswerReport
    from elt_llm_query.evaluate.calibration import FittedCalibration
    from elt_llm_query.evaluate.refusals import RefusalReport
    from elt_llm_query.evaluate.reports import ProfileReport, QuestionResult
    from elt_llm_query.evaluate.significance import ProfileComparison
    from elt_llm_query.extractive.confidence import CalibrationState

METRIC_COLUMNS = {
    "ndcg@10": "nDCG@10",
    "recall@10": "recall@10",
    "recall@100": "recall@100",
    "precision@1": "P@1",
    "precision@5": "P@5",
    "mrr@10": "MRR@10",
    "hit@10": "hit@10",
    "all@10": "all@10",
}
METRIC_HEADER = ("profile", *METRIC_COLUMNS.values(), "p50 ms", "p95 ms")
SIGNIFICANCE_LEVEL = 0.05
MOST_NOTES = 5


def check_output_files(html: Path | None, per_query: Path | None = None) -> None:
    """Raise UsageError for a file that cannot be written, or if both are the same."""
    for file in filter(None, (per_query, html)):
        if file.is_dir() or not file.parent.is_dir():
            raise UsageError(f"{file} cannot be written.", hint="Name a file in an existing folder.")
    if html is not None and html == per_query:
        raise UsageError("--per-query and --html name the same file.", hint="Name two files.")


@dataclass(frozen=True)
class EvaluationOutcome:
    """The reports by profile, the comparison of two profiles, and a sentence for each metric below its threshold.

    `judged` is whether there are thresholds.
    """

    reports: "Sequence[ProfileReport]"
    compared: "ProfileComparison | None"
    judged: bool
    failed: Sequence[str]


def print_evaluation(evaluated: EvaluationOutcome, per_query: Path | None, html: Path | None, *, as_json: bool) -> int:
    """Print the results, and write them to the named files. Return 1 if a metric is below its threshold, else 0."""
    if per_query is not None:
        write_output(per_query, "".join(_result_lines(evaluated)))
    if html is not None:
        write_output(html, html_report(evaluated))
    print_result(
        _evaluation_json(evaluated), map(strip_control_characters, evaluation_lines(evaluated)), as_json=as_json
    )
    for sentence in evaluated.failed:
        click.echo(strip_control_characters(sentence), err=True)
    return 1 if evaluated.failed else 0


def evaluation_lines(evaluated: EvaluationOutcome) -> Iterator[str]:
    """Return the table, the comparison and the notes as lines."""
    reports = evaluated.reports
    kinds = Counter(result.kind for result in reports[0].results if result.kind)  # labelled questions have no kind
    listed = f" ({', '.join(f'{count} from a {kind}' for kind, count in kinds.items())})" if kinds else ""
    yield f"{reports[0].dataset}: {count_noun(reports[0].queries, 'question')}{listed}"
    yield from align_columns([METRIC_HEADER, *map(_metric_row, reports)])
    if compared := evaluated.compared:
        yield ""
        yield f"{compared.second} minus {compared.first}, on the same {count_noun(compared.questions, 'question')}:"
        yield from align_columns(_comparison_rows(compared))
    yield from profile_note_lines(reports)


def profile_note_lines(reports: "Sequence[ProfileReport]") -> Iterator[str]:
    """Return the first few notes of each profile, because a profile may have a note for every question."""
    for report in reports:
        for note in report.notes[:MOST_NOTES]:
            yield f"{report.profile}: {note}"
        if more := report.notes[MOST_NOTES:]:
            yield f"{report.profile}: and {count_noun(len(more), 'more note')}."


def _comparison_rows(compared: "ProfileComparison") -> list[list[str]]:
    """Return the rows of the comparison of two profiles: a header row, and a row for each metric."""
    rows = [["figure", "difference", "95 % interval", "p", "better", "worse", ""]]
    for it in compared.differences:
        difference = [f"{it.mean:+.4f}", f"{it.low:+.4f} to {it.high:+.4f}", f"{it.p_value:.4f}"]
        significance = "a real difference" if it.p_value < SIGNIFICANCE_LEVEL else "may be chance"
        rows.append([METRIC_COLUMNS[it.figure], *difference, str(it.better), str(it.worse), significance])
    return rows


def _metric_row(report: "ProfileReport") -> list[str]:
    figures = [f"{report.figures[figure]:.4f}" for figure in METRIC_COLUMNS]
    return [report.profile, *figures, f"{report.latency_p50_ms:.1f}", f"{report.latency_p95_ms:.1f}"]


def _evaluation_json(evaluated: EvaluationOutcome) -> Any:
    reports = [report.to_json() for report in evaluated.reports]
    if evaluated.compared is None and not evaluated.judged:
        return reports
    compared = evaluated.compared.to_json() if evaluated.compared else None
    return {"reports": reports, "comparison": compared, "failed": list(evaluated.failed)}


def _result_lines(evaluated: EvaluationOutcome) -> Iterator[str]:
    for report in evaluated.reports:
        for result in report.results:
            line = {"dataset": report.dataset, "profile": report.profile, **result.to_json()}
            yield json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"


def write_output(path: Path, text: str) -> None:
    """Write a file. Raises UsageError if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", hint="Name another file.") from error


PLOTTED_METRICS = ("ndcg@10", "recall@10", "mrr@10", "hit@10")
HARDEST_SHOWN = 25
RANK_STEPS = ((1, "first"), (3, "2 to 3"), (10, "4 to 10"), (100, "11 to 100"))


@dataclass(frozen=True)
class ReportSection:
    """A section of a report page: a legend, a plot (SVG), paragraphs, a table and small plots, all optional."""

    title: str
    legend: Sequence[tuple[str, str]] = ()
    plot: str = ""
    text: Sequence[str] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    is_wide: bool = False
    plots: Sequence[tuple[str, str]] = ()


def html_report(evaluated: EvaluationOutcome) -> str:
    """Return the report page of an evaluation."""
    reports = evaluated.reports
    summary = f"{count_noun(reports[0].queries, 'question')}, {count_noun(len(reports), 'profile')}."
    sections = [_figures_section(reports), _rank_section(reports)]
    sections += [_comparison_section(evaluated.compared)] if evaluated.compared else []
    sections += [_hardest_questions(reports)]
    if notes := list(profile_note_lines(reports)):
        sections += [ReportSection("Notes", text=notes)]
    return _html_page(f"Retrieval of {reports[0].dataset}", summary, sections, evaluated.failed)


def _html_page(title: str, summary: str, sections: Sequence[ReportSection], failed: Sequence[str] = ()) -> str:
    from jinja2 import Environment, StrictUndefined

    def clean(value: Any) -> Any:
        return strip_control_characters(value) if type(value) is str else value

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=clean, keep_trailing_newline=True)
    template = Path(__file__).with_name("report.jinja").read_text(encoding="utf-8")
    return environment.from_string(template).render(title=title, summary=summary, sections=sections, failed=failed)


def _figures_section(reports: "Sequence[ProfileReport]") -> ReportSection:
    from markupsafe import Markup

    best = {figure: max(report.figures[figure] for report in reports) for figure in METRIC_COLUMNS}
    rows = []
    for report in reports:
        row = _metric_row(report)
        for column, figure in enumerate(METRIC_COLUMNS, 1):
            if report.figures[figure] == best[figure]:
                row[column] = Markup("<strong>{}</strong>").format(row[column])
        rows.append(row)
    names = [strip_control_characters(report.profile) for report in reports]
    plots = []
    for figure in PLOTTED_METRICS:
        values = [report.figures[figure] for report in reports]
        bars = [PlotBar(name, value, f"{value:.4f}") for name, value in zip(names, values, strict=True)]
        plots.append((METRIC_COLUMNS[figure], draw_plot("bar_plot", METRIC_COLUMNS[figure], bars)))
    longest = max(report.latency_p95_ms for report in reports) or 1.0
    times = [
        PlotBar(name, it.latency_p50_ms / longest, f"{it.latency_p50_ms:.0f} ms", it.latency_p95_ms / longest)
        for name, it in zip(names, reports, strict=True)
    ]
    title = "Median latency; the line: 95th percentile"
    return ReportSection(
        "Figures", header=METRIC_HEADER, rows=rows, plots=[*plots, (title, draw_plot("bar_plot", title, times))]
    )


def _rank_section(reports: "Sequence[ProfileReport]") -> ReportSection:
    title = "Rank of the first relevant chunk"
    names = [*(name for _, name in RANK_STEPS), "not found"]
    legend = [(f"step{number}", name) for number, name in enumerate(names)]
    rows = [(strip_control_characters(report.profile), _rank_shares(report)) for report in reports]
    return ReportSection(title, legend=legend, plot=draw_plot("stacked_bars", title, rows))


def _rank_shares(report: "ProfileReport") -> list[float]:
    """Return the share of questions whose first relevant chunk has a rank in each of `RANK_STEPS`, such as 4 to 10.

    The last share is that of questions for which no relevant chunk was found.
    """
    last_ranks = [last for last, _ in RANK_STEPS]
    steps = Counter(bisect_left(last_ranks, _first_relevant_rank(result) or inf) for result in report.results)
    return [steps[step] / len(report.results) for step in range(len(RANK_STEPS) + 1)]


def _comparison_section(compared: "ProfileComparison") -> ReportSection:
    widest = max((max(abs(it.low), abs(it.high)) for it in compared.differences), default=0.0) * 1.1 or 1.0
    intervals = [
        PlotInterval(METRIC_COLUMNS[it.figure], it.mean / widest, it.low / widest, it.high / widest, f"{it.mean:+.4f}")
        for it in compared.differences
    ]
    title = f"{compared.second} minus {compared.first}"
    note = f"p under {SIGNIFICANCE_LEVEL:g} counts as a real difference: equal profiles would seldom differ this much."
    header, *rows = _comparison_rows(compared)
    return ReportSection(
        title,
        plot=draw_plot("interval_plot", strip_control_characters(title), intervals),
        text=[note],
        header=header,
        rows=rows,
    )


def _hardest_questions(reports: "Sequence[ProfileReport]") -> ReportSection:
    """Return the questions with the worst results over all profiles, with the rank of their first relevant chunk."""
    results = list(zip(*(report.results for report in reports), strict=True))
    missed = [row for row in results if any(_first_relevant_rank(result) != 1 for result in row)]
    missed.sort(key=lambda row: sum(result.figures["ndcg@10"] for result in row))
    rows = [
        [row[0].question, *(str(_first_relevant_rank(result) or "-") for result in row)]
        for row in missed[:HARDEST_SHOWN]
    ]
    text = "Rank of the first relevant chunk; - if none was found."
    if not rows:
        text = "Every profile ranks a relevant chunk first for every question."
    header = ["question", *(report.profile for report in reports)]
    return ReportSection("Hardest questions", text=[text], header=header, rows=rows, is_wide=True)


def _first_relevant_rank(result: "QuestionResult") -> int | None:
    return min((rank for rank in result.relevant.values() if rank is not None), default=None)


WEIGHTS = {"shipped": "as shipped", "calibrated": "as calibrated", "stale": "as shipped (the calibration is stale)"}


def print_refusals(report: "RefusalReport", weights: "CalibrationState", html: Path | None, *, as_json: bool) -> None:
    """Print the results of `elt-llm eval --refusals`, and write the page `html` if it is named."""
    if html is not None:
        write_output(html, refusal_page(report))
    lines = map(strip_control_characters, refusal_lines(report, weights))
    print_result({**report.to_json(), "weights": weights}, lines, as_json=as_json)


def refusal_lines(report: "RefusalReport", weights: "CalibrationState") -> Iterator[str]:
    """Return the report as lines: the share of refused questions of each kind, and a risk-coverage table for each kind.

    A row of this table has the share of wrong answers if only the most confident 10 % (20 %, ... 100 %) of the
    questions are answered, and the minimum confidence of these.
    """
    from elt_llm_query.evaluate.refusals import points_at_coverages

    yield f"{report.name}: {count_noun(report.answerable, 'answerable question')}, confidence {WEIGHTS[weights]}"
    yield f"answered correctly {report.right:.1%} of them, if none were refused"
    yield f"uncertain          {report.uncertain:.1%}"
    yield f"wrongly refused    {report.wrongly_refused:.1%}"
    yield ""
    yield from align_columns(_refusal_rows(report))
    for kind, refusals in report.by_kind.items():
        yield ""
        yield f"Risk and coverage, answerable and {kind} questions together:"
        points = points_at_coverages(refusals.curve)
        rows = [[f"{at.coverage:.1%}", f"{at.risk:.1%}", f"{at.threshold:.4f}"] for at in points]
        yield from align_columns([["answered", "wrong of these", "minimum confidence"], *rows])


def _refusal_rows(report: "RefusalReport") -> list[list[str]]:
    rows = [["without an answer", "questions", "AUROC", "AURC", "refused", "or uncertain"]]
    for kind, one in report.by_kind.items():
        ranking = [f"{one.auroc:.4f}", f"{one.area:.4f}"]
        rows.append([kind, str(one.questions), *ranking, f"{one.refused:.1%}", f"{one.not_certain:.1%}"])
    return rows


def refusal_page(report: "RefusalReport") -> str:
    """Return the HTML page with refusal rates and the risk-coverage curve of each kind of question."""
    header, *rows = _refusal_rows(report)
    title = "Risk (vertical) by coverage: the share of wrong answers among the answered questions"
    lines = [(kind, [(at.coverage, at.risk) for at in one.curve]) for kind, one in report.by_kind.items()]
    legend = [(f"line{number}", kind) for number, (kind, _) in enumerate(lines)]
    figures = (
        f"{report.right:.1%} answered correctly if none were refused, {report.wrongly_refused:.1%} wrongly refused"
    )
    return _html_page(
        f"Refusals for {report.name}",
        f"{count_noun(report.answerable, 'answerable question')}: {figures}.",
        [
            ReportSection("Figures", header=header, rows=rows),
            ReportSection(title, legend=legend, plot=draw_plot("curve_plot", title, lines)),
        ],
    )


def print_gold(report: "GoldAnswerReport", *, as_json: bool) -> None:
    """Print how often quotes contain the gold answers (`elt-llm eval --gold-answers`)."""
    from elt_llm_query.evaluate.answers import SENTENCES

    rows = [["most sentences", "contain an answer", "and not refused", "wrongly refused"]]
    for most in SENTENCES:
        held = [f"{report.held(most, abstain=abstain):.1%}" for abstain in (False, True)]
        rows.append([str(most), *held, f"{report.refused(most):.1%}"])
    lines = [
        strip_control_characters(f"{report.name}: {count_noun(len(report.outcomes), 'question')} with answers"),
        f"in the chunks read: {report.in_chunks:.1%}",
        "",
        *align_columns(rows),
    ]
    print_result(report.to_json(), lines, as_json=as_json)


def print_calibration(fitted: "FittedCalibration", collection: str, *, as_json: bool) -> None:
    """Print the calibration and its quality."""
    lines = map(strip_control_characters, calibration_lines(fitted, collection))
    print_result({"collection": collection, **fitted.to_json()}, lines, as_json=as_json)


def calibration_lines(fitted: "FittedCalibration", collection: str) -> Iterator[str]:
    """Return the quality on held-out questions before and after calibration, and which weights are used."""
    questions = ", ".join(f"{number} {kind}" for kind, number in fitted.questions.items())
    yield f"{collection}: {questions or 'no questions'}"
    if fitted.before and fitted.after:
        before, after = fitted.before, fitted.after
        auroc = [[f"AUROC, {kind}", f"{was:.4f}", f"{after.auroc[kind]:.4f}"] for kind, was in before.auroc.items()]
        rows = [["held out", "as shipped", "calibrated"], *auroc, ["loss", f"{before.loss:.4f}", f"{after.loss:.4f}"]]
        rows += [["wrongly refused", f"{before.wrongly_refused:.1%}", f"{after.wrongly_refused:.1%}"]]
        rows += [
            [f"refused, {kind}", f"{was:.1%}", f"{after.refused[kind]:.1%}"] for kind, was in before.refused.items()
        ]
        yield from align_columns(rows)
    if fitted.objection:
        yield f"The shipped weights are kept: {fitted.objection}."
    else:
        yield f"Stored for the current generation of '{collection}' and this profile. After a change, calibrate again."
