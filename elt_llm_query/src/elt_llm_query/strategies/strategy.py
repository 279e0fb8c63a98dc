"""What every strategy offers."""

from typing import Protocol

from elt_llm_query.rerank.model_reranker import Reranked
from elt_llm_query.retrieve.rounds import SearchRounds
from elt_llm_query.retrieve.wording import Wording


class Strategy(Protocol):
    """Finds the candidates of a question in one or more rounds. Serves many threads: it keeps nothing of a question."""

    @property
    def name(self) -> str:
        """What the settings call it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What it cannot do as it is set up, in sentences that every result carries."""

    def search(self, question: Wording, rounds: SearchRounds) -> Reranked:
        """All candidates, best first, each once. Raises RetrievalError if no leg of any collection worked."""
