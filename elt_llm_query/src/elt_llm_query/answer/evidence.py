"""What speaks for and against the retrieved passages holding an answer, in numbers from 0 to 1 or so."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.normalise import fold

from elt_llm_query.answer.asking import Asking
from elt_llm_query.answer.contradiction import contradiction
from elt_llm_query.answer.denial import denial
from elt_llm_query.answer.expected_values import counted_phrases
from elt_llm_query.answer.sentence_scores import ScoredSentence
from elt_llm_query.answer.term_weights import match
from elt_llm_query.understand import Question

_YEAR = re.compile(r"1\d\d\d|20\d\d")
_REASON = re.compile(
    r"\b(?:because|since|due to|as a result|so that|in order to|so as|therefore|thus|hence|reasons?|causes?|caused"
    r"|owing to|to (?:ensure|avoid|prevent|protect|allow|make|keep|help|give|be)|means? that|meaning|helps?|avoids?"
    r"|prevents?|allows?|otherwise|enables?|ensures?|lets?|rather than|which is why|will"
    r"|weil|da|denn|deshalb|daher|damit|grund|um)\b"
)
_TIME = "year date day month century decade time season deadline Jahr Datum Tag Monat Jahrhundert Zeit"
_MOST_PHRASES = 12
_DATED = 0.7


@dataclass(frozen=True)
class Evidence:
    """One number per kind of evidence; each field says which way it points."""

    cosine: float
    """Cosine of the nearest chosen sentence to the question; up is better."""
    passage_cosine: float
    """Cosine of the nearest passage to the question; up is better."""
    unknown: float
    """Share of the question's weight that no document of the collection has; down is better."""
    expected_elsewhere: float
    """How much less relevant than the most relevant sentence the best one with the expected value is.

    0 if neither a figure nor a person is expected.
    """
    figure_asked: float
    """1 if a number, an amount or a point in time is expected: such questions start from another level."""
    other_language: float
    """1 if the question is not in English: the embedding knows English best and its cosines are lower elsewhere."""
    unit_distance: float
    """How far what is to be counted is from what is counted in the chosen sentences, 0 if nothing is."""
    event_missing: float
    """Where a date is asked for: share of the event's words, by weight, that the sentence with a date lacks."""
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
    names_parted: float
    """1 if the question has several names, all of them known, that do not stand together in the best sentence."""
    numbers_apart: float
    """Share of the question's numbers that the chosen sentences and their headings lack; down is better."""
    denied: float
    """How much of what the question takes for granted the best sentence denies; down is better."""
    denied_beside: float
    """The same for the sentence among the chosen that denies most."""
    contradicted: float
    """How much the best sentence says the contrary of what the question takes for granted; down is better."""
    unreasoned: float
    """1 if a reason is asked for and no chosen sentence gives any; down is better."""

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
    pool = frozenset[str]().union(
        *(asking.stems(f"{chunk.source_title} {chunk.context} {chunk.text}") for chunk in chunks)
    )
    names_apart = _names_apart(question, best, chunks[best.candidate.chunk])
    unknown_names = _unknown_names(asking, pool)
    naming = _naming(question, chosen, chunks)
    return Evidence(
        cosine=max(sentence.cosine for sentence in chosen),
        passage_cosine=max(0.0 if chunk.cosine is None else chunk.cosine for chunk in chunks),
        unknown=_unknown(asking, pool),
        expected_elsewhere=_expected_elsewhere(question, scored),
        figure_asked=float(question.expects_figure),
        other_language=float(question.language != "en"),
        unit_distance=_unit_distance(asking, naming),
        event_missing=_event_missing(asking, chosen),
        residue_distance=_residue_distance(asking, naming),
        named_rest=_rest_missing(asking, naming) if question.names and not names_apart else 0.0,
        unknown_names=unknown_names,
        names_apart=names_apart,
        names_parted=float(names_apart > 0 and not unknown_names and len(_wanted(question)) > 1),
        numbers_apart=_numbers_apart(question, chosen, chunks),
        denied=denial(asking, chosen[:1]),
        denied_beside=denial(asking, chosen),
        contradicted=contradiction(asking, best),
        unreasoned=_unreasoned(question, chosen),
    )


def _gates(question: Question) -> bool:
    return question.expects_figure or question.expects == "person"


def _unknown(asking: Asking, pool: frozenset[str]) -> float:
    weights, question = asking.weights, asking.question
    strange = (term for term in question.terms if not weights.known(term))
    return sum(weights.idf(term) * (1.0 - match(term, pool)) for term in strange) / weights.total(question)


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
    return _missing(asking, _unnamed(asking), frozenset[str]().union(*(sentence.stems for sentence in chosen)))


def _event_missing(asking: Asking, chosen: Sequence[ScoredSentence]) -> float:
    if asking.question.expects != "date":
        return 0.0
    times = asking.stems(_TIME)
    event = [term for term in _unnamed(asking) if term not in times]
    dated = [sentence for sentence in chosen if sentence.support >= _DATED] or chosen
    return min(_missing(asking, event, one.stems | asking.stems(one.candidate.topic)) for one in dated)


def _unnamed(asking: Asking) -> list[str]:
    named = frozenset(stem for name in asking.question.names for stem in asking.tokeniser.stems(name))
    return [term for term in asking.question.terms if term not in named]


def _missing(asking: Asking, terms: Sequence[str], said: frozenset[str]) -> float:
    """Share of the weight of the terms that `said` lacks."""
    weight = sum(asking.weights.idf(term) for term in terms)
    missing = sum(asking.weights.idf(term) * (1.0 - match(term, said)) for term in terms)
    return missing / weight if weight else 0.0


def _naming(
    question: Question, chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]
) -> Sequence[ScoredSentence]:
    """The chosen sentences with all names of the question; a figure beside another thing is no answer for this one."""
    naming = [one for one in chosen if not _names_apart(question, one, chunks[one.candidate.chunk])]
    return naming or chosen


def _names_apart(question: Question, best: ScoredSentence, chunk: RetrievedChunk) -> float:
    text = _with_headings(best, chunk)
    wanted = _wanted(question)
    missing = sum(1 for name in wanted if not re.search(rf"(?<!\w){re.escape(name)}", text))
    return missing / len(wanted) if wanted else 0.0


def _wanted(question: Question) -> set[str]:
    return {fold(name) for name in question.names} | set(filter(_YEAR.fullmatch, question.numbers))


def _numbers_apart(question: Question, chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]) -> float:
    text = " ".join(_with_headings(sentence, chunks[sentence.candidate.chunk]) for sentence in chosen)
    missing = sum(not re.search(rf"(?<!\d){re.escape(number)}(?!\d)", text) for number in question.numbers)
    return missing / len(question.numbers) if question.numbers else 0.0


def _with_headings(sentence: ScoredSentence, chunk: RetrievedChunk) -> str:
    return fold(f"{chunk.source_title} {chunk.context} {sentence.candidate.topic} {sentence.candidate.spoken}")


def _unreasoned(question: Question, chosen: Sequence[ScoredSentence]) -> float:
    given = any(_REASON.search(fold(sentence.candidate.spoken)) for sentence in chosen)
    return float(question.kind == "why" and not given)
