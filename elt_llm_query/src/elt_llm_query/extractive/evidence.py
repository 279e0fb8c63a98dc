"""Evidence on whether the chunks contain the answer: coverage, names, numbers, denial and contradiction.

To find contradictions, a question is compared as a claim, without its question word: "when did the party lose the
election" with "the party won the election in 1971", or "which rule does not apply" with "rule 7 applies".
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import compress

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.normalise import fold

from elt_llm_query.extractive.sentence_scores import (
    ScoredSentence,
    ScoringContext,
    counted_phrases,
    expected_value_score,
    has_new_figure,
)
from elt_llm_query.grounding.claims import align_claim, parse_sentence
from elt_llm_query.grounding.sentences import match_term, strip_markup
from elt_llm_query.understanding.patterns import PatternFile
from elt_llm_query.understanding.question import ParsedQuestion, numbers_of, without_separators

_PATTERNS = PatternFile(__file__)
NEGATION = re.compile(rf"\bno one\b|{_PATTERNS['no'].pattern}")
_MAY_BE_DENIED = {"yes_no", "what_is"}  # "no" may be the answer; a definition may name what the term is not
_REACH = 12  # words after a negation that it may deny
_LEAST_DENIAL = 0.3  # denial score of a sentence that denies any word of the question


def denial_score(context: ScoringContext, chosen: Sequence[ScoredSentence]) -> float:
    """Return how strongly the sentences deny the question, 0 to 1: "No prize is given" denies "what prize is given?".

    Yes-or-no questions and questions for a definition get 0.
    """
    if context.question.kind in _MAY_BE_DENIED:
        return 0.0
    terms = [term for term in _unnamed_terms(context) if not term.isdigit()]
    return max(_denies(context, terms, sentence) for sentence in chosen)


def _denies(context: ScoringContext, terms: Sequence[str], sentence: ScoredSentence) -> float:
    question, text = fold(context.question.text), fold(sentence.candidate.readable)
    if _PATTERNS["no"].search(question):
        return 0.0 if _PATTERNS["no"].search(text) else context.weights.coverage(terms, sentence.stems)
    if _PATTERNS["asks_for_not"].search(question):
        return 0.0
    clauses = (_clause(text, negation) for negation in _PATTERNS["no"].finditer(text))
    shares = (
        context.weights.coverage(terms, context.stems(" ".join(clause.split()[:_REACH])))
        for clause in clauses
        if _is_negative(context, clause)
    )
    return max((_LEAST_DENIAL + (1.0 - _LEAST_DENIAL) * share for share in shares if share), default=0.0)


def strip_limiting_negations(context: ScoringContext, text: str) -> str:
    """Remove negations that do not deny the question, such as limits ("not before noon"), from a text in lower case.

    If the question asks for a figure, negations of a figure ("no more than three") do not deny the question either. If
    it asks what is forbidden, all negations are removed.
    """
    forbidding = bool(_PATTERNS["forbidding"].search(fold(context.question.text)))
    return NEGATION.sub(
        lambda negation: "" if forbidding or not _is_negative(context, _clause(text, negation)) else negation[0], text
    )


def _clause(text: str, negation: re.Match[str]) -> str:
    """Return the text after a negation, up to the next punctuation mark."""
    return re.split(r"[,;:.]", text[negation.end() :])[0]


def _is_negative(context: ScoringContext, clause: str) -> bool:
    """Return whether the text after a negation, such as "lent to children" after "never", denies the question.

    A limit such as "before noon" does not deny it. Nor does a figure if the question asks for a figure.
    """
    question = context.question
    return not _PATTERNS["limits"].search(clause) and not (question.expects_figure and has_new_figure(question, clause))


_FEWEST_SHARED = 0.25  # coverage of the question above which a sentence can contradict it
_LEAST_CONTRADICTION = 0.5  # score of a sentence that contradicts the question


def contradiction_score(context: ScoringContext, sentence: ScoredSentence) -> float:
    """Return how strongly the sentence contradicts the question: 0, or 0.5 to 1 by the share of common words.

    Yes-or-no questions, questions for a definition, and sentences with too few words of the question get 0.
    """
    if context.question.kind in _MAY_BE_DENIED or sentence.coverage <= _FEWEST_SHARED:
        return 0.0
    text = fold(sentence.candidate.readable)
    # A denial may only limit, and a limit may cancel an antonym: "does not open until", asked when it is closed.
    readings = dict.fromkeys([text, strip_limiting_negations(context, text)])
    if not all(_contradicts(context, reading) for reading in readings):
        return 0.0
    return _LEAST_CONTRADICTION + (1.0 - _LEAST_CONTRADICTION) * min(1.0, sentence.coverage)


def _contradicts(context: ScoringContext, text: str) -> bool:
    question = context.question
    # The claim is the question without its question words.
    claim_text = " ".join(_PATTERNS["asking"].sub(" ", _asking_sentence(question)).strip(" ?").split())

    def is_name(_: str, at_start: bool) -> bool:
        """Return whether a capitalised word is a name.

        Within an English sentence it is. In German, nouns are capitalised too, so no word counts as a name.
        """
        return not at_start and question.language == "en"

    claim, source = (parse_sentence(one, context.tokeniser, is_name) for one in (claim_text, text))
    return bool(context.contraries.find(claim, source, align_claim(claim, source)))


def _asking_sentence(question: ParsedQuestion) -> str:
    """Return the last question of a text of several sentences, or else the whole text."""
    return question.parts[0] if len(question.parts) == 1 else question.text


_RANGE = re.compile(r"(?<![\d.,])(\d{1,9}) ?(?:to|bis|-|\u2013) ?(\d{1,9}) ([^\W\d]+)")
_COUNTED = re.compile(r"(?<![\d.,])(\d{1,9}) ([^\W\d]+)")
_YEAR = re.compile(r"1\d\d\d|20\d\d")
_TIME = "year date day month century decade time season deadline Jahr Datum Tag Monat Jahrhundert Zeit"
_MOST_PHRASES = 12  # counted phrases that are embedded
_CAPITALISED = re.compile(r"\b[A-ZÀ-Þ]\w+")
_FEWEST_COMMON = 4  # chunks that contain a common name
_NAMELESS = 1.5  # more than for a figure, since names are found more surely
_DATED = 0.7  # support from which a sentence counts as having a date


@dataclass(frozen=True)
class AnswerEvidence:
    """The evidence for or against answering, one number per kind."""

    cosine: float
    """Cosine of the nearest chosen sentence to the question; higher is better."""
    passage_cosine: float
    """Cosine of the nearest chunk; higher is better. Stored calibrations know the field by this name."""
    unknown: float
    """Weighted share of the question's words that no document of the collection has; lower is better."""
    expected_elsewhere: float
    """The relevance of the most relevant sentence minus that of the best sentence with the expected value.

    0 if neither a figure nor a person is expected.
    """
    figure_asked: float
    """1 if a number, an amount or a point in time is expected: such questions need another intercept of the model."""
    other_language: float
    """1 if the question is not in English: cosines of the embedding are lower in other languages."""
    unit_distance: float
    """Embedding distance of the noun after "how many" to the nearest noun counted in a chosen sentence, or 0."""
    event_missing: float
    """If a date is expected, the weighted share of the event's words that the sentence with the date lacks."""
    residue_distance: float
    """Embedding distance between question and chosen sentence, both without their shared words; lower is better."""
    unknown_names: float
    """Share of the question's names with a word that no document of the collection has; lower is better."""
    named_rest: float
    """Weighted share of the question's words, except names, that the chosen sentences lack; lower is better.

    It is 0 unless the best sentence has all names of the question.
    """
    names_apart: float
    """Share of the question's names that the best sentence and its headings lack; lower is better."""
    names_parted: float
    """1 if the question has several names, all in the collection, and the best sentence lacks one of them."""
    numbers_apart: float
    """Share of the question's numbers that the chosen sentences and their headings lack; lower is better."""
    denied: float
    """Share of the question's assumptions that the best sentence denies; lower is better."""
    denied_beside: float
    """Share of the question's assumptions that the most denying chosen sentence denies; lower is better."""
    contradicted: float
    """How strongly the best sentence contradicts an assumption of the question; lower is better."""
    unreasoned: float
    """1 if the question asks for a reason and no chosen sentence has one; lower is better."""
    valueless: float
    """1 if no chosen sentence has the figure that is asked for or is a table row, 1.5 for a name; lower is better."""

    def as_dict(self) -> dict[str, float]:
        """Return the numbers of the evidence by name, for the trace."""
        return {name: round(float(value), 4) for name, value in asdict(self).items()}


