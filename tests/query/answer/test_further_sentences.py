"""How far below the best sentence another may lie and still be quoted."""

import numpy as np
import pytest
from elt_llm_query.answer.candidates import Candidate
from elt_llm_query.answer.selection import choose, weighty
from elt_llm_query.answer.sentence_scores import ScoredSentence

AXES = np.eye(8, dtype=np.float32)


def scored(*scores: float, coverage: float) -> list[ScoredSentence]:
    """Sentences of those scores that have nothing in common."""
    return [_sentence(place, score, coverage) for place, score in enumerate(scores)]


def _sentence(place: int, score: float, coverage: float) -> ScoredSentence:
    return ScoredSentence(
        candidate=Candidate(0, place * 10, place * 10 + 9, f"sentence {place}.", "prose", ""),
        cosine=0.0,
        coverage=coverage,
        around=0.0,
        passage=(score - 0.3 * coverage) / 0.25,
        passage_cosine=0.0,
        support=1.0,
        support_weight=0.0,
        rivals=0,
        stems=frozenset({str(place)}),
        own_stems=frozenset({f"word{'abcdefgh'[place]}"}),
        vector=AXES[place],
    )


@pytest.mark.parametrize(("coverage", "quoted"), [(1.0, 1), (0.5, 2), (0.0, 3)])
def test_the_more_of_the_question_the_best_covers_the_fewer_are_added(coverage: float, quoted: int) -> None:
    assert len(choose(scored(1.0, 0.8, 0.6, coverage=coverage), 3)) == quoted


def test_no_more_are_quoted_than_are_asked_for() -> None:
    assert len(choose(scored(1.0, 1.0, 1.0, 1.0, coverage=1.0), 3)) == 3
    assert choose([], 3) == []


def test_what_is_quoted_beside_the_nearest_decides_nothing() -> None:
    sentences = scored(1.0, 0.9, 0.8, coverage=0.0)
    assert len(choose(sentences, 3)) == 3
    assert len(weighty(sentences, 3)) == 2


def test_for_two_things_the_second_may_lie_further_below() -> None:
    sentences = scored(1.0, 0.7, coverage=1.0)
    assert len(choose(sentences, 3)) == 1
    assert len(choose(sentences, 3, twofold=True)) == 2
