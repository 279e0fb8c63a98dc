"""How well each candidate sentence answers: nearness in meaning, shared words, its passage, the value expected."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from elt_llm_core.results import RetrievedChunk
from numpy.typing import NDArray

from elt_llm_query.answer.asking import Asking
from elt_llm_query.answer.candidates import Candidate
from elt_llm_query.answer.expected_values import support
from elt_llm_query.answer.term_weights import rival_numbers
from elt_llm_query.understand import Question

MOST_EMBEDDED = 24
# A conditional logit over the sentences of each question's passages, fitted on paraphrased handbook questions and on
# reading-comprehension sets in English and German, rounded; see docs/decisions/0003-abstention.md.
_WEIGHT_COSINE = 0.5
_WEIGHT_COVERAGE = 0.3
_WEIGHT_AROUND = 0.5
_WEIGHT_PASSAGE = 0.25
_WEIGHT_PASSAGE_COSINE = 0.3
_WEIGHT_RIVAL = 0.35
_WEIGHT_FRAGMENT = 0.06
_WEIGHT_FIGURE = 0.35
_WEIGHT_PERSON = 0.2
_WEIGHT_OTHER_VALUE = 0.15


@dataclass(frozen=True)
class ScoredSentence:
    """A candidate, the parts of its score and the stems it was compared by."""

    candidate: Candidate
    cosine: float
    coverage: float
    """Share of the question's weight in the sentence itself."""
    around: float
    """What its headings and the sentence before add to that, at half weight."""
    passage: float
    """Score of its passage, 1 for the best."""
    passage_cosine: float
    support: float
    support_weight: float
    rivals: int
    stems: frozenset[str]
    own_stems: frozenset[str]
    vector: NDArray[np.float32]

    @property
    def relevance(self) -> float:
        """How much the sentence is about the question, whatever value it holds."""
        return (
            _WEIGHT_COSINE * self.cosine
            + _WEIGHT_COVERAGE * self.coverage
            + _WEIGHT_AROUND * self.around
            + _WEIGHT_PASSAGE * self.passage
            + _WEIGHT_PASSAGE_COSINE * self.passage_cosine
        )

    @property
    def score(self) -> float:
        """Relevance, less what is missing of the expected value and what contradicts the question's numbers."""
        missing = self.support_weight * (1.0 - self.support)
        fragment = 0.0 if self.candidate.whole else _WEIGHT_FRAGMENT
        return self.relevance - missing - fragment - _WEIGHT_RIVAL * min(self.rivals, 1)


@dataclass(frozen=True)
class Draft:
    """A candidate before it is embedded."""

    candidate: Candidate
    stems: frozenset[str]
    own_stems: frozenset[str]
    coverage: float
    around: float
    passage: float


def score_sentences(
    asking: Asking, chunks: Sequence[RetrievedChunk], found: Sequence[Candidate]
) -> list[ScoredSentence]:
    """The most promising candidates with their scores, best first; ties by place."""
    drafts = _promising(_drafts(asking, chunks, found))
    vectors = asking.embed([draft.candidate.meant for draft in drafts])
    scored = [_score(asking, chunks, draft, vector) for draft, vector in zip(drafts, vectors, strict=True)]
    return sorted(
        scored, key=lambda sentence: (-round(sentence.score, 6), sentence.candidate.chunk, sentence.candidate.start)
    )


def _score(
    asking: Asking, chunks: Sequence[RetrievedChunk], draft: Draft, vector: NDArray[np.float32]
) -> ScoredSentence:
    question, chunk = asking.question, chunks[draft.candidate.chunk]
    cosine = round(asking.nearness(vector), 6)
    return ScoredSentence(
        candidate=draft.candidate,
        cosine=cosine,
        coverage=draft.coverage,
        around=draft.around,
        passage=draft.passage,
        passage_cosine=cosine if chunk.cosine is None else chunk.cosine,
        support=support(question, draft.candidate.spoken),
        support_weight=_support_weight(question),
        rivals=rival_numbers(question.text, f"{chunk.context}\n{draft.candidate.spoken}"),
        stems=draft.stems,
        own_stems=draft.own_stems,
        vector=vector,
    )


def _drafts(asking: Asking, chunks: Sequence[RetrievedChunk], found: Sequence[Candidate]) -> list[Draft]:
    best = max((chunk.score for chunk in chunks), default=0.0)
    drafts: list[Draft] = []
    for candidate in found:
        chunk = chunks[candidate.chunk]
        follows = bool(drafts) and drafts[-1].candidate.chunk == candidate.chunk
        headings = asking.stems(f"{chunk.context} {chunk.source_title} {candidate.topic}")
        around = (drafts[-1].stems if follows else frozenset()) | headings
        stems = asking.stems(candidate.meant)
        own = asking.stems(candidate.spoken) if candidate.asked else stems
        coverage = asking.coverage(stems)
        passage = chunk.score / best if best > 0 else 0.0
        drafts.append(
            Draft(
                candidate,
                stems,
                own,
                coverage,
                asking.coverage(stems, around) - coverage,
                passage,
            )
        )
    return drafts


def _promising(drafts: Sequence[Draft]) -> list[Draft]:
    """At most as many as may be embedded in good time; those of poor passages sharing no word go first."""
    ranked = sorted(range(len(drafts)), key=lambda i: (-(drafts[i].coverage + drafts[i].around + drafts[i].passage), i))
    return [drafts[i] for i in sorted(ranked[:MOST_EMBEDDED])]


def _support_weight(question: Question) -> float:
    if question.expects_figure:
        return _WEIGHT_FIGURE
    return _WEIGHT_PERSON if question.expects == "person" else _WEIGHT_OTHER_VALUE
