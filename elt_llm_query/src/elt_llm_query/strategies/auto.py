"""The strategy chosen for each question by what it looks like; the trace says which, and why."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from elt_llm_query.question_patterns import ASKING_WORDS
from elt_llm_query.rerank.model_reranker import Reranked
from elt_llm_query.retrieve.rounds import SearchRounds
from elt_llm_query.retrieve.wording import Wording
from elt_llm_query.strategies.strategy import Strategy
from elt_llm_query.understand import Question, QuestionReader

MOST_LOOKED_UP = 3  # words of a question that is nothing but a designation
FEWEST_IN_STEPS = 10  # words: shorter questions have no room for a second step

_CODE = re.compile(r"[A-Za-z]{0,20}\d[\w./#+-]{0,40}|[A-Z][A-Z0-9&]{1,20}|\w{1,20}(?:\+\+|#)")
_COMPARES = re.compile(
    r"\b(?:both|beide|in common|gemeinsam|compared?|vergleich\w{0,4}|versus|vs|differences?|unterschied\w{0,3})\b"
    r"|\b(?:more|less|\w{2,20}er|mehr|weniger)\b.{0,200}\b(?:or|oder|than|als)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Route:
    """Where a question goes, and what of it says so."""

    strategy: str
    reason: str


@dataclass(frozen=True)
class Auto:
    """`strategies` holds those that a route leads to, by name."""

    strategies: Mapping[str, Strategy]
    name: str = "auto"
    notes: tuple[str, ...] = ()
    reader: QuestionReader = field(default_factory=QuestionReader)

    def search(self, question: Wording, rounds: SearchRounds) -> Reranked:
        """As the chosen strategy finds it. A designation that no passage has is asked for as `hybrid`."""
        with rounds.log.stage("choose") as stage:
            route = route_of(self.reader.read(question.text))
            stage.kept = 1
            stage.details["strategy"] = route.strategy
            stage.details["reason"] = route.reason
        found = self.strategies[route.strategy].search(question, rounds)
        if found.candidates or route.strategy != "sparse":
            return found
        return self.strategies["hybrid"].search(question, rounds)


def route_of(question: Question) -> Route:
    """The strategy for a question, by rules."""
    text, words = question.text, question.text.split()
    if len(words) <= MOST_LOOKED_UP and all(_CODE.fullmatch(word.strip("?.,")) for word in words):
        return Route("sparse", "it is nothing but a designation")
    if len(question.parts) > 1:
        return Route("multi_query", "it asks for two things")
    if len(question.names) > 1 and _COMPARES.search(text):
        return Route("multi_query", "it compares what it names")
    asks = text.endswith("?") or (words[:1] and words[0].lower() in ASKING_WORDS)
    if asks and len(words) >= FEWEST_IN_STEPS and question.names:
        return Route("multi_hop", "it is long and names something, from which the answer may be a step away")
    return Route("hybrid", "it asks for one thing")
