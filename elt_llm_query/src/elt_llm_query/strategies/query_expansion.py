"""Query expansion: multi-query and HyDE.

Multi-query searches several variants of the question. HyDE embeds the mean of the question's vector and that of a
made-up chunk that could answer it: Gao, Ma, Lin and Callan, "Precise Zero-Shot Dense Retrieval without Relevance
Labels", ACL 2023.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_query.rerank.embedding import RerankResult
from elt_llm_query.retrieve.query_variant import QueryVariant, RetrieverChoice
from elt_llm_query.strategies.strategy import (
    PassRunner,
    add_best_scores,
    ask_helper_model,
    combined_result,
    reply_lines,
)
from elt_llm_query.understanding.question import ParsedQuestion, parse_question

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

_PROMPTS = Path(__file__).parent / "prompts"
_VARIANTS_PROMPT = (_PROMPTS / "variants.txt").read_text(encoding="utf-8")
_HYDE_PROMPT = (_PROMPTS / "hypothetical_answer.txt").read_text(encoding="utf-8")
MOST_VARIANT_NAMES = 3
MOST_VARIANT_CHARACTERS = 300
NO_MODEL_FOR_VARIANTS = (
    "No language model is in use: the variants of the question that multi_query asks are made by rules."
)
VARIANT_SHARE = 0.5
"""Weight of the best score of a variant relative to that of the question itself."""


def variants_by_rules(question: ParsedQuestion, most: int) -> list[str]:
    """Each part of a twofold question; each of several names with the content words; the content words alone.

    At most `most`, none of them the question itself.
    """
    variants = list(question.parts)
    if len(question.names) > 1:
        rest = [word for word in question.surfaces if not any(word in name for name in question.names)]
        variants += [" ".join([name, *rest]) for name in question.names[:MOST_VARIANT_NAMES]]
    variants.append(" ".join(question.surfaces))
    return _usable(variants, question.text, most)


def _usable(variants: list[str], question: str, most: int) -> list[str]:
    """The first `most` variants that are not empty, too long or the question itself, each once."""
    distinct: dict[str, str] = {}
    for variant in variants:
        if len(variant) <= MOST_VARIANT_CHARACTERS:
            distinct.setdefault(variant.casefold(), variant)
    return [variant for folded, variant in distinct.items() if folded not in {question.casefold(), ""}][:most]


@dataclass(frozen=True)
class MultiQueryStrategy:
    """The question and at most `num_queries` variants: by the language model if there is one, else by rules."""

    retrievers: RetrieverChoice
    num_queries: int
    llm: "LLM | None" = None
    name: str = "multi_query"

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that variants are made by rules, if there is no model."""
        return () if self.llm else (NO_MODEL_FOR_VARIANTS,)

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """The candidates of the question and of its variants."""
        first = passes.run(question, self.retrievers)
        variants = self._variants_by_model(question.text, passes)
        variants = variants or variants_by_rules(parse_question(question.text), self.num_queries)
        if not variants:
            return first
        others = [passes.run(QueryVariant(variant), self.retrievers).candidates for variant in variants]
        combined = add_best_scores(first.candidates, others, VARIANT_SHARE)
        return combined_result(passes, first, combined, variants=variants)

    def _variants_by_model(self, question: str, passes: PassRunner) -> list[str]:
        """Variants written by a model; empty, with a reported failure, if it fails or writes none."""
        if self.llm is None:
            return []
        instead = "variants of the question were made by rules"
        prompt = _VARIANTS_PROMPT.format(number=self.num_queries, question=question)
        reply = ask_helper_model(self.llm, prompt, passes, instead)
        variants = _usable(reply_lines(reply), question, self.num_queries)
        if reply and not variants:
            passes.report_failure(f"The language model wrote no variant of the question; {instead}.")
        return variants


NO_MODEL_FOR_HYDE = "The strategy hyde needs a language model, and none is in use; the question was asked as hybrid."
FEWEST_WORDS = 3
MOST_HYDE_CHARACTERS = 800  # what an embedding model reads completely


@dataclass(frozen=True)
class HydeStrategy:
    """One pass with a hypothetical answer in the vector; the keywords remain those of the question.

    Without a model, and if the model fails or writes nothing, it is `hybrid`, and a note reports it.
    """

    retrievers: RetrieverChoice
    llm: "LLM | None" = None
    name: str = "hyde"

    @property
    def notes(self) -> tuple[str, ...]:
        """A note if there is no model."""
        return () if self.llm else (NO_MODEL_FOR_HYDE,)

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """All candidates, reranked with the vector of both."""
        answer = self._hypothetical_answer(question.text, passes)
        variant = replace(question, hypothetical_answers=(answer,)) if answer else question
        return passes.run(variant, self.retrievers)

    def _hypothetical_answer(self, question: str, passes: PassRunner) -> str:
        if self.llm is None:
            return ""
        prompt = _HYDE_PROMPT.format(question=question)
        reply = ask_helper_model(self.llm, prompt, passes, "the question was asked as hybrid")
        answer = " ".join(reply.split())[:MOST_HYDE_CHARACTERS]
        if len(answer.split()) >= FEWEST_WORDS:
            return answer
        if not passes.failures:
            passes.report_failure("The language model wrote no answer for hyde; the question was asked as hybrid.")
        return ""
