"""One row as work to do: what it is made from is gathered first, so that a row already made from it is kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from elt_llm_consumer.rows import JobResult, Row


@dataclass(frozen=True)
class Material:
    """All that one row is made from.

    `inputs` is JSON: a row made from equal inputs, prompts, model and settings is not made again. `prompts` are what a
    model would be asked, none without one. `gathered` holds the same as Python objects, for who makes the row.
    """

    inputs: Mapping[str, Any]
    prompts: tuple[str, ...] = ()
    gathered: Any = field(default=None, repr=False)


AskModel = Callable[[str], str]
"""Asks the language model one prompt; raises ModelError and its kin. Counts what it costs."""


class RowTask(ABC):
    """One row to be made. `key` and `table` name the row; `group` is where it stands, outermost first."""

    key: str
    name: str
    table: str
    group: tuple[str, ...] = ()

    @abstractmethod
    def material(self) -> Material:
        """What the row is made from: cheap, the same in every run over the same texts, asks no model."""

    @abstractmethod
    def row(self, material: Material, ask: AskModel | None) -> Row:
        """The row; `ask` is None where no language model is in use. Raises EltError: this row fails, others go on."""


class Job(Protocol):
    """A glossary, catalog, coverage report or model of a handbook, over one corpus."""

    @property
    def kind(self) -> str:
        """Such as `glossary`."""

    def tasks(self) -> Sequence[RowTask]:
        """The rows to be made, in the order in which they are written."""

    def result(self, rows: Sequence[Row]) -> JobResult:
        """The rows that were made, and what follows from all of them, in tables; pure, and quick."""
