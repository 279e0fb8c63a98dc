"""Several ways to put the question, asked one after the other; what more than one of them finds comes first."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elt_llm_query.rerank.model_reranker import Reranked
from elt_llm_query.retrieve.rounds import SearchRounds
from elt_llm_query.retrieve.wording import LegChoice, Wording
from elt_llm_query.strategies.combining import tell_combined, with_best_of
from elt_llm_query.strategies.variants import variants_by_model, variants_by_rules
from elt_llm_query.understand import QuestionReader

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

NO_MODEL = "No language model is in use: the variants of the question that multi_query asks are made by rules."
VARIANT_SHARE = 0.5
"""What the best score under a variant weighs beside that of the question itself."""


@dataclass(frozen=True)
class MultiQuery:
    """The question and at most `num_queries` variants: by the language model if there is one, else by rules."""

    legs: LegChoice
    num_queries: int
    llm: "LLM | None" = None
    name: str = "multi_query"
    reader: QuestionReader = field(default_factory=QuestionReader)

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the variants come from, if not from a model."""
        return () if self.llm else (NO_MODEL,)

    def search(self, question: Wording, rounds: SearchRounds) -> Reranked:
        """The candidates of the question and of its variants."""
        first = rounds.rank(question, self.legs)
        variants = self._variants(question.text, rounds)
        if not variants:
            return first
        others = [rounds.rank(Wording(variant), self.legs).candidates for variant in variants]
        combined = with_best_of(first.candidates, others, VARIANT_SHARE)
        tell_combined(rounds, combined, {"variants": variants})
        return Reranked(combined, first.notes, first.model_scores)

    def _variants(self, text: str, rounds: SearchRounds) -> list[str]:
        written = variants_by_model(text, self.num_queries, self.llm, rounds) if self.llm else []
        return written or variants_by_rules(self.reader.read(text), self.num_queries)
