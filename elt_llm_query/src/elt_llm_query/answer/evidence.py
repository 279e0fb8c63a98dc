"""What speaks for and against the retrieved passages holding an answer, in numbers from 0 to 1 or so."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.normalise import fold

from elt_llm_query.answer.asking import Asking
from elt_llm_query.answer.expected_values import counted_phrases
from elt_llm_query.answer.sentence_scores import ScoredSentence
from elt_llm_query.answer.term_weights import match
from elt_llm_query.understand import Question

_YEAR = re.compile(r"1\d\d\d|20\d\d")
_MOST_ABLATED = 4
_MOST_PHRASES = 12


@dataclass(frozen=True)
class Evidence:
    """One number per kind of evidence; each field says which way it points."""

    cosine: float
    """Cosine of the nearest chosen sentence to the question; up is better."""
    margin: float
    """Lead of the best cosine over the average candidate's; up is better."""
    unknown: float
    """Share of the question's weight that no document of the collection has; down is better."""
    foreign: float
    """How much nearer the best sentence the question comes without its most foreign word; down is better."""
    lacks_expected: float
    """1 less the support of the expected value in the chosen sentences, 0 if no figure or person is expected."""
    expected_elsewhere: float
    """How much less relevant than the most relevant sentence the best one with the expected value is."""
    figure_asked: float
    """1 if a number, an amount or a point in time is expected: such questions start from another level."""
    other_language: float
    """1 if the question is not in English: the embedding knows English best and its cosines are lower elsewhere."""
    unit_distance: float
    """How far what is to be counted is from what is counted in the chosen sentences, 0 if nothing is."""
    residue_distance: float
    """How far what the question asks beyond the words it shares with a chosen sentence is from the rest of that."""
    unknown_names: float
    """Share of the question's names with a word that no document of the collection has; down is better."""
    named_rest: float
    """Share, by weight, of the words beside the names that the chosen sentences lack, 0 unless the best has all names.

    Who names a thing as the documents do speaks their language: then the other words should be theirs too.
    """
    names_apart: float
    """Share of the question's names that the best sentence and its headings lack; down is better."""

    def as_dict(self) -> dict[str, float]:
        """The numbers by name, for the trace."""
        return {name: round(float(value), 4) for name, value in asdict(self).items()}


def gather_evidence(
    asking: Asking,
    chunks: Sequence[RetrievedChunk],
    scored: Sequence[ScoredSentence],
    chosen: Sequence[ScoredSentence],
) -> Evidence:
    """Everything the decision rests on, for at least one chosen sentence."""
    best, question = chosen[0], asking.question
    passages = [asking.stems(f"{chunk.source_title} {chunk.context} {chunk.text}") for chunk in chunks]
    passage, pool = passages[best.candidate.chunk], frozenset[str]().union(*passages)
    cosines = [sentence.cosine for sentence in scored]
    names_apart = _names_apart(question, best, chunks[best.candidate.chunk])
    naming = _naming(question, chosen, chunks)
    return Evidence(
        cosine=max(sentence.cosine for sentence in chosen),
        margin=max(cosines) - float(np.mean(cosines)),
        unknown=_unknown(asking, pool),
        foreign=_foreign(asking, best, passage),
        lacks_expected=1.0 - max(sentence.support for sentence in chosen) if _gates(question) else 0.0,
        expected_elsewhere=_expected_elsewhere(question, scored),
        figure_asked=float(question.expects_figure),
        other_language=float(question.language != "en"),
        unit_distance=_unit_distance(asking, naming),
        residue_distance=_residue_distance(asking, naming),
        named_rest=_rest_missing(asking, naming) if question.names and not names_apart else 0.0,
        unknown_names=_unknown_names(asking, pool),
        names_apart=names_apart,
    )


def _gates(question: Question) -> bool:
    return question.expects_figure or question.expects == "person"


def _unknown(asking: Asking, pool: frozenset[str]) -> float:
    weights, question = asking.weights, asking.question
    strange = (term for term in question.terms if not weights.known(term))
    return sum(weights.idf(term) * (1.0 - match(term, pool)) for term in strange) / weights.total(question)


