"""What a run has to do: which rows are there already, which are to be made, and what that costs."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from threading import Event

from elt_llm_core.errors import EltError, StoreError, UsageError
from elt_llm_core.progress import Progress
from elt_llm_core.state.rows import JobName, JobRows, KeptRow, Place

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.hashing import hashed
from elt_llm_consumer.rows import Row
from elt_llm_consumer.runner_choice import Choice
from elt_llm_consumer.runner_kept import still_holds
from elt_llm_consumer.runner_key import RowKeys, Sources, model_name
from elt_llm_consumer.runner_model import TokenCount
from elt_llm_consumer.runner_report import Cost, Failure, failure_of
from elt_llm_consumer.runner_workers import in_parallel
from elt_llm_consumer.tasks import Material, RowTask

ROW_FAILURES = (EltError, ValueError, LookupError, ArithmeticError)
"""What makes one row fail; anything else is a fault of the program and ends the run."""
_FEWEST_MEASURED = 3


@dataclass(frozen=True)
class Planned:
    """A row with all it is made from, and the hash of that."""

    task: RowTask
    material: Material = field(repr=False)
    made_from: str


@dataclass(frozen=True)
class Plan:
    """All rows of a job: those at hand, those to make now in order, those that cannot be made, and the rest.

    A row at hand may be made anew as well: it stands where that fails.
    """

    tasks: tuple[RowTask, ...]
    at_hand: Mapping[Place, Row] = field(repr=False)
    to_make: tuple[Planned, ...] = field(repr=False)
    failures: tuple[Failure, ...]
    prompts_hash: Mapping[Place, str] = field(repr=False)
    """Of the prompts of every row that was looked at."""
    cost: Cost
    refreshed: tuple[KeptRow, ...] = field(default=(), repr=False)
    """Of the rows at hand those that name a document by the hash it had."""

    @property
    def is_partial(self) -> bool:
        """Whether some of the rows were left alone on purpose."""
        return self.cost.left_out > 0


def place_of(task: RowTask) -> Place:
    """Where its row stands."""
    return Place(task.table, task.key)


class Planner:
    """Gathers the material of rows and finds which of them are at hand."""

    def __init__(
        self, context: JobContext, name: JobName, rows: JobRows, keys: RowKeys, sources: Sources, progress: Progress
    ) -> None:
        self._context, self._name, self._rows, self._progress = context, name, rows, progress
        self._keys, self._sources = keys, sources

    def plan(self, tasks: Sequence[RowTask], choice: Choice) -> Plan:
        """What to do about these rows. Raises UsageError for two rows of one key, and for a choice of none."""
        _refuse_same_keys(tasks)
        chosen = {place_of(task) for task in choice.of(tasks)}
        kept = self._rows.all(self._name)
        looked_at = _looked_at(tasks, chosen, kept, choice.limit)
        gathered, failures = self._gather(looked_at)
        at_hand: dict[Place, Row] = {}
        to_make: list[Planned] = []
        refreshed: list[KeptRow] = []
        for place, planned in gathered.items():
            known = next((it for it in kept.get(place, ()) if it.made_from == planned.made_from), None)
            row = still_holds(known, self._sources) if known else None
            if known is not None and row is not None:
                at_hand[place] = row
                refreshed += self._refreshed(known, row, planned)
            if place in chosen and (row is None or choice.anew):
                to_make.append(planned)
        to_make = to_make[: choice.limit]
        measured = [row for rows in kept.values() for row in rows]
        return Plan(
            tuple(tasks),
            at_hand,
            tuple(to_make),
            tuple(failures),
            {place: hashed(list(planned.material.prompts)) for place, planned in gathered.items()},
            self._cost(len(tasks), at_hand, to_make, len(failures), measured),
            tuple(refreshed),
        )

    def _gather(self, tasks: Sequence[RowTask]) -> tuple[dict[Place, Planned], list[Failure]]:
        self._progress.stage("gather", len(tasks))
        found: dict[Place, Planned] = {}
        failed: dict[Place, Failure] = {}
        at_once = self._context.file.spec.running.rows_at_once
        with closing(in_parallel(tasks, self._planned, at_once, Event())) as outcomes:
            for outcome in outcomes:
                place = place_of(outcome.item)
                try:
                    found[place] = outcome.value()
                except StoreError:
                    raise  # what cannot be read for one row can be read for none
                except ROW_FAILURES as error:
                    failed[place] = failure_of(place, outcome.item.name, error)
                self._progress.advance(detail=outcome.item.name)
        places = [place_of(task) for task in tasks]
        return {it: found[it] for it in places if it in found}, [failed[it] for it in places if it in failed]

    def _planned(self, task: RowTask) -> Planned:
        material = task.material()
        return Planned(task, material, self._keys.of(material))

    def _refreshed(self, kept: KeptRow, row: Row, planned: Planned) -> list[KeptRow]:
        content = row.model_dump_json()
        documents = self._sources.quoted(row, planned.material, by_model=kept.calls > 0)
        same = (content, documents) == (kept.content, kept.documents)
        return [] if same else [replace(kept, content=content, documents=documents)]

    def _cost(
        self, rows: int, at_hand: Collection[Place], to_make: Sequence[Planned], failed: int, kept: Sequence[KeptRow]
    ) -> Cost:
        prompts = [prompt for planned in to_make for prompt in planned.material.prompts] if self._context.llm else []
        tokens = TokenCount()
        left_alone = len({*at_hand} - {place_of(planned.task) for planned in to_make})
        return Cost(
            rows=rows,
            to_make=len(to_make),
            kept=left_alone,
            left_out=rows - left_alone - len(to_make) - failed,
            failed=failed,
            calls=len(prompts),
            prompt_tokens=sum(map(tokens.of, prompts)),
            model=model_name(self._context),
            seconds=self._seconds(kept, len(to_make)),
        )

    def _seconds(self, kept: Sequence[KeptRow], to_make: int) -> float | None:
        """As long as rows like these took before, on the mean."""
        writes = self._context.llm is not None
        took = [row.seconds for row in kept if bool(row.calls) == writes]
        if len(took) < _FEWEST_MEASURED or not to_make:
            return None
        at_once = min(self._context.file.spec.running.rows_at_once, to_make)
        return sum(took) / len(took) * to_make / at_once


def _looked_at(
    tasks: Sequence[RowTask], chosen: Collection[Place], kept: Collection[Place], limit: int | None
) -> list[RowTask]:
    """Those whose row may be at hand, and as many others as may be made."""
    new = [place_of(task) for task in tasks if place_of(task) in chosen and place_of(task) not in kept]
    wanted = {*new[:limit]}
    return [task for task in tasks if place_of(task) in wanted or place_of(task) in kept]


def _refuse_same_keys(tasks: Sequence[RowTask]) -> None:
    seen: set[Place] = set()
    for task in tasks:
        if place_of(task) in seen:
            raise UsageError(
                f"Two rows of the table '{task.table}' have the key '{task.key}'.",
                hint="This is a fault of the program: each row is known by its key.",
            )
        seen.add(place_of(task))
