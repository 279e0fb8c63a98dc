"""Query variants: the text that is embedded and the words that are matched, with term weights and alternative names.

A name and its alternatives count once, with the score of the best match, as in Lucene's DisjunctionMaxQuery. A rare
alternative cannot score higher than the name that was typed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.index.searchable import KeywordQuery, NamedInQuery, OtherName, Searchable
from elt_llm_core.text.normalise import words


@dataclass(frozen=True)
class RetrieverChoice:
    """Which retrievers are used: dense, keyword or both."""

    dense: bool
    keyword: bool


BOTH_RETRIEVERS = RetrieverChoice(dense=True, keyword=True)


@dataclass(frozen=True)
class AlternativeNames:
    """A name in the question, and other names with the same meaning, which are searched for too."""

    name: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class QueryVariant:
    """One wording of the question. `text` is embedded as a question, and its words are the keywords of the search.

    `hypothetical_answers` are embedded as chunks; the search vector is the mean of their vectors and the question's
    vector. The words in `also` are additional keywords, which are not embedded. `names` are names in the text with
    their alternatives; a name and its alternatives count once. `likeness` is how much the text looks like a list of
    keywords, 0 to 1. `language` is the text's language code, or empty if no function word shows it.
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


def stem_weight(size: int, frequency: int) -> float:
    """Return a stem's BM25 weight, as in Lucene: ln(1 + (size - frequency + 0.5) / (frequency + 0.5)).

    `size` is the number of all chunks, and `frequency` the number of chunks with this stem.
    """
    return math.log1p((size - frequency + 0.5) / (frequency + 0.5))


def term_weights(question_stems: Sequence[str], index: Searchable) -> dict[str, float]:
    """Return the weight of each distinct stem, in the order of the question.

    The weight is above 0 and is the most that one word can add to a BM25 score. A word that the collection lacks has
    the greatest weight.
    """
    frequencies = index.frequencies(tuple(dict.fromkeys(question_stems)))
    return {stem: stem_weight(index.size, frequency) for stem, frequency in frequencies.items()}


ALTERNATIVE_WEIGHT = 0.8  # of an alternative name relative to the name that was typed


def keyword_query(text: str, names: Sequence[AlternativeNames], index: Searchable) -> KeywordQuery:
    """Return the keyword query for a text. A chunk that contains an alternative name also matches the name itself.

    The score for an alternative is weighted by at most ALTERNATIVE_WEIGHT. If the words of the alternative are rarer
    than those of the name, the weight is lower, so that the score cannot exceed the greatest score for the name.
    """
    stem = index.tokeniser.stems
    if not names:
        return KeywordQuery(tuple(stem(text)))
    weights = term_weights(
        [one for named in names for name in (named.name, *named.others) for one in stem(name)], index
    )

    def weight(name: str) -> float:
        return math.fsum(weights[one] for one in dict.fromkeys(stem(name)))

    def other_name(name: str, other: str) -> OtherName:
        share = ALTERNATIVE_WEIGHT * min(1.0, weight(name) / weight(other)) if weight(other) > 0 else 0.0
        return OtherName(tuple(tuple(stems) for word in words(other) if (stems := stem(word))), share)

    return KeywordQuery(
        tuple(stem(text)),
        names=tuple(
            NamedInQuery(tuple(stem(one.name)), tuple(other_name(one.name, other) for other in one.others))
            for one in names
        ),
    )


def replace_alternatives(stems: Sequence[str], names: Sequence[AlternativeNames], index: Searchable) -> list[str]:
    """Replace the stems of each alternative name by those of the name that was typed. `stems` are those of a chunk."""
    stem = index.tokeniser.stems
    replaced = list(stems)
    for named in names:
        for other in named.others:
            replaced = _replace_run(replaced, stem(other), stem(named.name))
    return replaced


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
