"""Other names of what a question names, as keyword search takes them: a passage with one of them has the name.

Among a name and its others the best counts, as in Lucene's DisjunctionMaxQuery: names that mean the same are not
matched several times over, and a rare one does not outweigh what was typed.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from elt_llm_core.text.normalise import words
from numpy.typing import NDArray

from elt_llm_query.rerank.term_weights import term_weights
from elt_llm_query.retrieve.searchable import Searchable
from elt_llm_query.retrieve.wording import OtherNames

WEIGHT = 0.8  # of another name beside the one that was typed

Scored = NDArray[np.float32]


def with_other_names(
    scores: Scored, names: Sequence[OtherNames], generation: Searchable, score: Callable[[str], Scored]
) -> Scored:
    """BM25 scores of a question with what the other names add; `score` gives those of a text for the same nodes.

    Another name counts where all its words are, by WEIGHT, and by no more than the name itself could reach.
    """
    for named in names:
        best = np.zeros_like(scores)
        for other in named.others:
            best = np.maximum(best, _share(named.name, other, generation) * _where_whole(other, generation, score))
        scores = scores + np.maximum(best - score(named.name), 0.0, dtype=np.float32)
    return scores


def renamed(stems: Sequence[str], names: Sequence[OtherNames], generation: Searchable) -> list[str]:
    """The stems of a passage with those of every other name replaced by those of the name that was typed."""
    cut = generation.keyword.tokeniser.stems
    found = list(stems)
    for named in names:
        for other in named.others:
            found = _replaced(found, cut(other), cut(named.name))
    return found


def _share(name: str, other: str, generation: Searchable) -> float:
    reached = [_attainable(one, generation) for one in (name, other)]
    return WEIGHT * min(1.0, reached[0] / reached[1]) if reached[1] > 0 else 0.0


def _attainable(name: str, generation: Searchable) -> float:
    return math.fsum(term_weights(generation.keyword.tokeniser.stems(name), generation).values())


def _where_whole(name: str, generation: Searchable, score: Callable[[str], Scored]) -> Scored:
    parts = [score(word) for word in words(name) if generation.keyword.tokeniser.stems(word)]
    whole = np.logical_and.reduce([part > 0 for part in parts])
    return np.asarray(np.where(whole, np.sum(parts, axis=0), 0.0), dtype=np.float32)


def _replaced(stems: list[str], run: list[str], instead: list[str]) -> list[str]:
    if not run or run[0] not in stems:
        return stems
    made: list[str] = []
    place = 0
    while place < len(stems):
        if stems[place : place + len(run)] == run:
            made += instead
            place += len(run)
        else:
            made.append(stems[place])
            place += 1
    return made
