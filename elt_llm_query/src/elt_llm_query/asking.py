"""What a question is answered from, whoever answers it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Weights:
    """The weight of a stem over all that is asked, whether any of it has the stem, and how evidence is weighed."""

    idf: Callable[[str], float]
    known: Callable[[str], bool]
    weighing: Weighing = SHIPPED
