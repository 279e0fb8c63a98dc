"""Select the rows of a run, refresh stored rows, and hold the plan: the rows to reuse and the rows to make."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.state.jobs import RowId, StoredRow
from elt_llm_core.utilities import nearest_names
from pydantic import ValidationError

from elt_llm_consumer.evidence import Row
from elt_llm_consumer.jobs.row_keys import SourceDocuments
from elt_llm_consumer.jobs.tasks import RowMaterial, RowTask
from elt_llm_consumer.runner.costs import RowFailure, RunCost


@dataclass(frozen=True)
class RowSelection:
    """Which rows of a job a run makes.

    `only` lists names or keys of rows, `domain` is an outermost group, and `limit` is the maximum number of rows to
    make. `anew` means that stored rows are made again.
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
    """Return a stored row with the current document hashes; None if a quote is no longer at its span.

    If a document has changed only outside of the quotes, the evidence then refers to its current version.
    """
    try:
        row = Row.model_validate_json(kept.content)
    except ValidationError:  # the row was stored by a program version with another row format
        return None
    cells = {}
    for name, cell in row.cells.items():
        current = []
        for place in cell.evidence:
            document = sources.documents.get((place.collection, place.document_id))
            if document is None or document.text[slice(*place.span)] != place.quote:
                return None
            current.append(document.evidence(*place.span, place.score, place.about))
        evidence = tuple(current)
        cells[name] = cell if evidence == cell.evidence else cell.model_copy(update={"evidence": evidence})
    return row if cells == dict(row.cells) else row.model_copy(update={"cells": cells})


ROW_ERRORS = (EltError, ValueError, LookupError, ArithmeticError)
"""The errors that make only one row fail. Any other error is a bug and ends the run."""


@dataclass(frozen=True)
class PlannedRow:
    """A row to make, with its inputs (material) and the hash of these inputs."""

    task: RowTask
    material: RowMaterial = field(repr=False)
    made_from: str


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run: the tasks, the stored rows, the rows to make in order, and the rows that failed in planning.

    A stored row may also be among the rows to make. If making it fails, the stored row is kept.
    """

    tasks: tuple[RowTask, ...]
    at_hand: Mapping[RowId, Row] = field(repr=False)
    to_make: tuple[PlannedRow, ...] = field(repr=False)
    failures: tuple[RowFailure, ...]
    prompts_hash: Mapping[RowId, str] = field(repr=False)
    """The hash of the prompts of each planned row."""
    cost: RunCost
    refreshed: tuple[StoredRow, ...] = field(default=(), repr=False)
    """The stored rows that quoted an older version of a document, changed to quote the current version."""


def tasks_to_gather(
    tasks: Sequence[RowTask], chosen: Collection[RowId], kept: Collection[RowId], limit: int | None
) -> list[RowTask]:
    """Return the tasks with stored rows, which may be reused, and the first `limit` selected tasks without any."""
    new = [task.place for task in tasks if task.place in chosen and task.place not in kept]
    wanted = {*new[:limit]}
    return [task for task in tasks if task.place in wanted or task.place in kept]


def reject_duplicate_keys(tasks: Sequence[RowTask]) -> None:
    """Raise UsageError if two rows of a table have the same key, which is a bug."""
    counts = Counter(task.place for task in tasks)
    for place in (place for place, count in counts.items() if count > 1):
        problem = f"Two rows of the table '{place.table}' have the key '{place.key}'."
        raise UsageError(problem, hint="This is a bug in the program. Please report it.")
