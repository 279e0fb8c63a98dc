"""The words of a question as people wrote them, and which of them a passage has."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.text.normalise import words_of

from elt_llm_query.rerank.matching import QuestionMatcher
from elt_llm_query.rerank.term_weights import term_weights
from elt_llm_query.retrieve.other_names import renamed
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.retrieve.wording import OtherNames


@dataclass(frozen=True)
class Term:
    """A stem of the question: as it was written, its weight (0 or more) and in how many nodes it occurs."""

    written: str
    stem: str
    weight: float
    nodes: int

    def as_dict(self) -> dict[str, str | float]:
        """For the trace."""
        return {"written": self.written, "stem": self.stem, "weight": self.weight, "nodes": self.nodes}


@dataclass(frozen=True)
class Matched:
    """Words of the question that a passage has, in the question's order, as they were written there.

    `within` are those that it has by another name, only as part of a longer word, or only a part of.
    """

    words: tuple[str, ...]
    within: tuple[str, ...]


class QuestionWords:
    """The words of one question in one collection; `names` are other names of what it names."""

    def __init__(self, question: str, generation: Searchable, names: Sequence[OtherNames] = ()) -> None:
        tokeniser = generation.keyword.tokeniser
        stems = tokeniser.stems(question)
        written: dict[str, str] = {}
        for word in words_of(question):
            for stem in tokeniser.stems(word):
                written.setdefault(stem, word)
        weights = term_weights(stems, generation)
        frequency = generation.keyword.document_frequency
        self.terms = tuple(
            Term(written.get(stem, stem), stem, weight, frequency(stem)) for stem, weight in weights.items()
        )
        self._matcher = QuestionMatcher(stems, weights)
        self._names, self._generation = tuple(names), generation

    def matched(self, stems: Sequence[str]) -> Matched:
        """What a passage of these stems has of the question."""
        named = renamed(stems, self._names, self._generation) if self._names else stems
        found, present = self._matcher.found([*stems, *named]), set(stems)
        words = tuple(dict.fromkeys(term.written for term in self.terms if term.stem in present))
        within = dict.fromkeys(term.written for term in self.terms if term.stem in found - present)
        return Matched(words, tuple(word for word in within if word not in words))
