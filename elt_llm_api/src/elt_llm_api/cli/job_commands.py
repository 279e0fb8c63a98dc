"""The commands that run job files, one per kind of job, and the options of the review commands."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext, WholeNumber, json_option, pass_command_context
from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import align_columns, one_line, print_json, print_result, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_consumer.evidence import JobResult
    from elt_llm_consumer.jobs.context import JobContext
    from elt_llm_consumer.jobs.job_file import JobFile
    from elt_llm_consumer.jobs.tasks import BatchJob
    from elt_llm_consumer.review.gold import GoldReport
    from elt_llm_consumer.runner.costs import RunCost, RunReport
    from elt_llm_core.settings.loader import LoadedSettings
    from elt_llm_core.state.jobs import JobName
    from elt_llm_core.store.database import Database

Function = TypeVar("Function", bound=Callable[..., Any])
_JOB_OPTION = click.option(
    "--job", required=True, metavar="FILE", help="The job: a file, or a name in config/consumer."
)
_OPTIONS: tuple[Callable[..., Any], ...] = (
    _JOB_OPTION,
    click.option(
        "--only", multiple=True, metavar="NAME", help="Generate only the row of this name or key; may be repeated."
    ),
    click.option("--domain", metavar="D", help="Generate only the rows of this domain."),
    click.option("--limit", type=WholeNumber(1), metavar="N", help="Generate at most N rows."),
    click.option("--anew", is_flag=True, help="Regenerate stored rows too."),
    click.option("--dry-run", is_flag=True, help="Show the rows and their cost; generate nothing."),
    json_option,
)
_GOLD_OPTION = click.option(
    "--gold",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Compare the result with the gold files in FOLDER, such as samples/jobs/gold.",
)


def job_command(
    kind: str,
    description: str,
    create: "Callable[[str, JobContext], BatchJob] | None" = None,
    options: Sequence[Callable[..., Any]] = (*_OPTIONS, _GOLD_OPTION),
) -> click.Command:
    """Build the command that runs one kind of job. `create` creates the job; by default, `create_job` does."""

    def run(context: CommandContext, /, job: str, **values: Any) -> int:
        return _run_job(context, kind, job, values, create)

    run.__doc__ = f"""{description}

    Each row is stored as soon as it is generated: after an interruption the same command continues. Rows whose sources
    and settings are unchanged are not generated again. Exit code 1 if a row failed; the others are written.
    """
    wrapped: Callable[..., Any] = pass_command_context(run)
    for option in reversed(options):
        wrapped = option(wrapped)
    return click.command(kind)(wrapped)


def load_job_file(context: CommandContext, job: str) -> "tuple[JobFile, LoadedSettings]":
    """Load the settings and the job file: a path, or a name in config/consumer. Raises UsageError, SettingsError."""
    from elt_llm_consumer.jobs.job_file import find_job_file, load_job

    loaded = context.load()
    return load_job(find_job_file(job, loaded, context.working_directory), loaded), loaded


def _run_job(
    context: CommandContext,
    kind: str,
    job: str,
    values: dict[str, Any],
    create: "Callable[[str, JobContext], BatchJob] | None",
) -> int:
    file, loaded = load_job_file(context, job)
    from elt_llm_consumer.runner.plan import RowSelection
    from elt_llm_consumer.runner.run import JobRequest, create_job, run_job

    as_json, dry_run = values["as_json"], values["dry_run"]
    costs: list[RunCost] = []

    def on_cost(cost: "RunCost") -> None:
        costs.append(cost)
        for line in () if as_json else message_lines("cost", cost=cost, dry_run=dry_run):
            click.echo(line, err=not dry_run)

    compared: list[GoldReport] = []
    request = JobRequest(
        kind,
        file.with_topics(values.get("topics") or ()),
        RowSelection(values["only"], values["domain"], values["limit"], values["anew"]),
        dry_run=dry_run,
        create=create or create_job,
        on_cost=on_cost,
        on_result=lambda result, opened: compared.extend(_compare_with_gold(result, opened, values.get("gold"))),
        progress=lambda: progress_display(quiet=as_json),
    )
    report = run_job(request, loaded)
    if report is not None:
        _print_result(report, compared, context, as_json=as_json)
    elif as_json:
        print_json({"job": file.name, "kind": kind, "plan": costs[0].to_json()})
    return report.exit_code if report is not None else 0


def _compare_with_gold(result: "JobResult", opened: "JobContext", folder: Path | None) -> "list[GoldReport]":
    if folder is None:
        return []
    from elt_llm_consumer.jobs.row_keys import SourceDocuments
    from elt_llm_consumer.review.gold import compare_with_gold

    return [compare_with_gold(result, folder, SourceDocuments(opened).corpora)]


def _print_result(report: "RunReport", compared: "list[GoldReport]", context: CommandContext, *, as_json: bool) -> None:
    here, paths = context.working_directory, map(Path, report.files)
    files = [str(path.relative_to(here) if path.is_relative_to(here) else path) for path in paths]
    figures = [
        (one_line(name), f"{value:,}" if isinstance(value, int) else one_line(str(value)))
        for name, value in report.figures.items()
    ]
    lines = message_lines("run", report=report, figures=align_columns(figures), files=files)
    document = {**report.to_json(), **({"gold": compared[0].to_json()} if compared else {})}
    gold_lines = (strip_control_characters(line) for gold in compared for line in gold.lines())
    print_result(document, chain(lines, gold_lines), as_json=as_json)


_TOPICS_OPTION = click.option(
    "--topics",
    multiple=True,
    metavar="WORDS",
    help="Show only entities and relationships from text about these words; may be repeated.",
)
glossary_command = job_command("glossary", "Collect every term that the documents define, with its definition.")
catalog_command = job_command("catalog", "Describe every entity of the model from documents, model and inventory.")
coverage_command = job_command("coverage", "Show how well the documents cover each entity, and the gaps on both sides.")
handbook_command = job_command(
    "handbook",
    "Derive entities and relationships from the documents alone.",
    options=(_TOPICS_OPTION, *_OPTIONS),
)


@dataclass(frozen=True)
class ReviewedJob:
    """A job with stored results, and the open state database."""

    name: "JobName"
    file: "JobFile"
    loaded: "LoadedSettings"
    state: "Database"


def review_options(function: Function) -> Function:
    """Add the options `--job` and `--kind` to a command."""
    kind = click.option("--kind", metavar="K", help="Kind of the job; optional if the job ran as one kind.")
    return _JOB_OPTION(kind(function))


@contextmanager
def open_reviewed_job(context: CommandContext, job: str, kind: str | None) -> Iterator[ReviewedJob]:
    """Open the stored results of a job. Raises UsageError if there are none, or of several kinds if `kind` is None."""
    from elt_llm_consumer.jobs.tasks import JOB_KINDS
    from elt_llm_consumer.review.reviews import written_kinds
    from elt_llm_core.state.database import open_state
    from elt_llm_core.state.jobs import JobName

    file, loaded = load_job_file(context, job)
    if kind is not None and kind not in JOB_KINDS:
        raise UsageError(f"There is no kind of job '{kind}'.", hint=f"Kinds are: {', '.join(JOB_KINDS)}.")
    with closing(open_state(loaded.workspace)) as state:
        shown = written_kinds(state, file.name, (kind,) if kind else JOB_KINDS)
        if not shown:
            what = kind or "KIND"
            raise UsageError(f"Job '{file.name}' has no results yet.", hint=f"Run: elt-llm {what} --job {job}")
        if len(shown) > 1:
            raise UsageError(
                f"Job '{file.name}' has rows of several kinds.", hint=f"Add --kind with one of: {', '.join(shown)}."
            )
        yield ReviewedJob(JobName(file.name, shown[0]), file, loaded, state)
