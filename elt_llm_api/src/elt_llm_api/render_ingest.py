"""Shows what an ingest did, or would do: every file that is not simply unchanged, those in trouble first."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import click

from elt_llm_api.render import aligned, counted, one_line, plain

if TYPE_CHECKING:
    from elt_llm_ingest.jobs import JobReport
    from elt_llm_ingest.plan import Plan
    from elt_llm_ingest.report import FileOutcome, IngestReport

_COLOURS = {"failed": "red", "missing": "red", "skipped": "yellow", "empty": "yellow", "forgotten": "yellow"}
_ORDER = (
    *("failed", "missing", "empty", "skipped", "forgotten", "removed"),
    *("renamed", "changed", "new", "ok", "unchanged"),
)
_QUIET = "unchanged"
_UNREAD_PAGES = re.compile(
    "no text layer(?!; (?:OCR|tesseract))"
)  # where OCR was tried, the reason says what came of it
_HOW_TO_READ_THEM = "Pages without a text layer are pictures of text. OCR reads them: set ingest.ocr to true."
_MOST_SHOWN = 40


def print_reports(reports: "Sequence[IngestReport | JobReport]") -> None:
    """The report of an ingest, or those of jobs."""
    for report in reports:
        if _is_job(report):
            _print_job(report)
        else:
            print_report(report)  # type: ignore[arg-type]  # what is no job's is an ingest's


def print_report(report: "IngestReport") -> None:
    """Every file that is not simply unchanged, then the sums."""
    _print_files([(file.status, file.path, _remark(file)) for file in report.files])
    _print_end(report)


def print_plan(plan: "Plan") -> None:
    """What would become of every file, and whether anything would be published."""
    _print_files([(file.status, file.path, file.reason) for file in plan.files])
    counts = _counted(plan.counts) or "no files"
    name = " ".join(filter(None, (plan.job and f"job {plan.job}:", plan.collection)))
    if plan.refused:
        click.echo(f"{name}: would be refused: {plain(plan.refused)}")
    elif plan.changes:
        why = f"{plan.rebuilt}; " if plan.rebuilt else ""
        click.echo(f"{name}: a new generation would be published ({why}{counts}); nothing was written")
    else:
        click.echo(f"{name}: nothing would change ({counts})")


def published_lines(reports: "Iterable[IngestReport | JobReport]", seconds: float) -> list[str]:
    """One line for each collection that was published `seconds` after its change was seen."""
    return [
        f"{_sums(one)}, {seconds:.1f} s after the change was seen"
        for report in reports
        for one in _ingests(report)
        if one.published
    ]


def trouble_lines(reports: "Iterable[IngestReport | JobReport]") -> list[str]:
    """One line for each job that could not be run, and for each file that failed or is missing."""
    lines = []
    for report in reports:
        if _is_job(report) and report.error:
            lines.append(f"Error: job {report.job}: {plain(report.error)}")
        unfiled = report.files if _is_job(report) else ()
        files = (*unfiled, *(file for one in _ingests(report) for file in one.files))
        lines += [
            f"{file.status}  {one_line(file.path)}  {one_line(_remark(file))}"
            for file in files
            if file.status in {"failed", "missing"}
        ]
    return list(dict.fromkeys(lines))  # a file in several collections of a job is told once


def exit_code_of(reports: "Iterable[IngestReport | JobReport]") -> int:
    """1 if any of them failed, else 0."""
    return max((report.exit_code for report in reports), default=0)


def reports_as_json(reports: "Sequence[IngestReport | JobReport]") -> Any:
    """The one report of an ingest by hand, else `{"jobs": [...]}`."""
    if len(reports) == 1 and not _is_job(reports[0]):
        return reports[0].to_json()
    return {"jobs": [report.to_json() for report in reports]}


def _print_end(report: "IngestReport") -> None:
    for note in report.notes:
        click.echo(plain(note))
    click.echo(_sums(report))


def _print_job(report: "JobReport") -> None:
    click.echo(click.style(f"Job {one_line(report.job)}", bold=True))
    if not (report.reports or report.files or report.error):
        click.echo("There is no file at its paths.")
    _print_files(_files_of_job(report))
    for one in report.reports:
        _print_end(one)
    for name in report.dropped:
        click.echo(f"{name}: deleted, no file has anything for it any more")
    for name in report.left_over:
        red = click.style("missing", fg="red")
        click.echo(f"{red}  {name}: no file has anything for it any more; kept without --allow-delete")
    if report.error:
        click.echo(f"{click.style('Error:', fg='red')} {plain(report.error)}")
        click.echo(plain(report.hint)) if report.hint else None


def _files_of_job(report: "JobReport") -> list[tuple[str, str, str]]:
    """Every file of its collections; one that is in several is told once, with all its passages."""
    told: dict[FileOutcome, list[int]] = {}
    for file in (*report.files, *(file for one in report.reports for file in one.files)):
        told.setdefault(replace(file, chunks=0), []).append(file.chunks)
    rows: list[tuple[str, str, str]] = []
    for file, chunks in told.items():
        where = f"in {counted(len(chunks), 'collection')}" if len(chunks) > 1 else ""
        rows.append((file.status, file.path, _remark(replace(file, chunks=sum(chunks)), where)))
    return rows


def _print_files(rows: Sequence[tuple[str, str, str]]) -> None:
    told = sorted((row for row in rows if row[0] != _QUIET), key=lambda row: _ORDER.index(row[0]))
    shown = [(status, one_line(_short(path)), one_line(reason)) for status, path, reason in told[:_MOST_SHOWN]]
    for line, (status, _, _) in zip(aligned(shown), shown, strict=True):
        click.echo(click.style(line[: len(status)], fg=_COLOURS.get(status, "green")) + line[len(status) :])
    if len(told) > _MOST_SHOWN:
        click.echo(f"... and {len(told) - _MOST_SHOWN} more: --report FILE or --json lists them all.")
    if any(_UNREAD_PAGES.search(reason) for _, _, reason in told):
        click.echo(_HOW_TO_READ_THEM)


def _short(path: str) -> str:
    """A path as seen from here, where that is shorter."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


def _remark(outcome: "FileOutcome", where: str = "") -> str:
    passages = counted(outcome.chunks, "passage") if outcome.chunks and outcome.status == "ok" else ""
    stale = "its last good version stays" if outcome.stale else ""
    return "; ".join(filter(None, (f"{passages} {where}".strip(), outcome.reason, stale)))


def _sums(report: "IngestReport") -> str:
    counts = _counted(report.counts)
    if report.generation is None:
        return f"{report.collection}: nothing was published ({counts})"
    what = "published as" if report.published else "nothing changed; still"
    size = f"{counted(report.documents, 'document')}, {counted(report.chunks, 'passage')}"
    return (
        f"{report.collection}: {size}, {what} generation {report.generation} in {report.seconds:.1f} s"
        f" ({counts}; {report.embedded} embedded, {report.reused} reused)"
    )


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))


def _is_job(report: "IngestReport | JobReport") -> "TypeGuard[JobReport]":
    return hasattr(report, "job")


def _ingests(report: "IngestReport | JobReport") -> "Sequence[IngestReport]":
    return report.reports if _is_job(report) else [report]  # type: ignore[list-item]  # see above
