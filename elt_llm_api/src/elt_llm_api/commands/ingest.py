"""`elt-llm ingest`: bring collections up to date with files and folders."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import print_json
from elt_llm_api.render_ingest import exit_code_of, print_plan, print_report, print_reports, reports_as_json

if TYPE_CHECKING:
    from elt_llm_core.settings_loader import LoadedSettings
    from elt_llm_ingest.jobs import JobReport
    from elt_llm_ingest.report import IngestReport
    from elt_llm_ingest.session import IngestSession, Task

__all__ = ["command", "print_report", "run_ingest"]


@dataclass(frozen=True)
class _Manner:
    """How the command was asked to go about it."""

    watch: bool
    dry_run: bool
    report: Path | None
    as_json: bool


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("-c", "--collection", metavar="NAME", help="Collection to fill; made if it is new.")
@click.option("--job", metavar="FILE", help="Run a job, or a list of them: a file, or a name in config/ingest.")
@click.option("--watch", is_flag=True, help="Go on: ingest again whenever a file changes.")
@click.option("--dry-run", is_flag=True, help="Say what would change; write nothing.")
@click.option(
    "--rebuild",
    is_flag=True,
    help="Look at every folder and index everything anew; also after a change of embedding model.",
)
@click.option("--resume", is_flag=True, help="Go on after a rollback, from the generation that is published.")
@click.option("--allow-delete", is_flag=True, help="Remove documents even if many are gone at once.")
@click.option("--remember", is_flag=True, help="Read again what was forgotten, as far as it is found.")
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help="Write what became of every file, as JSON."
)
@json_option
@pass_command_context
def command(
    context: CommandContext, /, paths: tuple[Path, ...], collection: str | None, job: str | None, **given: Any
) -> int:
    """Read documents into a collection, or run a job that says which.

    Without PATH, the folders it was filled from before are looked at again. What did not change is neither read nor
    embedded again. Cut it off at any time: readers keep the last published generation, and the same command goes on.
    """
    manner = _Manner(given.pop("watch"), given.pop("dry_run"), given.pop("report"), given.pop("as_json"))
    _check(paths, collection, job, manner)
    loaded = context.load()
    task, named = _task(context, loaded, paths, collection, job)
    report_file = context.working_directory / manner.report if manner.report else None
    if report_file is not None and not report_file.parent.is_dir():
        raise UsageError(f"There is no folder {report_file.parent} for the report.")
    with _session(task, loaded, given, " ".join(["elt-llm ingest", *named])) as session:
        if manner.dry_run:
            return _show_plan(session, report_file, as_json=manner.as_json)
        if manner.watch:
            return _watch(session, report_file)
        reports = session.run(lambda: progress_display(quiet=manner.as_json))
    _show(reports, report_file, as_json=manner.as_json)
    return exit_code_of(reports)


def run_ingest(
    context: CommandContext, collection: str, paths: tuple[Path, ...], *, command_line: str, quiet: bool
) -> "IngestReport":
    """Ingest paths into a collection, and no more."""
    from elt_llm_ingest.session import ByHand

    with _session(ByHand(collection, paths), context.load(), {}, command_line) as session:
        [report] = session.run(lambda: progress_display(quiet=quiet))
    return report  # type: ignore[return-value]  # what is done by hand has one report, and that is no job's


def _check(paths: tuple[Path, ...], collection: str | None, job: str | None, manner: _Manner) -> None:
    """Raises UsageError for what does not go together."""
    if job is None and collection is None:
        raise UsageError(
            "No collection is named.", hint="Run: elt-llm ingest PATH -c NAME, or elt-llm ingest --job NAME"
        )
    if job is not None and (paths or collection is not None):
        raise UsageError("A job names its own paths and collection.", hint=f"Run: elt-llm ingest --job {job}")
    if manner.watch and (manner.dry_run or manner.as_json):
        raise UsageError("--watch goes on and on: it has neither --dry-run nor --json.", hint="Leave --watch out.")


def _task(
    context: CommandContext, loaded: "LoadedSettings", paths: tuple[Path, ...], collection: str | None, job: str | None
) -> "tuple[Task, list[str]]":
    """What to ingest, and how a command line names it."""
    from elt_llm_ingest.session import ByHand, ByJob

    if job is not None:
        from elt_llm_ingest.job_file import find_job_file

        return ByJob(find_job_file(job, loaded, context.working_directory)), ["--job", job]
    absolute = tuple(context.working_directory / path.expanduser() for path in paths)
    return ByHand(collection or "", absolute), [*map(str, paths), "-c", collection or ""]


def _session(task: "Task", loaded: "LoadedSettings", flags: Any, command_line: str) -> "IngestSession":
    from elt_llm_ingest.session import IngestSession

    return IngestSession(task, loaded, flags, command_line)


def _show_plan(session: "IngestSession", report_file: Path | None, *, as_json: bool) -> int:
    plans = session.plan()
    listed = {"plans": [plan.to_json() for plan in plans]}
    if as_json:
        print_json(listed)
    else:
        for plan in plans:
            print_plan(plan)
    _write(listed, report_file, quiet=as_json)
    return int(any(plan.refused for plan in plans))


def _show(reports: "Sequence[IngestReport | JobReport]", report_file: Path | None, *, as_json: bool) -> None:
    listed = reports_as_json(reports)
    if as_json:
        print_json(listed)
    else:
        print_reports(reports)
    _write(listed, report_file, quiet=as_json)


def _write(listed: Any, report_file: Path | None, *, quiet: bool) -> None:
    if report_file is not None:
        report_file.write_text(json.dumps(listed, ensure_ascii=False, indent=1), encoding="utf-8")
        if not quiet:
            click.echo(f"Every file is listed in {report_file}")


def _watch(session: "IngestSession", report_file: Path | None) -> int:
    """Until it is interrupted."""
    from elt_llm_ingest.watch import Watch

    from elt_llm_api.watch_display import WatchDisplay

    display = WatchDisplay(lambda reports: _show(reports, report_file, as_json=False))
    Watch(session.scope, lambda: session.run(display.progress), display).go()
    return 0
