"""The interfaces of jobs, and of the tasks that make one row each.

A task first gathers its material (the inputs of the row), so that a run can reuse a stored row with equal inputs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from elt_llm_core.state.jobs import RowId

from elt_llm_consumer.evidence import Cell, JobResult, Row

JobKind = Literal["glossary", "catalog", "coverage", "handbook"]
JOB_KINDS: tuple[JobKind, ...] = get_args(JobKind)


@dataclass(frozen=True)
class RowMaterial:
    """The material of one row: everything from which the row is made. `inputs` is JSON.

    A stored row is reused if its inputs, prompts, models and settings have not changed. `prompts` are the prompts for a
    language model; empty if the row needs none. `gathered` holds the inputs as Python objects.
    """

    inputs: Mapping[str, Any]
    prompts: tuple[str, ...] = ()
    gathered: Any = field(default=None, repr=False)


AskModel = Callable[[str], str]
"""A function that prompts the language model once and counts the cost. Raises ModelError if the call fails."""


class RowTask(ABC):
    """A task that makes one row. `key` and `table` identify the row; `group` lists its groups, outermost first."""

    key: str
    name: str
    table: str
    group: tuple[str, ...] = ()

    @property
    def place(self) -> RowId:
        """The table and the key of the row."""
        return RowId(self.table, self.key)

    def inputs(self, cells: Mapping[str, Cell]) -> dict[str, Any]:
        """Return the `RowMaterial.inputs` of a row that is made only from its name, its group and these finished cells.

        A later run with equal inputs reuses the stored row.
        """
        return {"name": self.name, "group": self.group, "cells": {name: it.to_json() for name, it in cells.items()}}

    @abstractmethod
    def material(self) -> RowMaterial:
        """Gather the inputs of the row. This is fast, gives equal results each time, and uses no language model."""

    def row(self, material: RowMaterial, ask: AskModel | None) -> Row:
        """Make the row. By default, its cells are those in `material`. `ask` is None if the job has no language model.

        If this raises an EltError, only this row fails.
        """
        return Row(key=self.key, name=self.name, group=self.group, cells=material.gathered)


class BatchJob(Protocol):
    """A glossary, catalog, coverage or handbook job over one corpus."""

    @property
    def kind(self) -> str:
        """The kind of the job, such as `glossary`."""

    def tasks(self) -> Sequence[RowTask]:
        """Return one task for each row, in output order."""

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Build the result with its tables from the rows, without side effects."""