def _foreign(asking: Asking, best: ScoredSentence, passage: frozenset[str]) -> float:
    """A word the passage lacks and whose loss brings the question nearer is not a paraphrase but another subject."""
    question = asking.question
    words = zip(question.terms, question.surfaces, strict=True)
    absent = [surface for term, surface in words if not match(term, passage)][:_MOST_ABLATED]
    if not absent:
        return 0.0
    shorter = [re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", question.text) for word in absent]
    kept = [" ".join(text.split()) or question.text for text in shorter]
    return float((asking.embed(kept) @ best.vector).max()) - float(asking.vector @ best.vector)


def _expected_elsewhere(question: Question, scored: Sequence[ScoredSentence]) -> float:
    if not _gates(question):
        return 0.0
    most = max(sentence.relevance for sentence in scored)
    return most - max((sentence.relevance for sentence in scored if sentence.support >= 1.0), default=0.0)


def _unit_distance(asking: Asking, chosen: Sequence[ScoredSentence]) -> float:
    if not asking.question.counted:
        return 0.0
    beside = [phrase for sentence in chosen for phrase in counted_phrases(sentence.candidate.spoken)]
    phrases = list(dict.fromkeys(beside))[:_MOST_PHRASES]
    if not phrases:
        return 1.0
    vectors = asking.embed([asking.question.counted, *phrases])
    return 1.0 - float((vectors[1:] @ vectors[0]).max())


def _residue_distance(asking: Asking, chosen: Sequence[ScoredSentence]) -> float:
    """0 if a chosen sentence has every word of the question: nothing is left to be compared."""
    question = asking.question
    pairs: list[tuple[str, str]] = []
    for sentence in chosen:
        shared = [term for term in question.terms if match(term, sentence.stems)]
        if len(shared) == len(question.terms):
            return 0.0
        pairs.append((_without(question.text, shared, asking), _without(sentence.candidate.spoken, shared, asking)))
    lefts = asking.embed([left for left, _ in pairs])
    rights = asking.embed([right for _, right in pairs])
    return 1.0 - float((lefts * rights).sum(axis=1).max())


def _without(text: str, stems: Sequence[str], asking: Asking) -> str:
    def is_shared(word: str) -> bool:
        return any(match(stem, stems) for stem in asking.tokeniser.stems(word))

    return " ".join(word for word in text.split() if not is_shared(word)) or text


def _unknown_names(asking: Asking, pool: frozenset[str]) -> float:
    def is_unknown(name: str) -> bool:
        return any(not asking.weights.known(stem) and not match(stem, pool) for stem in asking.tokeniser.stems(name))

    names = asking.question.names
    return sum(map(is_unknown, names)) / len(names) if names else 0.0


def _rest_missing(asking: Asking, chosen: Sequence[ScoredSentence]) -> float:
    named = frozenset(stem for name in asking.question.names for stem in asking.tokeniser.stems(name))
    rest = [term for term in asking.question.terms if term not in named]
    said = frozenset[str]().union(*(sentence.stems for sentence in chosen))
    weight = sum(asking.weights.idf(term) for term in rest)
    missing = sum(asking.weights.idf(term) * (1.0 - match(term, said)) for term in rest)
    return missing / weight if weight else 0.0


def _naming(
    question: Question, chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]
) -> Sequence[ScoredSentence]:
    """The chosen sentences with all names of the question; a figure beside another thing is no answer for this one."""
    naming = [one for one in chosen if not _names_apart(question, one, chunks[one.candidate.chunk])]
    return naming or chosen


def _names_apart(question: Question, best: ScoredSentence, chunk: RetrievedChunk) -> float:
    text = fold(f"{chunk.source_title} {chunk.context} {best.candidate.spoken}")
    wanted = {fold(name) for name in question.names} | set(filter(_YEAR.fullmatch, question.numbers))
    missing = sum(1 for name in wanted if not re.search(rf"(?<!\w){re.escape(name)}", text))
    return missing / len(wanted) if wanted else 0.0
