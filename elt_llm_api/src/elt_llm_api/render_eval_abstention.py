"""Shows how well refusals, gold answers and a calibration did: tables, JSON, a report to open in a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from elt_llm_api.render import aligned, counted, plain, print_json
from elt_llm_api.render_eval import write_output

if TYPE_CHECKING:
    from elt_llm_query.calibration import State
    from elt_llm_query.evaluate.calibrating import Fitted
    from elt_llm_query.evaluate.gold_answers import GoldReport
    from elt_llm_query.evaluate.refusals import RefusalReport

WEIGHTS = {"shipped": "as shipped", "calibrated": "as fitted to it", "stale": "as shipped (what was fitted is stale)"}


def print_refusals(report: "RefusalReport", weights: "State", html: Path | None, *, as_json: bool) -> int:
    """The figures of `--abstention`; always 0."""
    if html is not None:
        write_output(html, refusal_page(report))
    if as_json:
        print_json({**report.to_json(), "weights": weights})
        return 0
    for line in refusal_lines(report, weights):
        click.echo(plain(line))
    return 0


def refusal_lines(report: "RefusalReport", weights: "State") -> Iterator[str]:
    """The figures of each kind, and what answering so much of the questions costs."""
    from elt_llm_query.evaluate.refusals import at_coverages

    yield f"{report.name}: {counted(report.answerable, 'answerable question')}, weighed {WEIGHTS[weights]}"
    yield f"answered right     {report.right:.1%} of them, if none were refused"
    yield f"wrongly refused    {report.wrongly_refused:.1%}"
    yield ""
    yield from aligned(_kind_rows(report))
    for kind, refusals in report.by_kind.items():
        yield ""
        yield f"Risk and coverage, answerable and {kind} questions together:"
        points = at_coverages(refusals.curve)
        rows = [[f"{at.coverage:.1%}", f"{at.risk:.1%}", f"{at.threshold:.4f}"] for at in points]
        yield from aligned([["answered", "wrong of these", "from a confidence of"], *rows])


def _kind_rows(report: "RefusalReport") -> list[list[str]]:
    rows = [
        [kind, str(one.questions), f"{one.auroc:.4f}", f"{one.area:.4f}", f"{one.refused:.1%}"]
        for kind, one in report.by_kind.items()
    ]
    return [["without an answer", "questions", "AUROC", "AURC", "refused"], *rows]


def refusal_page(report: "RefusalReport") -> str:
    """The whole page: the figures, and the curve of each kind."""
    from elt_llm_api.render_eval_html import html_page, table
    from elt_llm_api.svg_plots import curves

    def sections() -> Iterator[str]:
        header, *rows = [[plain(cell) for cell in row] for row in _kind_rows(report)]
        yield f"<h2>Figures</h2>{table(header, rows)}"
        title = "Risk (upwards) by coverage: the share answered wrong of the share answered"
        lines = [(kind, [(at.coverage, at.risk) for at in one.curve]) for kind, one in report.by_kind.items()]
        key = "".join(f'<i class="line{number}"></i>{kind}' for number, (kind, _) in enumerate(lines))
        yield f'<h2>{title}</h2><p class="key">{key}</p>{curves(title, lines)}'

    told = (
        f"{counted(report.answerable, 'answerable question')}: {report.right:.1%} answered right if none were refused,"
        f" {report.wrongly_refused:.1%} wrongly refused."
    )
    return html_page(f"What of {report.name} is refused", told, sections())


def print_gold(report: "GoldReport", *, as_json: bool) -> int:
    """The figures of `--gold-answers`; always 0."""
    if as_json:
        print_json(report.to_json())
        return 0
    from elt_llm_query.evaluate.gold_answers import SENTENCES

    click.echo(plain(f"{report.name}: {counted(len(report.ends), 'question')} with answers"))
    click.echo(f"in the passages read: {report.in_passages:.1%}\n")
    rows = [
        [
            str(most), f"{report.held(most, abstain=False):.1%}", f"{report.held(most, abstain=True):.1%}",
            f"{report.refused(most):.1%}",
        ]
        for most in SENTENCES
    ]  # fmt: skip
    for line in aligned([["most sentences", "hold an answer", "and are not refused", "wrongly refused"], *rows]):
        click.echo(line)
    return 0


def print_calibration(fitted: "Fitted", collection: str, *, as_json: bool) -> int:
    """What was fitted and what it is worth; always 0."""
    if as_json:
        print_json({"collection": collection, **fitted.to_json()})
        return 0
    for line in calibration_lines(fitted, collection):
        click.echo(plain(line))
    return 0


def calibration_lines(fitted: "Fitted", collection: str) -> Iterator[str]:
    """The figures of questions held out, before and after, and what is used from now on."""
    asked = ", ".join(f"{number} {kind}" for kind, number in fitted.questions.items())
    yield f"{collection}: {asked or 'no questions'}"
    if fitted.before and fitted.after:
        before, after = fitted.before, fitted.after
        rows = [["held out", "as shipped", "as fitted"]]
        rows += [[f"AUROC, {kind}", f"{was:.4f}", f"{after.auroc[kind]:.4f}"] for kind, was in before.auroc.items()]
        rows += [["loss", f"{before.loss:.4f}", f"{after.loss:.4f}"]]
        rows += [["wrongly refused", f"{before.wrongly_refused:.1%}", f"{after.wrongly_refused:.1%}"]]
        rows += [
            [f"refused, {kind}", f"{was:.1%}", f"{after.refused[kind]:.1%}"] for kind, was in before.refused.items()
        ]
        yield from aligned(rows)
    if fitted.objection:
        yield f"The shipped weights are kept: {fitted.objection}."
    else:
        yield f"Kept: '{collection}' is asked with it as it stands now, by this profile. After a change, fit again."