def gather_evidence(
    context: ScoringContext,
    chunks: Sequence[RetrievedChunk],
    scored: Sequence[ScoredSentence],
    chosen: Sequence[ScoredSentence],
) -> AnswerEvidence:
    """Gather the evidence for deciding whether to answer. `chosen` has the best of `scored`, at least one, in order."""
    best, question = chosen[0], context.question
    pool = frozenset[str]().union(
        *(context.stems(f"{chunk.source_title} {chunk.context} {chunk.text}") for chunk in chunks),
        *(one.stems for one in chosen),
    )
    apart = names_apart(question, best, chunks[best.candidate.chunk])
    unknown_names = _unknown_names(context, pool)
    # A figure for another name is no answer, so only sentences with all names of the question count, if there are any.
    naming = [one for one in chosen if not names_apart(question, one, chunks[one.candidate.chunk])] or chosen
    naming_stems = frozenset[str]().union(*(sentence.stems for sentence in naming))
    return AnswerEvidence(
        cosine=max(sentence.cosine for sentence in chosen),
        passage_cosine=max(0.0 if chunk.cosine is None else chunk.cosine for chunk in chunks),
        unknown=_unknown(context, pool),
        expected_elsewhere=_expected_elsewhere(question, scored),
        figure_asked=float(question.expects_figure),
        other_language=float(question.language != "en"),
        unit_distance=_unit_distance(context, naming),
        event_missing=_event_missing(context, chosen),
        residue_distance=_residue_distance(context, naming),
        named_rest=_missing_share(context, _unnamed_terms(context), naming_stems)
        if question.names and not apart
        else 0.0,
        unknown_names=unknown_names,
        names_apart=apart,
        names_parted=float(apart > 0 and not unknown_names and len(_names_and_years(question)) > 1),
        numbers_apart=_numbers_apart(question, chosen, chunks),
        denied=denial_score(context, chosen[:1]),
        denied_beside=denial_score(context, chosen),
        contradicted=contradiction_score(context, best),
        unreasoned=_unreasoned(question, chosen),
        valueless=_valueless(context, chosen, chunks),
    )


