"""A passage that could answer the question is made up, and what is near to it is looked for.

Source: Gao, Ma, Lin and Callan, "Precise Zero-Shot Dense Retrieval without Relevance Labels", ACL 2023 (HyDE): the
vector asked for is the mean of the question's and the made-up passage's.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elt_llm_query.rerank.model_reranker import Reranked
from elt_llm_query.retrieve.rounds import SearchRounds
from elt_llm_query.retrieve.wording import LegChoice, Wording
from elt_llm_query.strategies.helper_model import asked

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

NO_MODEL = "The strategy hyde needs a language model, and none is in use; the question was asked as hybrid."
FEWEST_WORDS = 3
MOST_CHARACTERS = 800  # what an embedding model reads whole
_PROMPT = """\
Write a short passage, two to four sentences, as it could stand in a document that answers the question.
Write it in the language of the question. Reply with the passage and nothing else.

Question: {question}

Passage:"""


@dataclass(frozen=True)
class Hyde:
    """One round with the made-up passage in the vector; the keywords stay those of the question.

    Without a model, and for a question that the model fails on or has nothing to say to, it is `hybrid`, and says so.
    """

    legs: LegChoice
    llm: "LLM | None" = None
    name: str = "hyde"

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether it can do what it is called for."""
        return () if self.llm else (NO_MODEL,)

    def search(self, question: Wording, rounds: SearchRounds) -> Reranked:
        """All candidates, reranked with the vector of both."""
        passage = self._passage(question.text, rounds) if self.llm else ""
        return rounds.rank(replace(question, passages=(passage,)) if passage else question, self.legs)

    def _passage(self, question: str, rounds: SearchRounds) -> str:
        if self.llm is None:
            return ""
        reply = asked(self.llm, _PROMPT.format(question=question), rounds, "the question was asked as hybrid")
        passage = " ".join(reply.split())[:MOST_CHARACTERS]
        if len(passage.split()) >= FEWEST_WORDS:
            return passage
        if not rounds.failures:
            rounds.tell_failure("The language model wrote no passage for hyde; the question was asked as hybrid.")
        return ""
