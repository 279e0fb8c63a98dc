"""Run a job file: open the job, plan, make the rows, apply reviews, and write outputs with receipts."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import ProgressListener, SilentListener
from elt_llm_core.settings.loader import LoadedSettings, read_model
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobName, JobReviewTable, JobRowTable, QuotedDocument, RowId, job_lock
from elt_llm_core.store.database import Database

from elt_llm_consumer.evidence import JobResult, hash_json
from elt_llm_consumer.jobs.context import JobContext, open_job
from elt_llm_consumer.jobs.job_file import JobFile
from elt_llm_consumer.jobs.row_keys import SourceDocuments, model_name
from elt_llm_consumer.jobs.tasks import JOB_KINDS, BatchJob
from elt_llm_consumer.review.curated import CuratedFile, CuratedValues
from elt_llm_consumer.review.reviews import attach_reviews, shown_rows
from elt_llm_consumer.runner.costs import RunCost, RunReport
from elt_llm_consumer.runner.plan import RowSelection, RunPlan, row_place
from elt_llm_consumer.runner.row_runner import JobRunner, RunResult

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


def create_job(kind: str, context: JobContext) -> BatchJob:
    """Create a job of this kind. Raises UsageError for an unknown kind and for missing sources."""
    match kind:
        case "glossary":
            from elt_llm_consumer.glossary.job import GlossaryJob

            return GlossaryJob(context)
        case "catalog":
            from elt_llm_consumer.catalog.job import CatalogJob

            return CatalogJob(context)
        case "coverage":
            from elt_llm_consumer.coverage.job import CoverageJob

            return CoverageJob(context)
        case "handbook":
            from elt_llm_consumer.handbook.job import HandbookJob

            return HandbookJob(context)
        case _:
            raise UsageError(f"There is no job kind '{kind}'.", hint=f"Kinds are: {', '.join(JOB_KINDS)}.")


def recipe_number(kind: str) -> int:
    """Return the version of the prompts of a kind of job.

    A higher number remakes all rows at full cost. Raise the number when equal inputs give another row. Rows that no
    model writes are remade by every new version of the program, since they cost little.
    """
    recipes: dict[str, int] = {"catalog": 3, "glossary": 2, "handbook": 3}
    return recipes.get(kind, 1)


_MAX_NAMED = 20


def read_curated(context: JobContext, kind: str, loaded: LoadedSettings) -> CuratedValues:
    """Read the curated values. Raises SettingsError with the line of each mistake."""
    given = context.file.spec.sources.curated
    corpora = SourceDocuments(context).corpora
    if given is None:
        return CuratedValues((), kind, corpora)
    path = context.file.folder / Path(given)
    if not path.is_file():
        raise SettingsError(f"sources.curated: {path} is not a file", hint="Correct or remove the path.")
    return CuratedValues(read_model(path, CuratedFile, loaded.project).overrides, kind, corpora)


def finish_result(
    job: BatchJob, plan: RunPlan, ran: RunResult, curated: CuratedValues, state: Database, name: JobName
) -> JobResult:
    """Return the final result, which is equal for equal rows, reviews and curated values."""
    rows = [curated.row(place.table, row) for place, row in ran.rows.items()]
    result = curated.result(job.result(rows))
    waiting = [(task.table, task.key, task.name) for task in plan.tasks if row_place(task) not in ran.rows]
    notes = (*result.notes, *_missing_rows_note(plan, ran), *curated.problems(result, waiting))
    return attach_reviews(result.model_copy(update={"notes": notes}), JobReviewTable(state).all(name))


def store_shown_rows(result: JobResult, state: Database, name: JobName) -> None:
    """Store the rows of an output, to which reviews refer."""
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


def _missing_rows_note(plan: RunPlan, ran: RunResult) -> list[str]:
    if not ran.missing:
        return []
    named = ", ".join(ran.missing[:_MAX_NAMED])
    more = f" and {len(ran.missing) - _MAX_NAMED} more" if len(ran.missing) > _MAX_NAMED else ""
    return [f"Not complete: {len(ran.missing)} of {len(plan.tasks)} rows are missing: {named}{more}."]


_UNSAFE_CHARACTERS = re.compile(r"[^\w.]+")
ShowProgress = Callable[[], AbstractContextManager[ProgressListener]]


def _no_progress() -> AbstractContextManager[ProgressListener]:
    return nullcontext(SilentListener())


@dataclass(frozen=True)
class JobRequest:
    """A job to run. `create` makes the job; `embedding` and `llm` replace the configured models.

    `on_cost` receives the cost before any row is made. A `dry_run` ends after `on_cost`. `on_result` receives the
    written result with the context of the job.
    """

    kind: str
    file: JobFile
    choice: RowSelection = RowSelection()  # noqa: RUF009 - frozen, and as good as a literal
    dry_run: bool = False
    create: Callable[[str, JobContext], BatchJob] = create_job
    on_cost: Callable[[RunCost], None] = lambda _: None
    on_result: Callable[[JobResult, JobContext], None] = lambda _, __: None
    progress: ShowProgress = _no_progress
    embedding: EmbeddingModel | None = None
    llm: "LLM | None" = None

    @property
    def name(self) -> JobName:
        """The name under which rows are stored."""
        return JobName(self.file.name, self.kind)


def run_job(request: JobRequest, loaded: LoadedSettings) -> RunReport | None:
    """Run a job and reuse stored rows. Returns None after a dry run.

    Raises LockHeld if another process runs the job, UsageError, SettingsError, StoreError, and the errors of
    `open_job`. Failed rows are in the report. Finished rows are always stored, and a repeated call reuses them.
    """
    began = time.monotonic()
    lock = nullcontext() if request.dry_run else job_lock(loaded.data_dir, request.name)
    with (
        lock,
        open_job(request.file, loaded, embedding=request.embedding, llm=request.llm) as opened,
        closing(open_state(loaded.data_dir)) as state,
    ):
        run = _JobRun(request, opened.context, loaded, state)
        plan = run.plan()
        request.on_cost(plan.cost)
        return None if request.dry_run else run.carried_out(plan, began)


class _JobRun:
    """A run of a job with its open resources."""

    def __init__(self, request: JobRequest, context: JobContext, loaded: LoadedSettings, state: Database) -> None:
        self._request, self._context, self._state = request, context, state
        self._recipe = recipe_number(request.kind)
        self._job = request.create(request.kind, context)
        self._curated = read_curated(context, request.kind, loaded)

    def plan(self) -> RunPlan:
        with self._request.progress() as progress:
            return self._runner(progress).plan(self._request.choice)

    def carried_out(self, plan: RunPlan, began: float) -> RunReport:
        with self._request.progress() as progress:
            ran = self._runner(progress).run(plan)
        result = finish_result(self._job, plan, ran, self._curated, self._state, self._request.name)
        files = self._written(result, plan, ran)
        self._request.on_result(result, self._context)
        return self._report(result, plan, ran, files, time.monotonic() - began)

    def _runner(self, progress: ProgressListener) -> JobRunner:
        rows = JobRowTable(self._state)
        return JobRunner(self._job, self._context, self._request.name, rows, progress, self._recipe)

    def _written(self, result: JobResult, plan: RunPlan, ran: RunResult) -> Sequence[Path]:
        """Write the outputs. If every row is missing, write nothing and keep the former files."""
        if ran.missing and not ran.rows:
            return ()
        from elt_llm_consumer.export.write import write_outputs
        from elt_llm_consumer.runner.receipts import write_receipts

        file = self._context.file
        outputs = file.spec.outputs
        folder = file.folder / outputs.folder
        files = write_outputs(result, outputs, folder, _output_name(file, self._request.kind))
        prompts = hash_json([plan.prompts_hash.get(place, "") for place in ran.rows])
        write_receipts(files, result, self._context, self._recipe, prompts)
        store_shown_rows(result, self._state, self._request.name)
        return files

    def _report(
        self, result: JobResult, plan: RunPlan, ran: RunResult, files: Sequence[Path], seconds: float
    ) -> RunReport:
        return RunReport(
            job=self._request.name.job,
            kind=self._request.kind,
            rows=len(plan.tasks),
            made=ran.made,
            kept=len(ran.rows) - ran.made,
            failures=tuple(ran.failures),
            left_out=len(ran.missing) - sum(RowId(it.table, it.key) not in ran.rows for it in ran.failures),
            spent=ran.spent,
            model=model_name(self._context),
            figures=dict(result.figures),
            notes=(
                *result.notes,
                *ran.notes,
                *(() if files else ("No output was written, because there are no rows.",)),
            ),
            files=tuple(map(str, files)),
            seconds=round(seconds, 1),
        )


def _output_name(file: JobFile, kind: str) -> str:
    """Return the name of the output files: job and kind, since one job file may serve all kinds.

    For a job file outside of the configuration, the name contains the path, so that jobs with equal names do not
    overwrite each other's files.
    """
    job = (
        file.name
        if file.name == file.path.stem
        else _UNSAFE_CHARACTERS.sub("-", str(Path(file.name).with_suffix(""))).strip("-")
    )
    return job if job == kind else f"{job}-{kind}"
