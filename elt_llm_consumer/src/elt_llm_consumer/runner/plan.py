"""Plan a run: find the selected rows, the stored rows to reuse, the rows to make, and the cost."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from threading import Event

from elt_llm_core.errors import EltError, StoreError, UsageError
from elt_llm_core.progress import ProgressListener
from elt_llm_core.state.jobs import JobName, JobRowTable, RowId, StoredRow
from elt_llm_core.utilities import nearest_names
from pydantic import ValidationError

from elt_llm_consumer.evidence import Evidence, Row, hash_json
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.row_keys import RowKeys, SourceDocuments, model_name
from elt_llm_consumer.jobs.tasks import RowMaterial, RowTask
from elt_llm_consumer.runner.costs import RowFailure, RunCost, TokenCounter, row_failure
from elt_llm_consumer.runner.workers import in_parallel


@dataclass(frozen=True)
class RowSelection:
    """The selected rows of a run.

    `only` are names or keys, `domain` is an outermost group, and `limit` is the maximum number of rows to make. `anew`
    means that stored rows are made again.
    """

    only: tuple[str, ...] = ()
    domain: str | None = None
    limit: int | None = None
    anew: bool = False

    def of(self, tasks: Sequence[RowTask]) -> list[RowTask]:
        """Return the selected tasks in order. Raises UsageError, with similar names, for an unknown name."""
        chosen = list(tasks)
        if self.only:
            wanted = self._known(self.only, [text for task in tasks for text in (task.name, task.key)], "row")
            chosen = [task for task in chosen if wanted & {task.name.casefold(), task.key.casefold()}]
        if self.domain is not None:
            wanted = self._known((self.domain,), [task.group[0] for task in tasks if task.group], "domain")
            chosen = [task for task in chosen if task.group and task.group[0].casefold() in wanted]
        return chosen

    def _known(self, named: Sequence[str], known: Sequence[str], what: str) -> set[str]:
        folded = {text.casefold() for text in known}
        for name in named:
            if name.casefold() not in folded:
                raise UsageError(
                    f"The job has no {what} '{name}'.", hint=nearest_names(name, list(dict.fromkeys(known)))
                )
        return {name.casefold() for name in named}


def refresh_kept_row(kept: StoredRow, sources: SourceDocuments) -> Row | None:
    """Return the stored row with current document hashes; None if a quote is no longer at its span.

    If a document has changed outside of the quote, the evidence then refers to the current version.
    """
    try:
        row = Row.model_validate_json(kept.content)
    except ValidationError:  # written by a version with another row format
        return None
    cells = {}
    for name, cell in row.cells.items():
        evidence = [_current_evidence(place, sources) for place in cell.evidence]
        current = tuple(place for place in evidence if place is not None)
        if len(current) < len(evidence):
            return None
        cells[name] = cell if current == cell.evidence else cell.model_copy(update={"evidence": current})
    return row if cells == dict(row.cells) else row.model_copy(update={"cells": cells})


def _current_evidence(evidence: Evidence, sources: SourceDocuments) -> Evidence | None:
    document = sources.documents.get((evidence.collection, evidence.document_id))
    start, end = evidence.span
    if document is None or document.text[start:end] != evidence.quote:
        return None
    return document.evidence(start, end, evidence.score, evidence.about)


ROW_ERRORS = (EltError, ValueError, LookupError, ArithmeticError)
"""The errors that fail only one row. Any other error is a bug and ends the run."""
_MIN_MEASURED = 3


@dataclass(frozen=True)
class PlannedRow:
    """A row to make, with its inputs (material) and the hash of these inputs."""

    task: RowTask
    material: RowMaterial = field(repr=False)
    made_from: str


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run: the tasks, the stored rows, the rows to make in order, and the failed rows.

    A row may be both stored and planned to be remade. If the new row fails, the stored row is kept.
    """

    tasks: tuple[RowTask, ...]
    at_hand: Mapping[RowId, Row] = field(repr=False)
    to_make: tuple[PlannedRow, ...] = field(repr=False)
    failures: tuple[RowFailure, ...]
    prompts_hash: Mapping[RowId, str] = field(repr=False)
    """The hash of the prompts of each planned row."""
    cost: RunCost
    refreshed: tuple[StoredRow, ...] = field(default=(), repr=False)
    """The stored rows that referred to an older version of a document, with current references."""

    @property
    def is_partial(self) -> bool:
        """Whether the run deliberately skips some rows."""
        return self.cost.left_out > 0


