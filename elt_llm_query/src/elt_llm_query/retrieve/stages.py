"""The stages of one question: each timed, each saying what it kept."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from elt_llm_core.results import TraceStage


@dataclass
class OpenStage:
    """A stage while it runs; what is written here ends in the trace."""

    kept: int = 0
    details: dict[str, Any] = field(default_factory=dict)


class StageLog:
    """Collects the stages of one question, in order."""

    def __init__(self) -> None:
        self._stages: list[TraceStage] = []

    @contextmanager
    def stage(self, name: str, begun: float | None = None) -> Iterator[OpenStage]:
        """Time what happens inside and keep it under that name, unless it raises.

        `begun`, by `time.perf_counter`: the work began before it was known that there is something to tell.
        """
        since, current = time.perf_counter() if begun is None else begun, OpenStage()
        yield current
        took_ms = (time.perf_counter() - since) * 1000
        self._stages.append(TraceStage(name=name, took_ms=took_ms, kept=current.kept, details=current.details))

    @property
    def stages(self) -> tuple[TraceStage, ...]:
        """The finished stages."""
        return tuple(self._stages)