def _unknown(context: ScoringContext, pool: frozenset[str]) -> float:
    weights, question = context.weights, context.question
    unknown = (term for term in question.terms if not weights.known(term))
    return sum(weights.idf(term) * (1.0 - match_term(term, pool)) for term in unknown) / weights.total(question.terms)


def _expected_elsewhere(question: ParsedQuestion, scored: Sequence[ScoredSentence]) -> float:
    if not question.expects_figure and question.expects != "person":
        return 0.0
    most = max(sentence.relevance for sentence in scored)
    return most - max((sentence.relevance for sentence in scored if sentence.support >= 1.0), default=0.0)


def _unit_distance(context: ScoringContext, chosen: Sequence[ScoredSentence]) -> float:
    if not context.question.counted:
        return 0.0
    beside = [phrase for sentence in chosen for phrase in counted_phrases(sentence.candidate.readable)]
    phrases = list(dict.fromkeys(beside))[:_MOST_PHRASES]
    if not phrases:
        return 1.0
    vectors = context.embed([context.question.counted, *phrases])
    return 1.0 - float((vectors[1:] @ vectors[0]).max())


def _residue_distance(context: ScoringContext, chosen: Sequence[ScoredSentence]) -> float:
    """Return the embedding distance between the question and the nearest sentence, both without their shared words.

    The result is 0 if a chosen sentence contains every word of the question.
    """
    question = context.question
    pairs: list[list[str]] = []
    for sentence in chosen:
        shared = [term for term in question.terms if match_term(term, sentence.stems)]
        if len(shared) == len(question.terms):
            return 0.0
        texts = (question.text, sentence.candidate.readable)
        pairs.append([_remaining_text(text, shared, context) for text in texts])
    lefts, rights = (context.embed(list(side)) for side in zip(*pairs, strict=True))
    return 1.0 - float((lefts * rights).sum(axis=1).max())


def _remaining_text(text: str, stems: Sequence[str], context: ScoringContext) -> str:
    def is_shared(word: str) -> bool:
        return any(match_term(stem, stems) for stem in context.tokeniser.stems(word))

    return " ".join(word for word in text.split() if not is_shared(word)) or text


def _unknown_names(context: ScoringContext, pool: frozenset[str]) -> float:
    def is_unknown(name: str) -> bool:
        return any(
            not context.weights.known(stem) and not match_term(stem, pool) for stem in context.tokeniser.stems(name)
        )

    names = context.question.names
    return sum(map(is_unknown, names)) / len(names) if names else 0.0


