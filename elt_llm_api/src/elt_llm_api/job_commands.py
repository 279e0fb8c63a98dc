"""The commands that run a job file, one for each kind of job: alike in everything but the kind."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elt_llm_api.options import CommandContext, WholeNumber, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import plain, print_json

if TYPE_CHECKING:
    from elt_llm_consumer.context import JobContext
    from elt_llm_consumer.gold.report import GoldReport
    from elt_llm_consumer.job_file import JobFile
    from elt_llm_consumer.rows import JobResult
    from elt_llm_consumer.runner_report import Cost, RunReport
    from elt_llm_consumer.tasks import Job
    from elt_llm_core.settings_loader import LoadedSettings

_OPTIONS = (
    click.option("--job", required=True, metavar="FILE", help="The job: a file, or a name in config/consumer."),
    click.option("--only", multiple=True, metavar="NAME", help="Make the row of this name or key; may be repeated."),
    click.option("--domain", metavar="D", help="Make the rows of this domain."),
    click.option("--limit", type=WholeNumber(1), metavar="N", help="Make at most so many rows."),
    click.option("--anew", is_flag=True, help="Make rows anew that are at hand; all that are chosen."),
    click.option("--dry-run", is_flag=True, help="Say what would be made and what it costs; make nothing."),
    json_option,
)
_GOLD = click.option(
    "--gold",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Say how much of the result is as the gold files there say, such as those in samples/jobs/gold.",
)


def job_command(
    kind: str,
    description: str,
    create: "Callable[[str, JobContext], Job] | None" = None,
    *,
    options: Sequence[Callable[..., Any]] = (),
    narrow: "Callable[[JobFile, dict[str, Any]], JobFile] | None" = None,
    with_gold: bool = True,
) -> click.Command:
    """The command that runs one kind of job; `create` makes the job in place of the one that ships.

    `options` are those of this kind alone, and `narrow` the job file as they change it. `with_gold` says whether
    there are files that a result of the kind can be held against.
    """

    def run(context: CommandContext, /, job: str, **given: Any) -> int:
        return _run(context, kind, job, given, create, narrow)

    run.__doc__ = f"""{description}

    Every row is kept as soon as it is made: cut it off at any time, and the same command goes on. What did not change
    is not made again. Exit code 1 if a row failed; the others are written.
    """
    wrapped: Callable[..., Any] = pass_command_context(run)
    for option in reversed((*options, *_OPTIONS, *((_GOLD,) if with_gold else ()))):
        wrapped = option(wrapped)
    return click.command(kind)(wrapped)


def load_job_file(context: CommandContext, job: str) -> "tuple[JobFile, LoadedSettings]":
    """The job file that an option names, and the settings. Raises UsageError, SettingsError."""
    from elt_llm_consumer.job_file import find_job_file, load_job

    loaded = context.load()
    return load_job(find_job_file(job, loaded, context.working_directory), loaded), loaded


def _run(
    context: CommandContext,
    kind: str,
    job: str,
    given: dict[str, Any],
    create: "Callable[[str, JobContext], Job] | None",
    narrow: "Callable[[JobFile, dict[str, Any]], JobFile] | None",
) -> int:
    file, loaded = load_job_file(context, job)
    from elt_llm_consumer.job_run import JobRequest, run_job
    from elt_llm_consumer.jobs import create_job
    from elt_llm_consumer.runner_choice import Choice

    from elt_llm_api.render_jobs import cost_lines

    as_json, dry_run = given["as_json"], given["dry_run"]
    told: list[Cost] = []

    def on_cost(cost: "Cost") -> None:
        told.append(cost)
        for line in () if as_json else cost_lines(cost, dry_run=dry_run):
            click.echo(line, err=not dry_run)

    compared: list[GoldReport] = []
    request = JobRequest(
        kind,
        narrow(file, given) if narrow else file,
        Choice(given["only"], given["domain"], given["limit"], given["anew"]),
        dry_run=dry_run,
        create=create or create_job,
        on_cost=on_cost,
        on_result=lambda result, opened: compared.extend(_against_gold(result, opened, given.get("gold"))),
        progress=lambda: progress_display(quiet=as_json),
    )
    report = run_job(request, loaded)
    if report is not None:
        _show(report, compared, context, as_json=as_json)
    elif as_json:
        print_json({"job": file.name, "kind": kind, "plan": told[0].to_json()})
    return report.exit_code if report is not None else 0


def _against_gold(result: "JobResult", opened: "JobContext", folder: Path | None) -> "list[GoldReport]":
    if folder is None:
        return []
    from elt_llm_consumer.gold.figures import corpora_of, gold_figures

    return [gold_figures(result, folder, corpora_of(opened))]


def _show(report: "RunReport", compared: "list[GoldReport]", context: CommandContext, *, as_json: bool) -> None:
    from elt_llm_api.render_jobs import print_run

    if as_json:
        print_json({**report.to_json(), **({"gold": compared[0].to_json()} if compared else {})})
        return
    print_run(report, context.working_directory)
    for line in compared[0].lines() if compared else ():
        click.echo(plain(line))
