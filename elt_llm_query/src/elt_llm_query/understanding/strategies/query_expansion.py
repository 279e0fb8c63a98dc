"""Query expansion: multi-query and HyDE.

Multi-query searches for several variants of the question. HyDE searches with the mean of two vectors: the question's
and a hypothetical answer's. Source: Gao, Ma, Lin and Callan, "Precise Zero-Shot Dense Retrieval without Relevance
Labels", ACL 2023.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from llama_index.core.llms import LLM

from elt_llm_query.rerank.reranker import RerankResult
from elt_llm_query.retrieve.query_variant import QueryVariant, RetrieverChoice
from elt_llm_query.understanding.question import ParsedQuestion, parse_question
from elt_llm_query.understanding.strategies.strategy import (
    PassRunner,
    add_best_scores,
    ask_helper_model,
    combined_result,
    reply_lines,
)

_PROMPTS = Path(__file__).parent / "prompts"
_VARIANTS_PROMPT = (_PROMPTS / "variants.txt").read_text(encoding="utf-8")
_HYDE_PROMPT = (_PROMPTS / "hypothetical_answer.txt").read_text(encoding="utf-8")
NO_MODEL_FOR_VARIANTS = "No language model is in use, so rules made the variants of the question for multi_query."
_LONGEST_VARIANT = 300  # characters
VARIANT_SHARE = 0.5  # weight of a chunk's best score for a variant, relative to its score for the question


def variants_by_rules(question: ParsedQuestion, most: int) -> list[str]:
    """Return at most `most` variants of the question, made without a language model.

    First come the question's parts, as in "what ..., and how ...?". If it has several names, each of the first three
    follows, together with all content words that belong to no name. The last variant is all content words.
    """
    variants = list(question.parts)
    if len(question.names) > 1:
        rest = [word for word in question.surfaces if not any(word in name for name in question.names)]
        variants += [" ".join([name, *rest]) for name in question.names[:3]]
    variants.append(" ".join(question.surfaces))
    return _usable(variants, question.text, most)


def _usable(variants: list[str], question: str, most: int) -> list[str]:
    """Return the first `most` distinct variants. Empty, very long ones and the question itself are left out."""
    distinct: dict[str, str] = {}
    for variant in variants:
        if len(variant) <= _LONGEST_VARIANT:
            distinct.setdefault(variant.casefold(), variant)
    return [variant for folded, variant in distinct.items() if folded not in {question.casefold(), ""}][:most]


@dataclass(frozen=True)
class MultiQueryStrategy:
    """Searches for the question and at most `num_queries` variants, made by a language model or by rules."""

    retrievers: RetrieverChoice
    num_queries: int
    llm: LLM | None = field(default=None, repr=False)  # may show its key
    name: str = "multi_query"

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that rules make the variants, if there is no language model."""
        return () if self.llm else (NO_MODEL_FOR_VARIANTS,)

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """Return the candidates for the question and its variants, best first."""
        first = passes.run(question, self.retrievers)
        variants = self._variants_by_model(question.text, passes)
        variants = variants or variants_by_rules(parse_question(question.text), self.num_queries)
        if not variants:
            return first
        others = [passes.run(QueryVariant(variant), self.retrievers).candidates for variant in variants]
        combined = add_best_scores(first.candidates, others, VARIANT_SHARE)
        return combined_result(passes, first, combined, variants=variants)

    def _variants_by_model(self, question: str, passes: PassRunner) -> list[str]:
        """Return the language model's variants. If it fails or writes none, return none and report the failure."""
        if self.llm is None:
            return []
        instead = "variants of the question were made by rules"
        prompt = _VARIANTS_PROMPT.format(number=self.num_queries, question=question)
        reply = ask_helper_model(self.llm, prompt, passes, instead)
        variants = _usable(reply_lines(reply), question, self.num_queries)
        if reply and not variants:
            passes.failures.append(f"The language model wrote no variant of the question; {instead}.")
        return variants


NO_MODEL_FOR_HYDE = "The strategy hyde needs a language model, and none is in use; hybrid was used instead."
MOST_HYDE_CHARACTERS = 800  # short enough for an embedding model to read completely


@dataclass(frozen=True)
class HydeStrategy:
    """Searches once, with a vector that includes a hypothetical answer. If a model writes none, acts like `hybrid`."""

    retrievers: RetrieverChoice
    llm: LLM | None = field(default=None, repr=False)  # may show its key
    name: str = "hyde"

    @property
    def notes(self) -> tuple[str, ...]:
        """A note about the fallback, if there is no language model."""
        return () if self.llm else (NO_MODEL_FOR_HYDE,)

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """Return all candidates for the question and its hypothetical answer."""
        answer = self._hypothetical_answer(question.text, passes)
        variant = replace(question, hypothetical_answers=(answer,)) if answer else question
        return passes.run(variant, self.retrievers)

    def _hypothetical_answer(self, question: str, passes: PassRunner) -> str:
        if self.llm is None:
            return ""
        prompt = _HYDE_PROMPT.format(question=question)
        reply = ask_helper_model(self.llm, prompt, passes, "hybrid was used instead of hyde")
        answer = " ".join(reply.split())[:MOST_HYDE_CHARACTERS]
        if len(answer.split()) >= 3:  # fewer words are no answer
            return answer
        if not passes.failures:
            passes.failures.append("The language model wrote no answer for hyde; hybrid was used instead.")
        return ""
