"""Run a job file: open the job, plan, make the rows, apply reviews, write outputs and records of their inputs."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_core.errors import UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import ProgressListener, SilentListener
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobName, JobReviewTable, JobRowTable, QuotedDocument, RowId, job_lock
from elt_llm_core.store.database import Database

from elt_llm_consumer.catalog.job import CatalogJob
from elt_llm_consumer.coverage.job import CoverageJob
from elt_llm_consumer.evidence import JobResult, hash_json
from elt_llm_consumer.export.write import write_outputs
from elt_llm_consumer.glossary.job import GlossaryJob
from elt_llm_consumer.handbook.job import HandbookJob
from elt_llm_consumer.jobs.context import JobContext, open_job
from elt_llm_consumer.jobs.job_file import JobFile, read_source_file
from elt_llm_consumer.jobs.row_keys import SourceDocuments, model_name
from elt_llm_consumer.jobs.tasks import JOB_KINDS, BatchJob
from elt_llm_consumer.review.curated import CuratedFile, CuratedValues
from elt_llm_consumer.review.reviews import attach_reviews, map_rows, reviews_of_rows, shown_rows
from elt_llm_consumer.runner.costs import RunCost, RunReport
from elt_llm_consumer.runner.plan import RowSelection, RunPlan
from elt_llm_consumer.runner.receipts import write_receipts
from elt_llm_consumer.runner.row_runner import JobRunner, RunResult

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


def create_job(kind: str, context: JobContext) -> BatchJob:
    """Create a job of this kind. Raises UsageError for an unknown kind and for missing sources."""
    for job in (GlossaryJob, CatalogJob, CoverageJob, HandbookJob):
        if job.kind == kind:
            return job(context)
    raise UsageError(f"There is no job kind '{kind}'.", hint=f"Kinds are: {', '.join(JOB_KINDS)}.")


def recipe_number(kind: str) -> int:
    """Return the version number of a job kind's prompts.

    Increase it when a change in the program gives other rows for the same inputs. All rows that a model writes are then
    made again, at full cost. The other rows are remade after every change of the program, since they cost little.
    """
    return {"catalog": 3, "glossary": 2, "handbook": 3}.get(kind, 1)


_MAX_NAMED = 20


def read_curated(context: JobContext, kind: str, loaded: LoadedSettings) -> CuratedValues:
    """Read the curated values. Raises SettingsError, with the line of each mistake, if their file is invalid."""
    given = read_source_file(context.file, "curated", CuratedFile, loaded)
    return CuratedValues(given.overrides if given else (), kind, SourceDocuments(context).corpora)


def finish_result(
    job: BatchJob, plan: RunPlan, ran: RunResult, curated: CuratedValues, state: Database, name: JobName
) -> JobResult:
    """Return the result of a job with curated values, reviews, and notes on missing rows and on mistakes."""
    rows = [curated.row(place.table, row) for place, row in ran.rows.items()]
    result = map_rows(job.result(rows), curated.row)
    waiting = [(task.table, task.key, task.name) for task in plan.tasks if task.place not in ran.rows]
    notes = [*result.notes]
    if ran.missing:
        named = ", ".join(ran.missing[:_MAX_NAMED])
        more = f" and {len(ran.missing) - _MAX_NAMED} more" if len(ran.missing) > _MAX_NAMED else ""
        notes.append(f"Not complete: {len(ran.missing)} of {len(plan.tasks)} rows are missing: {named}{more}.")
    notes += curated.problems(result, waiting)
    reviews = reviews_of_rows(result, state, name, [task.place for task in plan.tasks])
    return attach_reviews(result.model_copy(update={"notes": tuple(notes)}), reviews)


def store_shown_rows(result: JobResult, state: Database, name: JobName) -> None:
    """Store the rows as the output shows them, because reviews refer to these rows."""
    rows, reviews = JobRowTable(state), JobReviewTable(state)
    read: Mapping[RowId, frozenset[QuotedDocument]] = {
        place: frozenset().union(*(row.documents for row in kept)) for place, kept in rows.all(name).items()
    }
    shown = shown_rows(result, read)
    rows.show(name, shown)
    known = reviews.all(name)
    for row in shown:
        review = known.get(row.place)
        if review is not None and review.digest == row.digest and review.documents != row.documents:
            reviews.rest_on(name, row.place, row.documents)


_UNSAFE_CHARACTERS = re.compile(r"[^\w.]+")
ShowProgress = Callable[[], AbstractContextManager[ProgressListener]]


@dataclass(frozen=True)
class JobRequest:
    """A job to run. `create` makes the job; `embedding` and `llm` replace the configured models.

    `on_cost` receives the estimated cost before any row is made. A `dry_run` ends after this call. `on_result` receives
    the result that was written, and the context of the job.
    """

    kind: str
    file: JobFile
    choice: RowSelection = RowSelection()  # noqa: RUF009 - it is immutable, so all requests may share it
    dry_run: bool = False
    create: Callable[[str, JobContext], BatchJob] = create_job
    on_cost: Callable[[RunCost], None] = lambda _: None
    on_result: Callable[[JobResult, JobContext], None] = lambda _, __: None
    progress: ShowProgress = lambda: nullcontext(SilentListener())
    embedding: EmbeddingModel | None = None
    llm: "LLM | None" = None

    @property
    def name(self) -> JobName:
        """The name under which the rows of this job are stored."""
        return JobName(self.file.name, self.kind)


def run_job(request: JobRequest, loaded: LoadedSettings) -> RunReport | None:
    """Run a job and reuse stored rows. Returns None after a dry run.

    Failed rows are in the report. Finished rows are always stored, and a repeated call reuses them. Raises LockHeld if
    another process runs the job, UsageError or SettingsError if the request or a file is wrong, StoreError if rows or
    outputs cannot be written, and the errors of `open_job`.
    """
    began = time.monotonic()
    lock = nullcontext() if request.dry_run else job_lock(loaded.workspace, request.name)
    with (
        lock,
        open_job(request.file, loaded, embedding=request.embedding, llm=request.llm) as context,
        closing(open_state(loaded.workspace)) as state,
    ):
        job = request.create(request.kind, context)
        curated = read_curated(context, request.kind, loaded)

        def runner(progress: ProgressListener) -> JobRunner:
            recipe = recipe_number(request.kind)
            return JobRunner(job, context, request.name, JobRowTable(state), progress, recipe)

        with request.progress() as progress:
            plan = runner(progress).plan(request.choice)
        request.on_cost(plan.cost)
        if request.dry_run:
            return None
        with request.progress() as progress:
            ran = runner(progress).run(plan)
        result = finish_result(job, plan, ran, curated, state, request.name)
        files: list[Path] = []
        if ran.rows or not ran.missing:  # if all rows are missing, the output files of the former run are kept
            files = _write_files(result, context, plan, ran)
            store_shown_rows(result, state, request.name)
        request.on_result(result, context)
        return _report(result, context, plan, ran, files, time.monotonic() - began)


def _write_files(result: JobResult, context: JobContext, plan: RunPlan, ran: RunResult) -> list[Path]:
    """Write the outputs, each with a receipt (the record of what the run read and wrote). Return their paths."""
    file, outputs = context.file, context.file.spec.outputs
    files = write_outputs(result, outputs, file.folder / outputs.folder, _output_name(file, result.kind))
    prompts = hash_json([plan.prompts_hash.get(place, "") for place in ran.rows])
    write_receipts(files, result, context, recipe_number(result.kind), prompts)
    return files


def _report(
    result: JobResult, context: JobContext, plan: RunPlan, ran: RunResult, files: Sequence[Path], seconds: float
) -> RunReport:
    nothing = () if files else ("No output was written, because no row was made.",)
    return RunReport(
        job=context.file.name,
        kind=result.kind,
        rows=len(plan.tasks),
        made=ran.made,
        kept=len(ran.rows) - ran.made,
        failures=tuple(ran.failures),
        left_out=len(ran.missing) - sum(RowId(it.table, it.key) not in ran.rows for it in ran.failures),
        spent=ran.spent,
        model=model_name(context),
        figures=dict(result.figures),
        notes=(*result.notes, *ran.notes, *nothing),
        files=tuple(map(str, files)),
        seconds=round(seconds, 1),
    )


def _output_name(file: JobFile, kind: str) -> str:
    """Return the name of the output files: job and kind, since one job file may serve all kinds.

    If the job file is outside of the configuration folder, its path is part of the name, so that jobs with equal names
    do not overwrite each other's files.
    """
    job = file.name
    if job != file.path.stem:
        job = _UNSAFE_CHARACTERS.sub("-", str(Path(job).with_suffix(""))).strip("-")
    return job if job == kind else f"{job}-{kind}"
