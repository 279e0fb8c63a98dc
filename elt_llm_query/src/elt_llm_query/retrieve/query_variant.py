"""Query variants: the text that is embedded and the words that are matched, with term weights and alternative names.

A name and its alternatives count once, with the score of the best match, as in Lucene's DisjunctionMaxQuery. A rare
alternative cannot score higher than the name that was typed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from elt_llm_core.collection.generation import Generation
from elt_llm_core.text.normalise import words
from numpy.typing import NDArray


@dataclass(frozen=True)
class RetrieverChoice:
    """The choice of retrievers: dense, keyword or both."""

    dense: bool
    keyword: bool


BOTH_RETRIEVERS = RetrieverChoice(dense=True, keyword=True)


@dataclass(frozen=True)
class AlternativeNames:
    """A name in the question and other names with the same meaning. A chunk with an alternative matches the name."""

    name: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class QueryVariant:
    """One wording of the question. `text` is embedded as a question, and its words are the keywords of the search.

    `hypothetical_answers` are embedded as chunks; the search vector is the mean of their vectors and the vector of the
    question. The words of `also` are additional keywords, which are not embedded. `names` are names in the text with
    their alternatives, which add no weight. `likeness` is 0 for a question in words and 1 for keywords alone.
    `language` is the code of the language of the text; empty if no function word shows it.
    """

    text: str
    hypothetical_answers: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    names: tuple[AlternativeNames, ...] = ()
    likeness: float = 0.0
    language: str = ""

    @property
    def keywords(self) -> str:
        """The query of the keyword retriever: the text and the additional keywords."""
        return " ".join((self.text, *self.also))


def term_weights(question_stems: list[str], generation: Generation) -> dict[str, float]:
    """Return the weight ln(1 + (n - df + 0.5) / (df + 0.5)) of each distinct stem, in the order of the question.

    This is the formula of Lucene. The weight is above 0 and is the most that one word can add to a BM25 score. A word
    that the collection lacks has the weight of the rarest word.
    """
    size = len(generation.ids)
    weights = {}
    for stem in dict.fromkeys(question_stems):
        frequency = generation.keyword.document_frequency(stem)
        weights[stem] = math.log1p((size - frequency + 0.5) / (frequency + 0.5))
    return weights


ALTERNATIVE_WEIGHT = 0.8  # of another name relative to the name that was typed

KeywordScores = NDArray[np.float32]


def score_with_alternatives(
    scores: KeywordScores,
    names: Sequence[AlternativeNames],
    generation: Generation,
    score: Callable[[str], KeywordScores],
) -> KeywordScores:
    """Add the BM25 scores of alternative names to the scores of a question.

    `score` returns the BM25 scores of a text for the nodes of `scores`. An alternative counts in nodes with all its
    words. Its score is weighted by ALTERNATIVE_WEIGHT and cannot exceed the greatest score of the name.
    """
    for named in names:
        best = np.zeros_like(scores)
        for other in named.others:
            best = np.maximum(
                best, _alternative_share(named.name, other, generation) * _whole_name_scores(other, generation, score)
            )
        scores = scores + np.maximum(best - score(named.name), 0.0, dtype=np.float32)
    return scores


def replace_alternatives(stems: Sequence[str], names: Sequence[AlternativeNames], generation: Generation) -> list[str]:
    """Replace the stems of every alternative in a chunk by the stems of the name that was typed."""
    stem = generation.keyword.tokeniser.stems
    replaced = list(stems)
    for named in names:
        for other in named.others:
            replaced = _replace_run(replaced, stem(other), stem(named.name))
    return replaced


def _alternative_share(name: str, other: str, generation: Generation) -> float:
    stem = generation.keyword.tokeniser.stems
    own, others = (math.fsum(term_weights(stem(one), generation).values()) for one in (name, other))
    return ALTERNATIVE_WEIGHT * min(1.0, own / others) if others > 0 else 0.0


def _whole_name_scores(name: str, generation: Generation, score: Callable[[str], KeywordScores]) -> KeywordScores:
    parts = [score(word) for word in words(name) if generation.keyword.tokeniser.stems(word)]
    whole = np.logical_and.reduce([part > 0 for part in parts])
    return np.asarray(np.where(whole, np.sum(parts, axis=0), 0.0), dtype=np.float32)


def _replace_run(stems: list[str], run: list[str], replacement: list[str]) -> list[str]:
    if not run or run[0] not in stems:
        return stems
    replaced: list[str] = []
    index = 0
    while index < len(stems):
        if stems[index : index + len(run)] == run:
            replaced += replacement
            index += len(run)
        else:
            replaced.append(stems[index])
            index += 1
    return replaced
