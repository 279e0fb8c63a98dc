"""What a question is answered from, whoever answers it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elt_llm_core.errors import ModelTimeout
from elt_llm_core.results import RetrievedChunk

from elt_llm_query.answer.abstention import SHIPPED, Weighing

Turns = Sequence[tuple[str, str]]
"""Questions as they were understood, each with its answer, the oldest first."""


@dataclass(frozen=True)
class Asked:
    """A question with its passages, best first, and what it was asked with.

    `cancelled` is looked at while a model writes.
    """

    question: str
    chunks: Sequence[RetrievedChunk]
    where: Sequence[str] = ()
    history: tuple[tuple[str, str], ...] = ()
    cancelled: Callable[[], bool] | None = None


def within(seconds: float, who: str, cancelled: Callable[[], bool] | None) -> Callable[[], bool]:
    """As `cancelled`, from now on for so many seconds; then it raises ModelTimeout, in the name of who writes.

    An answer of several calls takes no longer altogether than one of a single call may.
    """
    until = time.monotonic() + seconds

    def is_cancelled() -> bool:
        if time.monotonic() > until:
            raise ModelTimeout(
                f"{who} was still writing after {seconds:g} seconds",
                hint="Raise llm.answer_timeout, choose a smaller model, or a strategy that asks it less often",
            )
        return cancelled is not None and cancelled()

    return is_cancelled


@dataclass(frozen=True)
class Weights:
    """The weight of a stem over all that is asked, whether any of it has the stem, and how evidence is weighed."""

    idf: Callable[[str], float]
    known: Callable[[str], bool]
    weighing: Weighing = SHIPPED
