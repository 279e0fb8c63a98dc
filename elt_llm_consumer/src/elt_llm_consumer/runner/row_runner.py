"""Plan the rows of a job, make them in parallel, and store each finished row at once, so that it is not made again."""

import time
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from threading import Event

from elt_llm_core.errors import ModelMissing, ModelUnavailable, StoreError
from elt_llm_core.progress import ProgressListener
from elt_llm_core.state.jobs import JobName, JobRowTable, RowId, StoredRow

from elt_llm_consumer.evidence import Row, hash_json
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.row_keys import RowKeys, SourceDocuments, model_name
from elt_llm_consumer.jobs.tasks import BatchJob, RowTask
from elt_llm_consumer.runner.costs import ModelUsage, RowFailure, RowPrompter, RunCost, TokenCounter, row_failure
from elt_llm_consumer.runner.plan import (
    ROW_ERRORS,
    PlannedRow,
    RowSelection,
    RunPlan,
    refresh_kept_row,
    reject_duplicate_keys,
    tasks_to_gather,
)
from elt_llm_consumer.runner.workers import in_parallel

_MIN_MEASURED = 3  # minimum number of earlier rows for an estimate of the duration
_MAX_MODEL_FAILURES = 3  # the run stops after so many consecutive rows for which the model was unreachable


@dataclass
class RunResult:
    """The outcome of a run: the rows in the job's order, the number of new rows, the failures, and the model usage."""

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
        recipe: int,
    ) -> None:
        self._job, self._context, self._name, self._rows, self._progress = job, context, name, rows, progress
        self._sources = SourceDocuments(context)
        self._keys = RowKeys(context, job.kind, recipe)
        self._tokens = TokenCounter()
        self._over = Event()
        self._spent: list[ModelUsage] = []

    def plan(self, choice: RowSelection) -> RunPlan:
        """Plan a run without making rows. Raises UsageError if row keys are not unique or a selected row is unknown."""
        tasks = self._job.tasks()
        reject_duplicate_keys(tasks)
        chosen = {task.place for task in choice.of(tasks)}
        kept = self._rows.all(self._name)
        looked_at = tasks_to_gather(tasks, chosen, kept, choice.limit)
        gathered, failures = self._gather(looked_at)
        at_hand: dict[RowId, Row] = {}
        to_make: list[PlannedRow] = []
        refreshed: list[StoredRow] = []
        for place, planned in gathered.items():
            known = next((it for it in kept.get(place, ()) if it.made_from == planned.made_from), None)
            row = refresh_kept_row(known, self._sources) if known else None
            if known is not None and row is not None:
                at_hand[place] = row
                content = row.model_dump_json()
                documents = self._sources.quoted(row, planned.material, by_model=known.calls > 0)
                if (content, documents) != (known.content, known.documents):
                    refreshed.append(replace(known, content=content, documents=documents))
            if place in chosen and (row is None or choice.anew):
                to_make.append(planned)
        to_make = to_make[: choice.limit]
        measured = [row for rows in kept.values() for row in rows]
        return RunPlan(
            tuple(tasks),
            at_hand,
            tuple(to_make),
            tuple(failures),
            {place: hash_json(list(planned.material.prompts)) for place, planned in gathered.items()},
            self._cost(len(tasks), at_hand, to_make, len(failures), measured),
            tuple(refreshed),
        )

    def _gather(self, tasks: Sequence[RowTask]) -> tuple[dict[RowId, PlannedRow], list[RowFailure]]:
        self._progress.stage("gather", len(tasks))
        found: dict[RowId, PlannedRow] = {}
        failed: dict[RowId, RowFailure] = {}
        at_once = self._context.file.spec.running.rows_at_once

        def planned(task: RowTask) -> PlannedRow:
            material = task.material()
            return PlannedRow(task, material, self._keys.of(material))

        with closing(in_parallel(tasks, planned, at_once, Event())) as outcomes:
            for outcome in outcomes:
                place = outcome.item.place
                try:
                    found[place] = outcome.value()
                except StoreError:
                    raise  # if stored data cannot be read for one row, it cannot be read for any row
                except ROW_ERRORS as error:
                    failed[place] = row_failure(outcome.item, error)
                self._progress.advance(detail=outcome.item.name)
        places = [task.place for task in tasks]
        return {it: found[it] for it in places if it in found}, [failed[it] for it in places if it in failed]

    def _cost(
        self,
        rows: int,
        at_hand: Collection[RowId],
        to_make: Sequence[PlannedRow],
        failed: int,
        kept: Sequence[StoredRow],
    ) -> RunCost:
        prompts = [prompt for planned in to_make for prompt in planned.material.prompts] if self._context.llm else []
        left_alone = len({*at_hand} - {planned.task.place for planned in to_make})
        return RunCost(
            rows=rows,
            to_make=len(to_make),
            kept=left_alone,
            left_out=rows - left_alone - len(to_make) - failed,
            failed=failed,
            calls=len(prompts),
            prompt_tokens=sum(map(self._tokens.of, prompts)),
            model=model_name(self._context),
            seconds=self._seconds(kept, len(to_make)),
        )

    def _seconds(self, kept: Sequence[StoredRow], to_make: int) -> float | None:
        """Return the estimated duration of the run in seconds, from the mean of earlier rows; None if too few exist."""
        writes = self._context.llm is not None
        took = [row.seconds for row in kept if bool(row.calls) == writes]
        if len(took) < _MIN_MEASURED or not to_make:
            return None
        at_once = min(self._context.file.spec.running.rows_at_once, to_make)
        return sum(took) / len(took) * to_make / at_once

    def run(self, plan: RunPlan) -> RunResult:
        """Make the planned rows, as many in parallel as the job file allows.

        If a row fails, the failure is reported and the run continues. If the run is interrupted, finished rows are
        kept.
        """
        self._over, self._spent = Event(), []
        for kept in plan.refreshed:
            self._rows.put(self._name, kept)
        ran = RunResult(failures=list(plan.failures))
        rows = {**plan.at_hand, **self._make(plan, ran)}
        order = {task.place: number for number, task in enumerate(plan.tasks)}
        ran.failures.sort(key=lambda failure: order[RowId(failure.table, failure.key)])
        ran.rows = {place: rows[place] for place in order if place in rows}
        ran.missing = [task.name for task in plan.tasks if task.place not in rows]
        if not plan.cost.left_out and not ran.failures:
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
                    made[outcome.item.task.place] = outcome.value()
                except StoreError:
                    raise  # for example a full disk, on which no further row could be stored either
                except ROW_ERRORS as error:
                    failure = row_failure(outcome.item.task, error)
                    ran.failures.append(failure)
                    self._progress.note(f"failed: {failure.name}: {failure.reason}")
                ran.made, ran.spent = len(made), sum(self._spent, ModelUsage())
                self._progress.advance(detail=_progress_text(plan.cost.kept, ran, outcome.item.task.name))
                out_of_reach = out_of_reach + 1 if isinstance(outcome.error, ModelUnavailable | ModelMissing) else 0
                if out_of_reach >= _MAX_MODEL_FAILURES:
                    reason = f"the language model was unreachable for {out_of_reach} consecutive rows"
                    ran.notes.append(f"The run was stopped: {reason}. Start the model's server, and run the job again.")
                    break
        return made

    def _made(self, planned: PlannedRow) -> Row:
        began, place = time.monotonic(), planned.task.place
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
