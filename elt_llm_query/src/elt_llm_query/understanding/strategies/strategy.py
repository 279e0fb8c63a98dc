"""What strategies share (protocols, functions), and two strategies: single search and automatic choice."""

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol

from elt_llm_core.errors import EltError
from elt_llm_core.models.completion import complete_prompt
from elt_llm_core.text.languages import word_pattern
from llama_index.core.llms import LLM

from elt_llm_query.rerank.reranker import RerankResult
from elt_llm_query.retrieve.fusion import NodeKey, SearchCandidate, best_first
from elt_llm_query.retrieve.pools import OpenCollection
from elt_llm_query.retrieve.query_variant import QueryVariant, RetrieverChoice
from elt_llm_query.retrieve.trace import ChooseDetails, CombineDetails, StageLog
from elt_llm_query.understanding.question import ASKING_WORDS, ParsedQuestion, parse_question


@dataclass
class PassRunner(ABC):
    """Runs the search passes of one question. Each pass records its stages in the log.

    If there are many collections, each pass searches only the best. Model calls stop once `cancelled` returns True.
    `failures` describes failures so far, in sentences; a result with failures is not cached.
    """

    collections: tuple[OpenCollection, ...]
    log: StageLog
    cancelled: Callable[[], bool] | None = None
    failures: list[str] = field(default_factory=list)

    @abstractmethod
    def run(self, variant: QueryVariant, retrievers: RetrieverChoice) -> RerankResult:
        """Return all candidates, reranked by the variant's text. Raises RetrievalError if every retriever failed."""


class Strategy(Protocol):
    """A strategy searches for a question in one or more passes. It has no state, so many threads may share it."""

    @property
    def name(self) -> str:
        """The strategy's name in the settings."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for every result, such as on a missing language model."""

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """Return each candidate once, best first. Raises RetrievalError if every retriever failed."""


@dataclass(frozen=True)
class SingleSearchStrategy:
    """The strategies `dense`, `sparse` and `hybrid`: one pass with the given retrievers."""

    name: str
    retrievers: RetrieverChoice
    notes: tuple[str, ...] = ()

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """Return all candidates of the retrievers, reranked."""
        return passes.run(question, self.retrievers)


MOST_LOOKED_UP = 3  # words; a longer question is not a mere code to look up
FEWEST_IN_STEPS = 10  # words; shorter questions rarely need a second hop

_CODE = re.compile(r"[A-Za-z]{0,20}\d[\w./#+-]{0,40}|[A-Z][A-Z0-9&]{1,20}|\w{1,20}(?:\+\+|#)")
_COMPARES = word_pattern(r"\b@comparing@\b|\b(?:@more_or_less@|\w{2,20}er)\b.{0,200}\b@than@\b", re.IGNORECASE)


@dataclass(frozen=True)
class AutoStrategy:
    """Chooses another strategy for each question. `strategies` contains the choices by name."""

    strategies: Mapping[str, Strategy]
    name: str = "auto"
    notes: tuple[str, ...] = ()

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """Search with the chosen strategy. If it is `sparse` and finds no chunk, search with `hybrid`."""
        with passes.log.stage(ChooseDetails.stage) as stage:
            route = choose_route(parse_question(question.text))
            stage.record(1, route)
        result = self.strategies[route.strategy].search(question, passes)
        if result.candidates or route.strategy != "sparse":
            return result
        return self.strategies["hybrid"].search(question, passes)


def choose_route(question: ParsedQuestion) -> ChooseDetails:
    """Choose the strategy for a question by rules. Return its name and the reason."""
    text, words = question.text, question.text.split()
    if len(words) <= MOST_LOOKED_UP and all(_CODE.fullmatch(word.strip("?.,")) for word in words):
        return ChooseDetails(strategy="sparse", reason="it consists only of codes")
    if len(question.parts) > 1:
        return ChooseDetails(strategy="multi_query", reason="it asks for two things")
    if len(question.names) > 1 and _COMPARES.search(text):
        return ChooseDetails(strategy="multi_query", reason="it compares things that it names")
    asks = text.endswith("?") or (words[:1] and words[0].lower() in ASKING_WORDS)
    if asks and len(words) >= FEWEST_IN_STEPS and question.names:
        return ChooseDetails(
            strategy="multi_hop", reason="it is long and names something, so the answer may need a second search"
        )
    return ChooseDetails(strategy="hybrid", reason="it asks for one thing")


def deduplicate(rankings: Iterable[Sequence[SearchCandidate]]) -> dict[NodeKey, SearchCandidate]:
    """Return the distinct candidates of all rankings, by key. For repeated ones, the first ranking counts."""
    kept: dict[NodeKey, SearchCandidate] = {}
    for candidate in chain.from_iterable(rankings):
        kept.setdefault(candidate.key, candidate)
    return kept


def add_best_scores(
    first: Sequence[SearchCandidate], others: Sequence[Sequence[SearchCandidate]], weight: float
) -> list[SearchCandidate]:
    """Score candidates by (score in `first` + `weight` x best score in `others`) / (1 + `weight`), and sort them."""
    best: dict[NodeKey, float] = defaultdict(float)
    for candidate in chain.from_iterable(others):
        best[candidate.key] = max(best[candidate.key], candidate.score)
    own = {candidate.key: candidate.score for candidate in first}
    return best_first(
        [
            replace(candidate, score=(own.get(key, 0.0) + weight * best.get(key, 0.0)) / (1.0 + weight))
            for key, candidate in deduplicate([first, *others]).items()
        ]
    )


def combined_result(
    passes: PassRunner,
    first: RerankResult,
    candidates: list[SearchCandidate],
    *,
    variants: Sequence[str] | None = None,
    follow_ups: Sequence[Mapping[str, str]] | None = None,
) -> RerankResult:
    """Return the combined ranking of all passes as a result, and record it in the stage `combine`."""
    with passes.log.stage(CombineDetails.stage) as stage:
        details = CombineDetails(
            variants=variants,
            follow_ups=follow_ups,
            ranking=[(candidate.node_id, candidate.score) for candidate in candidates],
            parts=[(candidate.node_id, candidate.parts()) for candidate in candidates],
        )
        stage.record(len(candidates), details)
    return RerankResult(candidates, first.notes, first.model_scores)


MOST_REPLIED = 4000  # characters of a reply that are read
_MARK = re.compile(r"^\s{0,20}(?:[-*\u2022\u2013]|\(?\d{1,2}[.):])\s{0,5}")
_QUOTES = "\"'`\u201c\u201d\u201e\u00ab\u00bb*_ \t"


def ask_helper_model(llm: LLM, prompt: str, passes: PassRunner, instead: str) -> str:
    """Return a model's reply, cut if very long. If the model fails, return "" and report `instead`, the fallback."""
    try:
        reply = complete_prompt(llm, prompt, passes.cancelled).text[:MOST_REPLIED]
    except EltError as failure:
        passes.failures.append(f"The language model failed during the search ({failure}); {instead}.")
        return ""
    if passes.cancelled is not None and passes.cancelled():
        passes.failures.append(f"The question was cancelled; {instead}.")
        return ""
    return reply


def reply_lines(reply: str) -> list[str]:
    """Return the distinct lines of a reply that contain letters or digits, without list marks or quotation marks."""
    bare = (_MARK.sub("", line).strip(_QUOTES) for line in reply.splitlines())
    return list(dict.fromkeys(" ".join(line.split()) for line in bare if any(map(str.isalnum, line))))
