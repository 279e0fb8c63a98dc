"""The kinds of jobs, and one row as a task.

Material is gathered first, so that a kept row made from equal material is reused.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from elt_llm_consumer.evidence import JobResult, Row

JobKind = Literal["glossary", "catalog", "coverage", "handbook"]
JOB_KINDS: tuple[JobKind, ...] = get_args(JobKind)


@dataclass(frozen=True)
class RowMaterial:
    """The material of one row.

    `inputs` is JSON: a row with equal inputs, prompts, model and settings is reused. `prompts` are the prompts for a
    model, empty without one. `gathered` holds the inputs as Python objects.
    """

    inputs: Mapping[str, Any]
    prompts: tuple[str, ...] = ()
    gathered: Any = field(default=None, repr=False)


AskModel = Callable[[str], str]
"""Prompts the language model once and counts the cost. Raises ModelError."""


class RowTask(ABC):
    """One row to make. `key` and `table` identify the row; `group` is its group, outermost first."""

    key: str
    name: str
    table: str
    group: tuple[str, ...] = ()

    @abstractmethod
    def material(self) -> RowMaterial:
        """Gather the row's material: cheap, reproducible, and without a model."""

    @abstractmethod
    def row(self, material: RowMaterial, ask: AskModel | None) -> Row:
        """Make the row; `ask` is None without a language model. An EltError fails this row only."""


class BatchJob(Protocol):
    """A glossary, catalog, coverage or handbook job over one corpus."""

    @property
    def kind(self) -> str:
        """Such as `glossary`."""

    def tasks(self) -> Sequence[RowTask]:
        """The rows to make, in output order."""

    def result(self, rows: Sequence[Row]) -> JobResult:
        """Build the tables from the rows; pure and fast."""
