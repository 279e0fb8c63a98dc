"""One run of a job file: opened, planned, made, finished, written, with a receipt beside each file."""

import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import Progress, SilentProgress
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.job_lock import job_lock
from elt_llm_core.state.rows import JobName, JobRows, Place
from elt_llm_core.store.database import Database

from elt_llm_consumer.context import JobContext, open_job
from elt_llm_consumer.finishing import finished, read_curated, show
from elt_llm_consumer.hashing import hashed
from elt_llm_consumer.job_file import JobFile
from elt_llm_consumer.jobs import create_job, recipe_of
from elt_llm_consumer.rows import JobResult
from elt_llm_consumer.runner import JobRunner, Ran
from elt_llm_consumer.runner_choice import Choice
from elt_llm_consumer.runner_key import model_name
from elt_llm_consumer.runner_plan import Plan
from elt_llm_consumer.runner_report import Cost, RunReport
from elt_llm_consumer.tasks import Job

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

_UNFIT = re.compile(r"[^\w.]+")
ShowProgress = Callable[[], AbstractContextManager[Progress]]


def _silent() -> AbstractContextManager[Progress]:
    return nullcontext(SilentProgress())


@dataclass(frozen=True)
class JobRequest:
    """What is to be run: `create` makes the job of the kind, `embedding` and `llm` take the place of configured ones.

    `on_cost` is told what there is to do before any row is made; a `dry_run` ends with that. `on_result` is told what
    was found, with the context that it was found in, after it is written.
    """

    kind: str
    file: JobFile
    choice: Choice = Choice()  # noqa: RUF009 - frozen, and as good as a literal
    dry_run: bool = False
    create: Callable[[str, JobContext], Job] = create_job
    on_cost: Callable[[Cost], None] = lambda _: None
    on_result: Callable[[JobResult, JobContext], None] = lambda _, __: None
    progress: ShowProgress = _silent
    embedding: EmbeddingModel | None = None
    llm: "LLM | None" = None

    @property
    def name(self) -> JobName:
        """What its rows are kept by."""
        return JobName(self.file.name, self.kind)


def run_job(request: JobRequest, loaded: LoadedSettings) -> RunReport | None:
    """Run a job as far as it was not run before; None after a dry run.

    Raises LockHeld if another process runs it, UsageError, SettingsError, StoreError, and as `open_job` does. Rows that
    fail are in the report. However it ends, finished rows are kept, and the same call goes on from them.
    """
    began = time.monotonic()
    lock = nullcontext() if request.dry_run else job_lock(loaded.data_dir, request.name)
    with (
        lock,
        open_job(request.file, loaded, embedding=request.embedding, llm=request.llm) as opened,
        closing(open_state(loaded.data_dir)) as state,
    ):
        run = _Run(request, opened.context, loaded, state)
        plan = run.plan()
        request.on_cost(plan.cost)
        return None if request.dry_run else run.carried_out(plan, began)


class _Run:
    """A run with all that it needs open."""

    def __init__(self, request: JobRequest, context: JobContext, loaded: LoadedSettings, state: Database) -> None:
        self._request, self._context, self._state = request, context, state
        self._recipe = recipe_of(request.kind)
        self._job = request.create(request.kind, context)
        self._curated = read_curated(context, request.kind, loaded)

    def plan(self) -> Plan:
        with self._request.progress() as progress:
            return self._runner(progress).plan(self._request.choice)

    def carried_out(self, plan: Plan, began: float) -> RunReport:
        with self._request.progress() as progress:
            ran = self._runner(progress).run(plan)
        result = finished(self._job, plan, ran, self._curated, self._state, self._request.name)
        files = self._written(result, plan, ran)
        self._request.on_result(result, self._context)
        return self._report(result, plan, ran, files, time.monotonic() - began)

    def _runner(self, progress: Progress) -> JobRunner:
        rows = JobRows(self._state)
        return JobRunner(self._job, self._context, self._request.name, rows, progress, self._recipe)

    def _written(self, result: JobResult, plan: Plan, ran: Ran) -> Sequence[Path]:
        """The outputs; none where every row is missing, for what was written before is better than nothing."""
        if ran.missing and not ran.rows:
            return ()
        from elt_llm_consumer.export.write import write_outputs
        from elt_llm_consumer.receipts import write_receipts

        file = self._context.file
        outputs = file.spec.outputs
        folder = file.folder / outputs.folder
        files = write_outputs(result, outputs, folder, _name(file, self._request.kind))
        prompts = hashed([plan.prompts_hash.get(place, "") for place in ran.rows])
        write_receipts(files, result, self._context, self._recipe, prompts)
        show(result, self._state, self._request.name)
        return files

    def _report(self, result: JobResult, plan: Plan, ran: Ran, files: Sequence[Path], seconds: float) -> RunReport:
        return RunReport(
            job=self._request.name.job,
            kind=self._request.kind,
            rows=len(plan.tasks),
            made=ran.made,
            kept=len(ran.rows) - ran.made,
            failures=tuple(ran.failures),
            left_out=len(ran.missing) - sum(Place(it.table, it.key) not in ran.rows for it in ran.failures),
            spent=ran.spent,
            model=model_name(self._context),
            figures=dict(result.figures),
            notes=(*result.notes, *ran.notes, *(() if files else ("Nothing was written: there is no row.",))),
            files=tuple(map(str, files)),
            seconds=round(seconds, 1),
        )


def _name(file: JobFile, kind: str) -> str:
    """What the files of a job are called: by job and kind, for one job file may serve all kinds.

    A job file elsewhere gives its path, too: two of one name would write over each other's files.
    """
    job = file.name if file.name == file.path.stem else _UNFIT.sub("-", str(Path(file.name).with_suffix(""))).strip("-")
    return job if job == kind else f"{job}-{kind}"