def row_place(task: RowTask) -> RowId:
    """Return the table and the key that identify the row of a task."""
    return RowId(task.table, task.key)


class RunPlanner:
    """Gathers the inputs of rows, and finds the rows that are already stored."""

    def __init__(
        self,
        context: JobContext,
        name: JobName,
        rows: JobRowTable,
        keys: RowKeys,
        sources: SourceDocuments,
        progress: ProgressListener,
    ) -> None:
        self._context, self._name, self._rows, self._progress = context, name, rows, progress
        self._keys, self._sources = keys, sources

    def plan(self, tasks: Sequence[RowTask], choice: RowSelection) -> RunPlan:
        """Plan the rows of these tasks. Raises UsageError for two rows with one key, and for an unknown selection."""
        _reject_duplicate_keys(tasks)
        chosen = {row_place(task) for task in choice.of(tasks)}
        kept = self._rows.all(self._name)
        looked_at = _tasks_to_gather(tasks, chosen, kept, choice.limit)
        gathered, failures = self._gather(looked_at)
        at_hand: dict[RowId, Row] = {}
        to_make: list[PlannedRow] = []
        refreshed: list[StoredRow] = []
        for place, planned in gathered.items():
            known = next((it for it in kept.get(place, ()) if it.made_from == planned.made_from), None)
            row = refresh_kept_row(known, self._sources) if known else None
            if known is not None and row is not None:
                at_hand[place] = row
                refreshed += self._refreshed(known, row, planned)
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
        with closing(in_parallel(tasks, self._planned, at_once, Event())) as outcomes:
            for outcome in outcomes:
                place = row_place(outcome.item)
                try:
                    found[place] = outcome.value()
                except StoreError:
                    raise  # a store that cannot be read for one row cannot be read for any row
                except ROW_ERRORS as error:
                    failed[place] = row_failure(place, outcome.item.name, error)
                self._progress.advance(detail=outcome.item.name)
        places = [row_place(task) for task in tasks]
        return {it: found[it] for it in places if it in found}, [failed[it] for it in places if it in failed]

    def _planned(self, task: RowTask) -> PlannedRow:
        material = task.material()
        return PlannedRow(task, material, self._keys.of(material))

    def _refreshed(self, kept: StoredRow, row: Row, planned: PlannedRow) -> list[StoredRow]:
        content = row.model_dump_json()
        documents = self._sources.quoted(row, planned.material, by_model=kept.calls > 0)
        same = (content, documents) == (kept.content, kept.documents)
        return [] if same else [replace(kept, content=content, documents=documents)]

    def _cost(
        self,
        rows: int,
        at_hand: Collection[RowId],
        to_make: Sequence[PlannedRow],
        failed: int,
        kept: Sequence[StoredRow],
    ) -> RunCost:
        prompts = [prompt for planned in to_make for prompt in planned.material.prompts] if self._context.llm else []
        tokens = TokenCounter()
        left_alone = len({*at_hand} - {row_place(planned.task) for planned in to_make})
        return RunCost(
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

    def _seconds(self, kept: Sequence[StoredRow], to_make: int) -> float | None:
        """Return the estimated seconds of the run from the mean duration of earlier rows, or None."""
        writes = self._context.llm is not None
        took = [row.seconds for row in kept if bool(row.calls) == writes]
        if len(took) < _MIN_MEASURED or not to_make:
            return None
        at_once = min(self._context.file.spec.running.rows_at_once, to_make)
        return sum(took) / len(took) * to_make / at_once


def _tasks_to_gather(
    tasks: Sequence[RowTask], chosen: Collection[RowId], kept: Collection[RowId], limit: int | None
) -> list[RowTask]:
    """Return the tasks whose row may be stored, and the first `limit` selected tasks without a stored row."""
    new = [row_place(task) for task in tasks if row_place(task) in chosen and row_place(task) not in kept]
    wanted = {*new[:limit]}
    return [task for task in tasks if row_place(task) in wanted or row_place(task) in kept]


def _reject_duplicate_keys(tasks: Sequence[RowTask]) -> None:
    seen: set[RowId] = set()
    for task in tasks:
        if row_place(task) in seen:
            raise UsageError(
                f"Two rows of the table '{task.table}' have the key '{task.key}'.",
                hint="This is a bug: row keys must be unique.",
            )
        seen.add(row_place(task))
