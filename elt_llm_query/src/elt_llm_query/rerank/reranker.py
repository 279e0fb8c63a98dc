"""The contract of a reranker."""

from collections.abc import Sequence
from typing import Protocol

from elt_llm_query.retrieve.candidates import Candidate
from elt_llm_query.retrieve.collections import Pool


class Reranker(Protocol):
    """Gives every candidate of every pool a score from 0 to 1 and merges the pools into one ranking."""

    @property
    def name(self) -> str:
        """What the trace calls it."""

    @property
    def calls_model(self) -> bool:
        """True if each candidate costs a model call, so that the number of candidates is bounded."""

    @property
    def needs_vector(self) -> bool:
        """True if the question has to be embedded for it, whatever legs are asked."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know about this ranking."""

    def rerank(self, question: str, pools: Sequence[Pool], /) -> list[Candidate]:
        """All candidates, best first, ties by node id."""
