"""Make the rows of a job in parallel, and store each finished row at once, so that no row is made twice."""

import time
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event

from elt_llm_core.errors import ModelMissing, ModelUnavailable, StoreError
from elt_llm_core.progress import ProgressListener
from elt_llm_core.state.jobs import JobName, JobRowTable, RowId, StoredRow

from elt_llm_consumer.evidence import Row
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.row_keys import RowKeys, SourceDocuments
from elt_llm_consumer.jobs.tasks import BatchJob, RowTask
from elt_llm_consumer.runner.costs import ModelUsage, RowFailure, RowPrompter, TokenCounter, row_failure
from elt_llm_consumer.runner.plan import ROW_ERRORS, PlannedRow, RowSelection, RunPlan, RunPlanner, row_place
from elt_llm_consumer.runner.workers import in_parallel

_MAX_MODEL_FAILURES = 3  # consecutive rows that may fail because the model is unreachable


@dataclass
class RunResult:
    """The rows after a run in the order of the job, the number of new rows, the failures, and the model usage."""

    rows: dict[RowId, Row] = field(default_factory=dict)
    made: int = 0
    failures: list[RowFailure] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """The names of the missing rows."""
    spent: ModelUsage = field(default_factory=ModelUsage)
    notes: list[str] = field(default_factory=list)


class JobRunner:
    """Makes the rows of one job. `recipe` is the version of the job's prompts."""

    def __init__(
        self,
        job: BatchJob,
        context: JobContext,
        name: JobName,
        rows: JobRowTable,
        progress: ProgressListener,
        recipe: int = 1,
    ) -> None:
        self._job, self._context, self._name, self._rows, self._progress = job, context, name, rows, progress
        self._sources = SourceDocuments(context)
        self._keys = RowKeys(context, job.kind, recipe)
        self._tokens = TokenCounter()
        self._over = Event()
        self._spent: list[ModelUsage] = []

    def plan(self, choice: RowSelection) -> RunPlan:
        """Plan a run without making rows. Raises UsageError."""
        planner = RunPlanner(self._context, self._name, self._rows, self._keys, self._sources, self._progress)
        return planner.plan(self._job.tasks(), choice)

    def run(self, plan: RunPlan) -> RunResult:
        """Make the planned rows, as many at once as the job file allows.

        A failed row is reported and the others continue. An interruption keeps every finished row.
        """
        self._over, self._spent = Event(), []
        for kept in plan.refreshed:
            self._rows.put(self._name, kept)
        ran = RunResult(failures=list(plan.failures))
        rows = {**plan.at_hand, **self._make(plan, ran)}
        order = {row_place(task): number for number, task in enumerate(plan.tasks)}
        ran.failures.sort(key=lambda failure: order[RowId(failure.table, failure.key)])
        ran.rows = {place: rows[place] for place in order if place in rows}
        ran.missing = [task.name for task in plan.tasks if row_place(task) not in rows]
        if not plan.is_partial and not ran.failures:
            self._rows.keep_only(self._name, set(order))
        return ran

    def _make(self, plan: RunPlan, ran: RunResult) -> dict[RowId, Row]:
        made: dict[RowId, Row] = {}
        out_of_reach = 0
        self._progress.stage("rows", len(plan.to_make))
        at_once = self._context.file.spec.running.rows_at_once
        with closing(in_parallel(plan.to_make, self._made, at_once, self._over)) as outcomes:
            for outcome in outcomes:
                try:
                    made[row_place(outcome.item.task)] = outcome.value()
                except StoreError:
                    raise  # for example on a full disk, where further rows could not be stored either
                except ROW_ERRORS as error:
                    self._note_failure(outcome.item.task, error, ran)
                ran.made, ran.spent = len(made), sum(self._spent, ModelUsage())
                self._progress.advance(detail=_progress_text(plan.cost.kept, ran, outcome.item.task.name))
                out_of_reach = out_of_reach + 1 if isinstance(outcome.error, ModelUnavailable | ModelMissing) else 0
                if out_of_reach >= _MAX_MODEL_FAILURES:
                    ran.notes.append(
                        f"The run was stopped: the language model was unreachable for {out_of_reach} consecutive rows."
                    )
                    break
        return made

    def _note_failure(self, task: RowTask, error: Exception, ran: RunResult) -> None:
        failure = row_failure(row_place(task), task.name, error)
        ran.failures.append(failure)
        self._progress.note(f"failed: {task.name}: {failure.reason}")

    def _made(self, planned: PlannedRow) -> Row:
        began, place = time.monotonic(), row_place(planned.task)
        llm = self._context.llm
        asker = RowPrompter(llm, self._over.is_set, self._tokens) if llm is not None else None
        try:
            row = planned.task.row(planned.material, asker)
        finally:
            spent = asker.spent if asker else ModelUsage()
            self._spent.append(spent)
        if row.key != place.key:
            raise ValueError(f"the row has the key '{row.key}' but was made for the key '{place.key}'")
        quoted = self._sources.quoted(row, planned.material, by_model=spent.calls > 0)
        seconds = round(time.monotonic() - began, 3)
        content = row.model_dump_json()
        self._rows.put(self._name, StoredRow(place, planned.made_from, content, quoted, spent.calls, seconds))
        return row


def _progress_text(kept: int, ran: RunResult, name: str) -> str:
    counts = [f"{kept} kept"] if kept else []
    counts += [f"{len(ran.failures)} failed"] if ran.failures else []
    counts += [f"{ran.spent.calls} calls", f"{ran.spent.prompt_tokens} tokens read"] if ran.spent.calls else []
    return ", ".join([*counts, name])
