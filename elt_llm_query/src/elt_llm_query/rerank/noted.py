"""A reranker that stands in for another, and says so."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_query.rerank.reranker import Reranker
from elt_llm_query.retrieve.candidates import Candidate
from elt_llm_query.retrieve.collections import Pool


@dataclass(frozen=True)
class Noted:
    """Ranks as `reranker` does; `reasons` are added to its notes."""

    reranker: Reranker
    reasons: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the one that ranks."""
        return self.reranker.name

    @property
    def calls_model(self) -> bool:
        """As of the one that ranks."""
        return self.reranker.calls_model

    @property
    def needs_vector(self) -> bool:
        """As of the one that ranks."""
        return self.reranker.needs_vector

    @property
    def notes(self) -> tuple[str, ...]:
        """Its notes and the reasons why it stands in."""
        return (*self.reranker.notes, *self.reasons)

    def rerank(self, question: str, pools: Sequence[Pool]) -> list[Candidate]:
        """All candidates, best first, ties by node id."""
        return self.reranker.rerank(question, pools)
