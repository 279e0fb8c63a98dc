"""Runs a job: its rows at the same time, each kept as soon as it is finished, so that no run is lost or paid twice."""

import time
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event

from elt_llm_core.errors import ModelMissing, ModelUnavailable, StoreError
from elt_llm_core.progress import Progress
from elt_llm_core.state.rows import JobName, JobRows, KeptRow, Place

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.rows import Row
from elt_llm_consumer.runner_choice import Choice
from elt_llm_consumer.runner_key import RowKeys, Sources
from elt_llm_consumer.runner_model import RowAsker, Spent, TokenCount
from elt_llm_consumer.runner_plan import ROW_FAILURES, Plan, Planned, Planner, place_of
from elt_llm_consumer.runner_report import Failure, failure_of
from elt_llm_consumer.runner_workers import in_parallel
from elt_llm_consumer.tasks import Job, RowTask

_PATIENCE_WITH_MODEL = 3  # rows one after the other that a model out of reach may fail


@dataclass
class Ran:
    """The rows there are after a run, in the order of the job; which are new, which failed, and what it took."""

    rows: dict[Place, Row] = field(default_factory=dict)
    made: int = 0
    failures: list[Failure] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Names of the rows that are not there."""
    spent: Spent = field(default_factory=Spent)
    notes: list[str] = field(default_factory=list)


class JobRunner:
    """Makes the rows of one job. `recipe` numbers the way in which a language model is used for them."""

    def __init__(
        self, job: Job, context: JobContext, name: JobName, rows: JobRows, progress: Progress, recipe: int = 1
    ) -> None:
        self._job, self._context, self._name, self._rows, self._progress = job, context, name, rows, progress
        self._sources = Sources(context)
        self._keys = RowKeys(context, job.kind, recipe)
        self._tokens = TokenCount()
        self._over = Event()
        self._spent: list[Spent] = []

    def plan(self, choice: Choice) -> Plan:
        """What a run would do; makes nothing. Raises UsageError."""
        planner = Planner(self._context, self._name, self._rows, self._keys, self._sources, self._progress)
        return planner.plan(self._job.tasks(), choice)

    def run(self, plan: Plan) -> Ran:
        """Make what the plan names, as many rows at once as the job file allows.

        A row that cannot be made is told, and the others go on. An interruption leaves every finished row kept.
        """
        self._over, self._spent = Event(), []
        for kept in plan.refreshed:
            self._rows.put(self._name, kept)
        ran = Ran(failures=list(plan.failures))
        rows = {**plan.at_hand, **self._make(plan, ran)}
        order = {place_of(task): number for number, task in enumerate(plan.tasks)}
        ran.failures.sort(key=lambda failure: order[Place(failure.table, failure.key)])
        ran.rows = {place: rows[place] for place in order if place in rows}
        ran.missing = [task.name for task in plan.tasks if place_of(task) not in rows]
        if not plan.is_partial and not ran.failures:
            self._rows.keep_only(self._name, set(order))
        return ran

    def _make(self, plan: Plan, ran: Ran) -> dict[Place, Row]:
        made: dict[Place, Row] = {}
        out_of_reach = 0
        self._progress.stage("rows", len(plan.to_make))
        at_once = self._context.file.spec.running.rows_at_once
        with closing(in_parallel(plan.to_make, self._made, at_once, self._over)) as outcomes:
            for outcome in outcomes:
                try:
                    made[place_of(outcome.item.task)] = outcome.value()
                except StoreError:
                    raise  # of a full disk, for instance: a row that cannot be kept must not be paid for
                except ROW_FAILURES as error:
                    self._note_failure(outcome.item.task, error, ran)
                ran.made, ran.spent = len(made), sum(self._spent, Spent())
                self._progress.advance(detail=_told(plan.cost.kept, ran, outcome.item.task.name))
                out_of_reach = out_of_reach + 1 if isinstance(outcome.error, ModelUnavailable | ModelMissing) else 0
                if out_of_reach >= _PATIENCE_WITH_MODEL:
                    ran.notes.append(f"The run was ended: the language model failed {out_of_reach} rows in a row.")
                    break
        return made

    def _note_failure(self, task: RowTask, error: Exception, ran: Ran) -> None:
        failure = failure_of(place_of(task), task.name, error)
        ran.failures.append(failure)
        self._progress.note(f"failed: {task.name}: {failure.reason}")

    def _made(self, planned: Planned) -> Row:
        """Make one row and keep it."""
        began, place = time.monotonic(), place_of(planned.task)
        llm = self._context.llm
        asker = RowAsker(llm, self._over.is_set, self._tokens) if llm is not None else None
        try:
            row = planned.task.row(planned.material, asker)
        finally:
            spent = asker.spent if asker else Spent()
            self._spent.append(spent)
        if row.key != place.key:
            raise ValueError(f"the row has the key '{row.key}', and its task '{place.key}'")
        quoted = self._sources.quoted(row, planned.material, by_model=spent.calls > 0)
        seconds = round(time.monotonic() - began, 3)
        content = row.model_dump_json()
        self._rows.put(self._name, KeptRow(place, planned.made_from, content, quoted, spent.calls, seconds))
        return row


def _told(kept: int, ran: Ran, name: str) -> str:
    counts = [f"{kept} kept"] if kept else []
    counts += [f"{len(ran.failures)} failed"] if ran.failures else []
    counts += [f"{ran.spent.calls} calls", f"{ran.spent.prompt_tokens} tokens read"] if ran.spent.calls else []
    return ", ".join([*counts, name])
