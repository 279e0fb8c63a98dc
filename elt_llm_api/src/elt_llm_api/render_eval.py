"""Shows what `elt-llm eval` measured: a table, JSON, a file with each question, a report to open in a browser."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.render import aligned, counted, plain, print_json

if TYPE_CHECKING:
    from elt_llm_query.evaluate.reports import ProfileReport
    from elt_llm_query.evaluate.significance import Comparison

    from elt_llm_api.evaluation import Evaluated

COLUMNS = {
    "ndcg@10": "nDCG@10",
    "recall@10": "recall@10",
    "recall@100": "recall@100",
    "precision@1": "P@1",
    "precision@5": "P@5",
    "mrr@10": "MRR@10",
    "hit@10": "hit@10",
    "all@10": "all@10",
}
CERTAIN = 0.05
MOST_NOTES = 5


@dataclass(frozen=True)
class Outputs:
    """The files to write: each question's result, and the report."""

    per_query: Path | None
    html: Path | None

    @classmethod
    def of(cls, folder: Path, per_query: Path | None, html: Path | None) -> Self:
        """The files, named from `folder`. Raises UsageError for one that could not be written after all the asking."""
        files = [None if file is None else folder / file for file in (per_query, html)]
        for file in filter(None, files):
            if file.is_dir() or not file.parent.is_dir():
                raise UsageError(f"{file} cannot be written.", hint="Name a file in a folder that is there.")
        if files[0] is not None and files[0] == files[1]:
            raise UsageError("--per-query and --html name the same file.", hint="Name two files.")
        return cls(*files)


def print_evaluation(evaluated: "Evaluated", files: Outputs, *, as_json: bool) -> int:
    """Print and write all that was asked for; 1 if a figure is too low, else 0."""
    if files.per_query is not None:
        write_output(files.per_query, "".join(_result_lines(evaluated)))
    if files.html is not None:
        from elt_llm_api.render_eval_html import html_report

        write_output(files.html, html_report(evaluated))
    if as_json:
        print_json(_as_json(evaluated))
    else:
        for line in evaluation_lines(evaluated):
            click.echo(line)
    for sentence in evaluated.failed:
        click.echo(plain(sentence), err=True)
    return 1 if evaluated.failed else 0


def evaluation_lines(evaluated: "Evaluated") -> Iterator[str]:
    """The table, the comparison and the notes, for people."""
    reports = evaluated.reports
    yield plain(f"{reports[0].dataset}: {counted(reports[0].queries, 'question')}{_kinds(reports[0])}")
    header = ["profile", *COLUMNS.values(), "p50 ms", "p95 ms"]
    yield from map(plain, aligned([header, *map(_row, reports)]))
    if evaluated.compared:
        yield ""
        yield from map(plain, comparison_lines(evaluated.compared))
    yield from map(plain, note_lines(reports))


def note_lines(reports: "Sequence[ProfileReport]") -> Iterator[str]:
    """What each profile had to say, the first of it: single questions may have notes of their own, by the hundred."""
    for report in reports:
        for note in report.notes[:MOST_NOTES]:
            yield f"{report.profile}: {note}"
        if more := report.notes[MOST_NOTES:]:
            yield f"{report.profile}: and {counted(len(more), 'more note')}."


def comparison_lines(compared: "Comparison") -> Iterator[str]:
    """Each figure of the second profile less that of the first, and what chance alone would do."""
    yield f"{compared.second} less {compared.first}, on the same {counted(compared.questions, 'question')}:"
    header = ["figure", "difference", "95 % interval", "p", "better", "worse", ""]
    rows = [
        [
            COLUMNS[one.figure], f"{one.mean:+.4f}", f"{one.low:+.4f} to {one.high:+.4f}", f"{one.p_value:.4f}",
            str(one.better), str(one.worse), verdict(one.p_value),
        ]
        for one in compared.differences
    ]  # fmt: skip
    yield from aligned([header, *rows])


def verdict(p_value: float) -> str:
    """What a p value says, in words."""
    return "a real difference" if p_value < CERTAIN else "may be chance"


def _row(report: "ProfileReport") -> list[str]:
    times = (report.latency_p50_ms, report.latency_p95_ms)
    return [
        report.profile,
        *(f"{report.figures[figure]:.4f}" for figure in COLUMNS),
        *(f"{value:.1f}" for value in times),
    ]


def _kinds(report: "ProfileReport") -> str:
    """How many questions of each kind, where they were made from documents."""
    kinds = [result.kind for result in report.results if result.kind]
    listed = [f"{kinds.count(kind)} from a {kind}" for kind in dict.fromkeys(kinds)]
    return f" ({', '.join(listed)})" if listed else ""


def _as_json(evaluated: "Evaluated") -> Any:
    reports = [report.to_json() for report in evaluated.reports]
    if evaluated.compared is None and not evaluated.judged:
        return reports
    compared = evaluated.compared.to_json() if evaluated.compared else None
    return {"reports": reports, "comparison": compared, "failed": list(evaluated.failed)}


def _result_lines(evaluated: "Evaluated") -> Iterator[str]:
    for report in evaluated.reports:
        for result in report.results:
            line = {"dataset": report.dataset, "profile": report.profile, **result.to_json()}
            yield json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"


def write_output(path: Path, text: str) -> None:
    """Write a file that was asked for. Raises UsageError if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
