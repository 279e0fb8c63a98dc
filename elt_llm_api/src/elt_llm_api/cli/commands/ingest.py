"""`elt-llm ingest`: update collections from files and folders."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext, json_command
from elt_llm_api.cli.render.ingest import exit_code_of, plan_lines, reports_as_json, reports_lines
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import print_result

if TYPE_CHECKING:
    from elt_llm_core.settings.loader import LoadedSettings
    from elt_llm_ingest.jobs.runner import JobReport
    from elt_llm_ingest.run.report import IngestReport
    from elt_llm_ingest.session import IngestSession, IngestTask


@json_command
@click.argument("paths", nargs=-1, metavar="[PATH|URL]...")
@click.option("-c", "--collection", metavar="NAME", help="Collection to fill; created if it is new.")
@click.option("--job", metavar="FILE", help="Run a job or a list of jobs: a file, or a name in config/ingest.")
@click.option("--watch", is_flag=True, help="Keep running, and ingest again whenever a file changes.")
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@click.option(
    "--rebuild", is_flag=True, help="Read and index everything again, for example with another embedding model."
)
@click.option("--resume", is_flag=True, help="Continue after a rollback, from the published generation.")
@click.option("--allow-delete", is_flag=True, help="Remove documents even if many are missing at once.")
@click.option("--remember", is_flag=True, help="Include forgotten documents again.")
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help="Write the outcome of every file as JSON."
)
def command(  # noqa: PLR0913 - one parameter for each option
    context: CommandContext,
    /,
    paths: tuple[str, ...],
    collection: str | None,
    job: str | None,
    *,
    watch: bool,
    dry_run: bool,
    report: Path | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Ingest documents into a collection, or run a job.

    A URL (https, s3, sftp or webdav) is read only if ingest.remote.allowed_hosts contains its host.

    Without PATH or URL, the sources of earlier ingests are scanned again. Only changed files are read and embedded.
    After an interruption, readers keep the last published generation, and the same command continues.
    """
    _check_arguments(paths, collection, job)
    if watch and (dry_run or as_json):
        raise UsageError("--watch cannot be combined with --dry-run or --json.", hint="Remove --watch.")
    from elt_llm_ingest.session import IngestSession

    loaded = context.load()
    task, named = _create_task(context, loaded, paths, collection, job)
    report_file = context.working_directory / report if report else None
    if report_file is not None and not report_file.parent.is_dir():
        raise UsageError(
            f"There is no folder {report_file.parent} for the report.", hint="Create it, or name another file."
        )
    with IngestSession(task, loaded, flags, " ".join(["elt-llm ingest", *named])) as session:  # type: ignore[arg-type]
        if dry_run:
            return _print_plan(session, report_file, as_json=as_json)
        if watch:
            return _watch(session, report_file)
        reports = session.run(lambda: progress_display(quiet=as_json))
    _print_reports(reports, report_file, as_json=as_json)
    return exit_code_of(reports)


def _check_arguments(paths: tuple[str, ...], collection: str | None, job: str | None) -> None:
    """Raise UsageError if neither a collection nor a job is named, or a job together with paths or a collection."""
    if job is None and collection is None:
        raise UsageError(
            "No collection is named.", hint="Run: elt-llm ingest PATH -c NAME, or elt-llm ingest --job NAME"
        )
    if job is not None and (paths or collection is not None):
        raise UsageError("A job names its own paths and collection.", hint=f"Run: elt-llm ingest --job {job}")


def _create_task(
    context: CommandContext, loaded: "LoadedSettings", paths: tuple[str, ...], collection: str | None, job: str | None
) -> "tuple[IngestTask, list[str]]":
    """Return the task to run, and its arguments, which the lock file shows to other processes that want to write."""
    from elt_llm_ingest.session import CollectionTask, JobTask

    if job is not None:
        from elt_llm_ingest.jobs.job_file import find_job_file

        return JobTask(find_job_file(job, loaded, context.working_directory)), ["--job", job]
    from elt_llm_ingest.sources.remote import RemoteUrl, is_url

    urls = tuple(RemoteUrl.parse(path) for path in paths if is_url(path))
    local = [Path(path) for path in paths if not is_url(path)]
    absolute = tuple(context.working_directory / path.expanduser() for path in local)
    named = [*map(str, local), *(url.url for url in urls), "-c", collection or ""]
    return CollectionTask(collection or "", absolute, urls), named


def _print_plan(session: "IngestSession", report_file: Path | None, *, as_json: bool) -> int:
    plans = session.plan()
    listed = {"plans": [plan.to_json() for plan in plans]}
    _print_outcomes(listed, (line for plan in plans for line in plan_lines(plan)), report_file, as_json=as_json)
    return int(any(plan.refused for plan in plans))


def _print_reports(reports: "Sequence[IngestReport | JobReport]", report_file: Path | None, *, as_json: bool) -> None:
    _print_outcomes(reports_as_json(reports), reports_lines(reports), report_file, as_json=as_json)


def _print_outcomes(listed: Any, lines: Iterable[str], report_file: Path | None, *, as_json: bool) -> None:
    """Print the outcomes of files, and write them to the file of --report, if there is one."""
    print_result(listed, lines, as_json=as_json)
    if report_file is not None:
        report_file.write_text(json.dumps(listed, ensure_ascii=False, indent=1), encoding="utf-8")
        if not as_json:
            click.echo(f"Wrote the outcome of every file to {report_file}")


def _watch(session: "IngestSession", report_file: Path | None) -> int:
    """Ingest again after every change of the files, until interrupted."""
    from elt_llm_ingest.run.watch import FileWatcher

    from elt_llm_api.cli.render.ingest import WatchDisplay

    display = WatchDisplay(lambda reports: _print_reports(reports, report_file, as_json=False))
    FileWatcher(session.scope, lambda: session.run(display.progress), display).go()
    return 0
