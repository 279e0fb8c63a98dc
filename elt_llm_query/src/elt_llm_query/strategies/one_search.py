"""The question asked once, of both legs or of one."""

from dataclasses import dataclass

from elt_llm_query.rerank.model_reranker import Reranked
from elt_llm_query.retrieve.rounds import SearchRounds
from elt_llm_query.retrieve.wording import LegChoice, Wording


@dataclass(frozen=True)
class OneSearch:
    """One round over the legs given: `dense`, `sparse` and `hybrid` are this."""

    name: str
    legs: LegChoice
    notes: tuple[str, ...] = ()

    def search(self, question: Wording, rounds: SearchRounds) -> Reranked:
        """All candidates of the legs, reranked."""
        return rounds.rank(question, self.legs)
