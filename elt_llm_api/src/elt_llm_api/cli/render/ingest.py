"""Print ingest reports, plans, and the events of a watch."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import click
from elt_llm_core.errors import EltError

from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import align_columns, count_noun, one_line, print_error, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_core.errors import LockHeld
    from elt_llm_core.progress import ProgressListener
    from elt_llm_ingest.jobs.runner import JobReport
    from elt_llm_ingest.run.plan import IngestPlan
    from elt_llm_ingest.run.report import FileOutcome, IngestReport
    from elt_llm_ingest.run.watch import WatchScope

_COLOURS = {"failed": "red", "missing": "red", "skipped": "yellow", "empty": "yellow", "forgotten": "yellow"}
_ORDER = (
    *("failed", "missing", "empty", "skipped", "forgotten", "removed"),
    *("renamed", "changed", "new", "ok", "unchanged"),
)
_UNREMARKABLE = "unchanged"
_MOST_SHOWN = 40


def reports_lines(reports: "Sequence[IngestReport | JobReport]") -> Iterator[str]:
    """Return the report of an ingest, or the reports of jobs, as lines."""
    for report in reports:
        yield from _job_lines(report) if _is_job(report) else _report_lines(report)  # type: ignore[arg-type]


def _report_lines(report: "IngestReport") -> Iterator[str]:
    """Return every file except unchanged ones, then the notes and totals, as lines."""
    yield from _file_lines([(file.status, file.path, _file_remark(file)) for file in report.files])
    yield from _summary_lines(report)


def plan_lines(plan: "IngestPlan") -> Iterator[str]:
    """Return the planned outcome of every file, and whether a generation would be published, as lines."""
    yield from _file_lines([(file.status, file.path, file.reason) for file in plan.files])
    quoted = partial(json.dumps, ensure_ascii=False)
    yield from message_lines("plan", plan=plan, counts=_status_counts(plan.counts), quoted=quoted)


def published_lines(reports: "Iterable[IngestReport | JobReport]", seconds: float) -> list[str]:
    """Return a line per published collection. `seconds` is the time since the change was detected."""
    return [
        f"{_totals(one)}, {seconds:.1f} s after the change"
        for report in reports
        for one in _ingest_reports(report)
        if one.published
    ]


def notable_lines(reports: "Iterable[IngestReport | JobReport]") -> list[str]:
    """Return a line per job that failed, and per file that failed, is missing or was removed."""
    lines = []
    for report in reports:
        if _is_job(report) and report.error:
            lines.append(f"Error: job {report.job}: {strip_control_characters(report.error)}")
        unassigned = report.files if _is_job(report) else ()
        files = (*unassigned, *(file for one in _ingest_reports(report) for file in one.files))
        lines += [
            f"{file.status}  {one_line(file.path)}  {one_line(_file_remark(file))}"
            for file in files
            if file.status in {"failed", "missing", "removed"}
        ]
    return list(dict.fromkeys(lines))  # a file may be in several collections of a job


def exit_code_of(reports: "Iterable[IngestReport | JobReport]") -> int:
    """Return exit code 1 if a report contains a failure, else 0."""
    return max((report.exit_code for report in reports), default=0)


def reports_as_json(reports: "Sequence[IngestReport | JobReport]") -> Any:
    """Return the report of one ingest, or for jobs `{"jobs": [...]}` with the report of each job."""
    if len(reports) == 1 and not _is_job(reports[0]):
        return reports[0].to_json()
    return {"jobs": [report.to_json() for report in reports]}


def _summary_lines(report: "IngestReport") -> list[str]:
    return [*map(strip_control_characters, report.notes), _totals(report)]


def _job_lines(report: "JobReport") -> Iterator[str]:
    yield click.style(f"Job {one_line(report.job)}", bold=True)
    if not (report.reports or report.files or report.error):
        yield "No files at the paths of this job."
    yield from _file_lines(_files_of_job(report))
    for one in report.reports:
        yield from _summary_lines(one)
    yield from message_lines("ingest_job", report=report)


def _files_of_job(report: "JobReport") -> list[tuple[str, str, str]]:
    """Return every file once, with its number of chunks in all collections of the job."""
    chunks_of: dict[FileOutcome, list[int]] = {}
    for file in (*report.files, *(file for one in report.reports for file in one.files)):
        chunks_of.setdefault(replace(file, chunks=0), []).append(file.chunks)
    rows: list[tuple[str, str, str]] = []
    for file, chunks in chunks_of.items():
        where = f"in {count_noun(len(chunks), 'collection')}" if len(chunks) > 1 else ""
        rows.append((file.status, file.path, _file_remark(replace(file, chunks=sum(chunks)), where)))
    return rows


def _file_lines(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    listed = sorted((row for row in rows if row[0] != _UNREMARKABLE), key=lambda row: _ORDER.index(row[0]))
    here, shown = Path.cwd(), []
    for status, path, reason in listed[:_MOST_SHOWN]:
        relative = str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
        shown.append((status, one_line(relative), one_line(reason)))
    for line, (status, _, _) in zip(align_columns(shown), shown, strict=True):
        yield click.style(line[: len(status)], fg=_COLOURS.get(status, "green")) + line[len(status) :]
    if len(listed) > _MOST_SHOWN:
        yield f"... and {len(listed) - _MOST_SHOWN} more: --report FILE or --json lists them all."


def _file_remark(outcome: "FileOutcome", where: str = "") -> str:
    chunks = count_noun(outcome.chunks, "chunk") if outcome.chunks and outcome.status == "ok" else ""
    stale = "its last good version is kept" if outcome.stale else ""
    return "; ".join(filter(None, (f"{chunks} {where}".strip(), outcome.reason, stale)))


def _totals(report: "IngestReport") -> str:
    counts = _status_counts(report.counts)
    if report.generation is None:
        return f"{report.collection}: nothing was published ({counts})"
    what = "published as" if report.published else "nothing changed; still"
    size = f"{count_noun(report.documents, 'document')}, {count_noun(report.chunks, 'chunk')}"
    return (
        f"{report.collection}: {size}, {what} generation {report.generation} in {report.seconds:.1f} s"
        f" ({counts}; {report.embedded} embedded, {report.reused} reused)"
    )


def _status_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))


def _is_job(report: "IngestReport | JobReport") -> "TypeGuard[JobReport]":
    return hasattr(report, "job")


def _ingest_reports(report: "IngestReport | JobReport") -> "Sequence[IngestReport]":
    return report.reports if _is_job(report) else [report]  # type: ignore[list-item]  # see above


class WatchDisplay:
    """Prints the events while files are watched. `show` prints the reports of the first ingest."""

    def __init__(self, show: "Callable[[Sequence[IngestReport | JobReport]], None]") -> None:
        self._show = show
        self._watched: WatchScope | None = None
        self._shown = False
        self._notable: frozenset[str] = frozenset()

    def progress(self) -> "AbstractContextManager[ProgressListener]":
        """Show progress for the first ingest only; later ingests are short."""
        return progress_display(quiet=self._shown)

    def waiting(self, scope: "WatchScope") -> None:
        """Print the watched paths at the start and when they change."""
        if scope != self._watched:
            names = ", ".join(map(str, (*scope.folders, *scope.files)))
            click.echo(f"Watching {strip_control_characters(names)}. Press Ctrl-C to stop.", err=True)
        self._watched = scope

    def ended(self, result: "Sequence[IngestReport | JobReport]", seconds: float | None) -> None:
        """Print the report of the first ingest, or the changes of a later one."""
        before, self._notable = self._notable, frozenset(notable_lines(result))
        if seconds is None or not self._shown:
            self._shown = True
            self._show(result)
            return
        for line in (*published_lines(result, seconds), *(it for it in notable_lines(result) if it not in before)):
            click.echo(f"{_time_of_day()}  {line}")

    def failed(self, error: Exception) -> None:
        """Print why an ingest failed."""
        print_error(error if isinstance(error, EltError) else EltError(str(error)), as_json=False)

    def busy(self, error: "LockHeld") -> None:
        """Print which process holds the writer lock."""
        click.echo(f"{_time_of_day()}  Waiting: {strip_control_characters(str(error))}", err=True)


def _time_of_day() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")
