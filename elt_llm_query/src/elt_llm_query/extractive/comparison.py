"""Choose a sentence for each of the two things that a question compares."""

from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.text.normalise import fold

from elt_llm_query.extractive.sentence_scores import ScoredSentence, ScoringContext
from elt_llm_query.understanding.patterns import PatternFile

_COMPARED = PatternFile(Path(__file__).with_name("patterns.toml")).pattern("compared")
_MOST_TERMS = 4  # of each thing: the words nearest to "versus"
_FARTHEST = 0.4  # below the best score
_COST_OF_OTHER = 0.1  # of the score, for a sentence that names both things


def compared_sentences(context: ScoringContext, scored: Sequence[ScoredSentence]) -> list[ScoredSentence]:
    """Return the best sentence for each thing that the question compares; nothing if one of them has none."""
    found = _COMPARED.search(fold(context.question.text))
    if not found or not scored:
        return []
    near = [one for one in scored if one.score >= scored[0].score - _FARTHEST]
    ordered = [context.tokeniser.stems(f"{one.candidate.readable} {one.candidate.topic}") for one in near]
    left, right = (context.tokeniser.stems(side) for side in found.groups() if side)
    first, second = set(left[-_MOST_TERMS:]), set(right[:_MOST_TERMS])
    known = set[str]().union(*ordered)

    def rarest(own: set[str], other: set[str]) -> str:
        return max((own - other) & known or own & known, key=lambda term: (context.weights.idf(term), term), default="")

    keys = rarest(first, second), rarest(second, first)
    best = [_best_about(near, ordered, own, other) for own, other in (keys, keys[::-1])]
    return [one for one in best if one] if all(best) and keys[0] != keys[1] else []


def _best_about(
    near: Sequence[ScoredSentence], ordered: Sequence[Sequence[str]], own: str, other: str
) -> ScoredSentence | None:
    """Return the best sentence about one of two compared things, or None.

    `own` and `other` are the stems that identify the two things. A sentence may name the other thing only after its
    own, which lowers its score. `ordered` has the stems of each sentence in order.
    """
    about = [
        (one.score - (_COST_OF_OTHER if other in one.stems else 0.0), one)
        for one, stems in zip(near, ordered, strict=True)
        if own in stems and (other not in stems or stems.index(own) < stems.index(other))
    ]
    return max(about, key=lambda entry: entry[0])[1] if about else None