def _event_missing(context: ScoringContext, chosen: Sequence[ScoredSentence]) -> float:
    if context.question.expects != "date":
        return 0.0
    times = context.stems(_TIME)
    event = [term for term in _unnamed_terms(context) if term not in times]
    dated = [sentence for sentence in chosen if sentence.support >= _DATED] or chosen
    return min(_missing_share(context, event, one.stems | context.stems(one.candidate.topic)) for one in dated)


def _unnamed_terms(context: ScoringContext) -> list[str]:
    named = frozenset(stem for name in context.question.names for stem in context.tokeniser.stems(name))
    return [term for term in context.question.terms if term not in named]


def _missing_share(context: ScoringContext, terms: Sequence[str], stems: frozenset[str]) -> float:
    """Return the share, by weight, of the question terms that are not among `stems`."""
    weight = sum(context.weights.idf(term) for term in terms)
    missing = sum(context.weights.idf(term) * (1.0 - match_term(term, stems)) for term in terms)
    return missing / weight if weight else 0.0


def names_apart(question: ParsedQuestion, best: ScoredSentence, chunk: RetrievedChunk) -> float:
    """Return the share of the question's names and years that the sentence and its headings lack."""
    text = _with_headings(best, chunk)
    wanted = _names_and_years(question)
    missing = sum(1 for name in wanted if not re.search(rf"(?<!\w){re.escape(name)}", text))
    return missing / len(wanted) if wanted else 0.0


def _names_and_years(question: ParsedQuestion) -> set[str]:
    return {fold(name) for name in question.names} | set(filter(_YEAR.fullmatch, question.numbers))


def _numbers_apart(
    question: ParsedQuestion, chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]
) -> float:
    text = without_separators(" ".join(_with_headings(one, chunks[one.candidate.chunk]) for one in chosen))
    asked = _asking_sentence(question)
    numbers = numbers_of(asked)
    ranged = numbers_in_ranges(fold(asked), text)
    missing = sum(not re.search(rf"(?<!\d){re.escape(number)}(?!\d)", text) for number in {*numbers} - ranged)
    return missing / len(numbers) if numbers else 0.0


def numbers_in_ranges(question: str, text: str) -> set[str]:
    """Return the numbers of a folded question that lie in a range of the same unit in a folded text.

    "200 persons" lies in "11 to 500 persons".
    """
    ranges = [(int(low), int(high), unit) for low, high, unit in _RANGE.findall(text)]
    counted = _COUNTED.findall(question)
    return {number for number, unit in counted if any(a <= int(number) <= b and unit == of for a, b, of in ranges)}


def _with_headings(sentence: ScoredSentence, chunk: RetrievedChunk) -> str:
    return fold(f"{chunk.source_title} {chunk.context} {sentence.candidate.topic} {sentence.candidate.readable}")


def _unreasoned(question: ParsedQuestion, chosen: Sequence[ScoredSentence]) -> float:
    has_reason = any(_PATTERNS["reason"].search(fold(sentence.candidate.readable)) for sentence in chosen)
    return float(question.kind == "why" and not has_reason)


def _common_names(chunks: Sequence[RetrievedChunk]) -> re.Pattern[str]:
    """Return a pattern for capitalised words of at least half of the chunks, such as the name of the organisation."""
    counts = Counter(word for chunk in chunks for word in set(_CAPITALISED.findall(f"{chunk.context} {chunk.text}")))
    common = (word for word, count in counts.items() if count >= max(_FEWEST_COMMON, len(chunks) / 2))
    return re.compile(rf"\b(?:{'|'.join(common) or '(?!)'})\b")


def _valueless(context: ScoringContext, chosen: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]) -> float:
    question = context.question
    # The unit of a figure in a row may be in the head or in the title of the table.
    valued = [sentence for sentence in chosen if sentence.support or sentence.candidate.kind == "row"]
    if question.expects == "name":  # the name of somebody else is no answer, nor is that of the subject
        common = _common_names(chunks)
        texts = (strip_markup(one.candidate.text) if one.candidate.lead else one.candidate.readable for one in valued)
        named = [bool(expected_value_score(question, common.sub("", text))) for text in texts]
        valued = list(compress(valued, named))
        stems = (sentence.stems | context.stems(sentence.candidate.topic) for sentence in valued)
        return _NAMELESS * (not any(_missing_share(context, question.terms, own) < 1.0 for own in stems))
    return float(question.expects_figure and not valued)
