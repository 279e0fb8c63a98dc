"""The strategy protocols, the single search, the automatic choice, and what strategies share."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from elt_llm_core.errors import EltError
from elt_llm_core.models.completion import complete_prompt

from elt_llm_query.rerank.embedding import RerankResult
from elt_llm_query.retrieve.fusion import SearchCandidate, best_first
from elt_llm_query.retrieve.pools import OpenCollection
from elt_llm_query.retrieve.query_variant import QueryVariant, RetrieverChoice
from elt_llm_query.retrieve.trace import ChooseDetails, CombineDetails, StageLog
from elt_llm_query.understanding.question import ASKING_WORDS, ParsedQuestion, QuestionReader

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


class PassRunner(Protocol):
    """Runs the search passes of one question; each records its stages in the log."""

    @property
    def collections(self) -> tuple[OpenCollection, ...]:
        """The collections that may be searched; of many, each pass searches the best."""

    @property
    def log(self) -> StageLog:
        """The log for stages of the strategy itself."""

    @property
    def cancelled(self) -> Callable[[], bool] | None:
        """Returns True if nobody waits for the result any more; helper models check it."""

    @property
    def failures(self) -> tuple[str, ...]:
        """What failed so far, in sentences."""

    def report_failure(self, sentence: str) -> None:
        """Record that something failed and was left out, so that the result is not cached."""

    def run(self, variant: QueryVariant, retrievers: RetrieverChoice) -> RerankResult:
        """Run one pass: all candidates of the retrievers, reranked by the text of the variant.

        Raises RetrievalError if no retriever of any collection worked.
        """


class Strategy(Protocol):
    """Searches for a question in one or more passes. It keeps nothing of a question and serves many threads."""

    @property
    def name(self) -> str:
        """The name in the settings."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the strategy cannot do in its setup, in sentences for every result."""

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """All candidates, best first, each once. Raises RetrievalError if no retriever of any collection worked."""


@dataclass(frozen=True)
class SingleSearchStrategy:
    """One pass with the given retrievers: `dense`, `sparse` and `hybrid`."""

    name: str
    retrievers: RetrieverChoice
    notes: tuple[str, ...] = ()

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """All candidates of the retrievers, reranked."""
        return passes.run(question, self.retrievers)


MOST_LOOKED_UP = 3  # words of a question that is only a designation
FEWEST_IN_STEPS = 10  # words: shorter questions have no room for a second step

_CODE = re.compile(r"[A-Za-z]{0,20}\d[\w./#+-]{0,40}|[A-Z][A-Z0-9&]{1,20}|\w{1,20}(?:\+\+|#)")
_COMPARES = re.compile(
    r"\b(?:both|beide|in common|gemeinsam|compared?|vergleich\w{0,4}|versus|vs|differences?|unterschied\w{0,3})\b"
    r"|\b(?:more|less|\w{2,20}er|mehr|weniger)\b.{0,200}\b(?:or|oder|than|als)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class StrategyRoute:
    """The strategy for a question, with the reason."""

    strategy: str
    reason: str


@dataclass(frozen=True)
class AutoStrategy:
    """Chooses a strategy for each question; `strategies` are the choices by name."""

    strategies: Mapping[str, Strategy]
    name: str = "auto"
    notes: tuple[str, ...] = ()
    reader: QuestionReader = field(default_factory=QuestionReader)

    def search(self, question: QueryVariant, passes: PassRunner) -> RerankResult:
        """Search by the chosen strategy. A designation that no chunk has is searched by `hybrid`."""
        with passes.log.stage(ChooseDetails.stage) as stage:
            route = choose_route(self.reader.read(question.text))
            stage.record(1, ChooseDetails(strategy=route.strategy, reason=route.reason))
        result = self.strategies[route.strategy].search(question, passes)
        if result.candidates or route.strategy != "sparse":
            return result
        return self.strategies["hybrid"].search(question, passes)


def choose_route(question: ParsedQuestion) -> StrategyRoute:
    """Choose the strategy for a question by rules."""
    text, words = question.text, question.text.split()
    if len(words) <= MOST_LOOKED_UP and all(_CODE.fullmatch(word.strip("?.,")) for word in words):
        return StrategyRoute("sparse", "it is nothing but a designation")
    if len(question.parts) > 1:
        return StrategyRoute("multi_query", "it asks for two things")
    if len(question.names) > 1 and _COMPARES.search(text):
        return StrategyRoute("multi_query", "it compares what it names")
    asks = text.endswith("?") or (words[:1] and words[0].lower() in ASKING_WORDS)
    if asks and len(words) >= FEWEST_IN_STEPS and question.names:
        return StrategyRoute("multi_hop", "it is long and names something, from which the answer may be a step away")
    return StrategyRoute("hybrid", "it asks for one thing")


Key = tuple[str, str]
"""Collection and node id."""


def candidate_key(candidate: SearchCandidate) -> Key:
    """Identifies a chunk."""
    return candidate.collection, candidate.node_id


def deduplicate(rankings: Iterable[Sequence[SearchCandidate]]) -> dict[Key, SearchCandidate]:
    """The candidates of all rankings; one in several rankings is taken from the first of them."""
    kept: dict[Key, SearchCandidate] = {}
    for ranking in rankings:
        for candidate in ranking:
            kept.setdefault(candidate_key(candidate), candidate)
    return kept


def add_best_scores(
    first: Sequence[SearchCandidate], others: Sequence[Sequence[SearchCandidate]], weight: float
) -> list[SearchCandidate]:
    """Score by the first ranking plus `weight` times the best of the others; a missing candidate scores 0.

    Best first, ties by node id; scores are within 0..1.
    """
    best: dict[Key, float] = {}
    for ranking in others:
        for candidate in ranking:
            best[candidate_key(candidate)] = max(best.get(candidate_key(candidate), 0.0), candidate.score)
    own = {candidate_key(candidate): candidate.score for candidate in first}
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
    """Record the stage `combine` with the ranking of all passes together, and return it as the result."""
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


def ask_helper_model(llm: "LLM", prompt: str, passes: PassRunner, instead: str) -> str:
    """The reply of a helper model; empty, with a reported failure, if the model does not work.

    The call ends in bounded time, whatever the server does; `instead` is what is done without the model.
    """
    try:
        reply = complete_prompt(llm, prompt, passes.cancelled).text[:MOST_REPLIED]
    except EltError as failure:
        passes.report_failure(f"The language model did not help to search ({failure}); {instead}.")
        return ""
    if passes.cancelled is not None and passes.cancelled():
        passes.report_failure(f"Nobody waits for the answer any more; {instead}.")
        return ""
    return reply


def reply_lines(reply: str) -> list[str]:
    """The lines with letters or digits, without list marks and quotation marks; each once."""
    bare = (_MARK.sub("", line).strip(_QUOTES) for line in reply.splitlines())
    return list(dict.fromkeys(" ".join(line.split()) for line in bare if any(map(str.isalnum, line))))
