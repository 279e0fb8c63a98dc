"""What a run of a job came to: figures for people and programs, none of which is in the job's result."""

from dataclasses import asdict, dataclass
from typing import Any

from elt_llm_core.errors import EltError
from elt_llm_core.state.rows import Place

from elt_llm_consumer.runner_model import Spent

_LONGEST = 300  # characters of a reason


@dataclass(frozen=True)
class Failure:
    """A row that could not be made, and why."""

    table: str
    key: str
    name: str
    reason: str
    hint: str = ""


@dataclass(frozen=True)
class Cost:
    """What there is to do before a run; `seconds` as rows made earlier took, None if too few were measured.

    `calls` and `prompt_tokens` are of the prompts known beforehand; a row may need fewer, or ask again.
    """

    rows: int
    to_make: int
    kept: int
    left_out: int
    failed: int
    calls: int
    prompt_tokens: int
    model: str
    seconds: float | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


@dataclass(frozen=True)
class RunReport:
    """A run that has ended: rows of the job in all, made now, made before, failed, and neither made nor tried."""

    job: str
    kind: str
    rows: int
    made: int
    kept: int
    failures: tuple[Failure, ...]
    left_out: int
    spent: Spent
    model: str
    figures: dict[str, int | float | str]
    notes: tuple[str, ...]
    files: tuple[str, ...]
    seconds: float

    @property
    def exit_code(self) -> int:
        """1 if a row failed, else 0."""
        return int(bool(self.failures))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "failed": len(self.failures)}


def failure_of(place: Place, name: str, error: Exception) -> Failure:
    """The failure as it is told."""
    if isinstance(error, EltError):
        return Failure(place.table, place.key, name, str(error), error.hint)
    return Failure(place.table, place.key, name, " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST])
