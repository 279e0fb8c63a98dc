"""Score candidate sentences: similarity, shared words, and the kind of value that the question expects."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.languages import alternatives, load_language, month_names, month_numbers
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser
from numpy.typing import NDArray

from elt_llm_query.grounding.claims import ContradictionFinder
from elt_llm_query.grounding.sentences import (
    SentenceCandidate,
    TermWeights,
    count_rival_numbers,
    embed_truncated,
    row_label,
    strip_markup,
)
from elt_llm_query.understanding.patterns import PatternFile
from elt_llm_query.understanding.question import ParsedQuestion, numbers_of

_PATTERNS = PatternFile(__file__)
_MONTH = rf"(?:{alternatives({*month_names(['en', 'de', 'fr', 'es'], folded=True), *month_numbers(['en'])})})"

_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d]+")
_COLUMN = re.compile(r"([^\W\d][^\W\d ]{0,60}(?: [^\W\d]{1,60})?): \W?\d")
_OWN_NUMBER = re.compile(r"^\W*(?:\d+(?:\.\d+)+[.)]?|\d+[.)]|\(\w{1,3}\))\**\s+")
_CODE = re.compile(r"(?<![\w£$€])[^\W\d_]+[-/.]?\d[\w.-]*")
_SINGLE = re.compile(r"\b(?:(?:one|1|a single|only one|eine?[nmr]?)\b)")
_DATE = re.compile(_PATTERNS.part("date").replace("MONTHS", _MONTH))
_TIME_UNIT = re.compile(rf"{_PATTERNS.part('unit_of_time')}\b")
_PROPER = re.compile(r"(?<=[\w,;:(] )[\"\u201c(]?[A-ZÀ-Þ][\w'\u2019.-]+|^[A-ZÀ-Þ][\w'\u2019.-]+ [A-ZÀ-Þ]")
_IS_THE = re.compile(r"\b(?:is|are) (?:also |currently )?(?:the|our|your|its|their)\b")
# "Board of Directors" and "DSF" are no persons, nor does "The" before a capitalised word start a name.
_NO_NAME = re.compile(
    r"^The\b|\b[A-Z]{2,6}\b|\(see [^)]{1,200}\)|\b(?:Board|Council|Committee|Court|House) of (?:the )?[A-Z]\w+"
)
# In German, every noun is capitalised: a name follows another such word, as in "Frau Osterkamp", or "ist".
_OPENERS = alternatives(word.title() for word in load_language("de").words("sentence_starters"))
_GERMAN_NAME = re.compile(rf"\b(?!(?:{_OPENERS})\b)(?:[A-ZÀ-Þ][\w'\u2019.-]*:?|heißt|ist|war) ([A-ZÀ-Þ][\w'\u2019-]*)")


def expected_value_score(question: ParsedQuestion, sentence: str) -> float:
    """Score whether the sentence has a new value of the expected kind, such as a date for a question with "when".

    A value is new if the question does not contain it. The result is 1 for such a value, 0.3 to 0.7 for a similar
    or doubtful value, and 0 for none. If the question expects no particular kind of value, the result is 1.
    """
    measure = _MEASURES.get(question.expects)
    return measure(question, strip_numbering(sentence)) if measure else 1.0


def strip_numbering(sentence: str) -> str:
    """Remove the sentence's own number, numbers of rules and pages, and codes such as U-14."""
    return _CODE.sub(" ", _PATTERNS["reference"].sub(" ", _OWN_NUMBER.sub("", sentence)))


def counted_phrases(sentence: str) -> list[str]:
    """Return the words that numbers may count ("12 books"): up to three on each side, and names of numeric columns."""
    folded = fold(strip_numbering(sentence))
    phrases = _COLUMN.findall(folded)
    for found in _PATTERNS["number"].finditer(folded):
        phrases.append(" ".join(_LETTERS.findall(folded[found.end() : found.end() + 60])[:3]))
        phrases.append(" ".join(_LETTERS.findall(folded[max(0, found.start() - 60) : found.start()])[-3:]))
    return list(dict.fromkeys(phrase for phrase in phrases if phrase))


def has_new_figure(question: ParsedQuestion, sentence: str) -> bool:
    """Whether the sentence has a number, in digits or words, that the question does not name."""
    new_digits = set(numbers_of(sentence)) - set(question.numbers)
    in_words = _PATTERNS["figure"].findall(re.sub(r"\d+", " ", fold(sentence)))
    return bool(new_digits) or any(word not in fold(question.text).split() for word in in_words)


def _has_new(pattern: re.Pattern[str], question: ParsedQuestion, sentence: str) -> bool:
    """Return whether the sentence has a match of the pattern that the question does not have."""
    found, asked = ({one.group() for one in pattern.finditer(fold(text))} for text in (sentence, question.text))
    return bool(found - asked)


def _number(question: ParsedQuestion, sentence: str) -> float:
    unit = _UNITS.get(question.measure)
    if unit is not None and not unit.search(fold(sentence)):
        return 0.0
    if _TIME_UNIT.match(question.counted):
        return float(_has_new(_PATTERNS["duration"], question, sentence))
    if not has_new_figure(question, sentence):
        return 0.5 if _SINGLE.search(fold(sentence)) else 0.0
    return 1.0


def _figure_score(pattern: re.Pattern[str]) -> Callable[[ParsedQuestion, str], float]:
    def score(question: ParsedQuestion, sentence: str) -> float:
        if _has_new(pattern, question, sentence):
            return 1.0
        return 0.3 if has_new_figure(question, sentence) else 0.0

    return score


def _date(question: ParsedQuestion, sentence: str) -> float:
    folded = fold(sentence)
    if _PATTERNS["asks_clock"].search(fold(question.text)) and not _PATTERNS["clock"].search(folded):
        return 0.3 if _PATTERNS["when"].search(folded) else 0.0
    if _has_new(_DATE, question, sentence):
        return 1.0
    if question.kind == "when" and not _PATTERNS["calendar"].search(fold(question.text)):
        due = _has_new(_PATTERNS["relative_date"], question, sentence)
        return 1.0 if due else 0.7 if _PATTERNS["when"].search(folded) else 0.0
    return 0.3 if _PATTERNS["when"].search(folded) and has_new_figure(question, sentence) else 0.0


def _duration(question: ParsedQuestion, sentence: str) -> float:
    if question.kind != "when":  # "every day" answers how often, but not how long
        sentence = _PATTERNS["frequency"].sub(" ", fold(sentence))
    folded = fold(sentence)
    if _has_new(_PATTERNS["duration"], question, sentence):
        return 1.0
    if _DATE.search(folded):
        return 0.7
    return 0.4 if has_new_figure(question, sentence) or _PATTERNS["when"].search(folded) else 0.0


def _person(question: ParsedQuestion, sentence: str) -> float:
    asked = set(fold(question.text).split())
    proper = [fold(one).strip('"\u201c( ') for one in _PROPER.findall(sentence)]
    roles = [one.group() for one in _PATTERNS["role"].finditer(fold(sentence))]
    return float(any(not set(name.split()) <= asked for name in (*proper, *roles)))


def _name(question: ParsedQuestion, sentence: str) -> float:
    """Score whether the sentence has a new name, other than that of an office or a body ("Audit Committee").

    To a question with "who is", an office is an answer too: "The chair is the head of the school."
    """
    if "name" not in question.terms and _IS_THE.search(sentence):
        return 1.0
    pattern = _GERMAN_NAME if question.language == "de" else _PROPER
    asked, names = set(_WORD.findall(fold(question.text))), map(fold, pattern.findall(_NO_NAME.sub(" ", sentence)))
    return float(any(not (_PATTERNS["role"].search(name) or asked.issuperset(_WORD.findall(name))) for name in names))


# "A deployer is established in ..." is about a deployer, but does not define one.
_DEFINING = "based|called|composed|concerned|considered|defined|designed|intended|made|meant|named|related|used"
_NO_PARTICIPLE = rf"(?! (?:not |also |only |already |being )?(?!(?:{_DEFINING})\b)\w+(?:ed|ing)\b)"


def _expands(acronym: str, sentence: str) -> bool:
    """Return whether the sentence has the words that an acronym is short for: "long-term support (LTS)"."""
    before, found, _ = sentence.partition(f"({acronym})")
    words = _LETTERS.findall(before)[-len(acronym) :]
    initials = "".join(word[0] for word in words)
    return bool(found) and fold(initials) == fold(acronym)


def _definition(question: ParsedQuestion, sentence: str) -> float:
    if any(word.isupper() and len(word) > 1 and _expands(word, sentence) for word in question.surfaces):
        return 1.0
    subject = "|".join(re.escape(fold(word)) for word in question.surfaces[-3:])
    if not subject:
        return 0.5
    pattern = (
        rf"(?:{subject})\w*\W{{1,3}}(?:\([^)]*\) ?)?(?:(?:is|are|was|were){_NO_PARTICIPLE}|means?|refers? to|denotes?"
        rf"|stands? for|describes?|ist|sind|bedeutet|bezeichnet|:|\||=|\u2013|-|,? an? |(?:est|sont|es|son)\b"
        rf"|designe|signifi|significa)|(?:entend par|entienden? por|entenderan? por|als|unter)\W{{1,4}}(?:{subject})\b"
    )
    return 1.0 if re.search(pattern, fold(sentence)) else 0.4


def _pattern_score(pattern: re.Pattern[str]) -> Callable[[ParsedQuestion, str], float]:
    return lambda _, sentence: 1.0 if pattern.search(sentence) else 0.3


_UNITS = {measure: re.compile(unit) for measure, unit in _PATTERNS.rows("units")}
_MEASURES: dict[str, Callable[[ParsedQuestion, str], float]] = {
    "number": _number,
    "money": _figure_score(_PATTERNS["money"]),
    "percentage": _figure_score(_PATTERNS["percent"]),
    "date": _date,
    "duration": _duration,
    "person": _person,
    "name": _name,
    "definition": _definition,
    "place": _pattern_score(_PATTERNS["place"]),
    "reason": _pattern_score(_PATTERNS["reason_value"]),
}


@dataclass(frozen=True)
class ScoringContext:
    """A question with its vectors, and the models and weights for comparing sentences with the question.

    `vectors` has a row for the whole question and one for each of its parts.
    """

    question: ParsedQuestion
    vectors: NDArray[np.float32]
    embedding: EmbeddingModel
    tokeniser: KeywordTokeniser
    weights: TermWeights
    contraries: ContradictionFinder

    def stems(self, text: str) -> frozenset[str]:
        """Return the distinct stems of a text."""
        return frozenset(self.tokeniser.stems(text))

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Embed the texts, cut to the model's limit, one row per text."""
        return embed_truncated(texts, self.embedding)


MOST_EMBEDDED = 24  # candidate sentences of a question
# The rounded weights of a conditional logit over the sentences of each question's chunks. It was fitted on paraphrased
# handbook questions and on reading-comprehension sets in English and German; see decisions 3 and 57 in docs/decisions.
_WEIGHT_COSINE = 0.55
_WEIGHT_COVERAGE = 0.35
_WEIGHT_AROUND = 0.5
_WEIGHT_CHUNK = 0.25
_WEIGHT_CHUNK_COSINE = 0.45
_WEIGHT_RIVAL = 0.35
_WEIGHT_FRAGMENT = 0.06
_WEIGHT_FIGURE = 0.35
_WEIGHT_PERSON = 0.2
_WEIGHT_OTHER_VALUE = 0.15


@dataclass(frozen=True)
class CandidateFeatures:
    """A candidate sentence with its stems and those parts of its score that need no embedding."""

    candidate: SentenceCandidate
    stems: frozenset[str]
    own_stems: frozenset[str]
    coverage: float
    """Weighted share of the question's words that the sentence itself has."""
    around: float
    """Weighted share of the question's words only in its headings or the preceding sentence, counted half."""
    chunk_score: float
    """Score of its chunk divided by the score of the best chunk."""
    support: float
    """How surely the sentence has a value of the kind that the question expects, 0 to 1."""


@dataclass(frozen=True)
class ScoredSentence(CandidateFeatures):
    """A candidate with its vector and all parts of its score."""

    cosine: float
    chunk_cosine: float
    support_weight: float
    rivals: int
    vector: NDArray[np.float32]

    @property
    def relevance(self) -> float:
        """How well the sentence matches the question, whether or not it has the value that the question expects."""
        return (
            _WEIGHT_COSINE * self.cosine
            + _WEIGHT_COVERAGE * self.coverage
            + _WEIGHT_AROUND * self.around
            + _WEIGHT_CHUNK * self.chunk_score
            + _WEIGHT_CHUNK_COSINE * self.chunk_cosine
        )

    @property
    def score(self) -> float:
        """The relevance minus penalties: no expected value, an incomplete sentence, "rule 8" in place of "rule 7"."""
        missing = self.support_weight * (1.0 - self.support)
        fragment = 0.0 if self.candidate.whole else _WEIGHT_FRAGMENT
        return self.relevance - missing - fragment - _WEIGHT_RIVAL * min(self.rivals, 1)


def score_sentences(
    context: ScoringContext, chunks: Sequence[RetrievedChunk], candidates: Sequence[SentenceCandidate]
) -> list[ScoredSentence]:
    """Score the most promising candidates, best first; ties by chunk and position."""
    features = _candidate_features(context, chunks, _with_other_words(context, candidates))
    # To limit the time for embedding, candidates with few words of the question in weak chunks are dropped.
    promise = [one.coverage + one.around + one.chunk_score + one.support for one in features]
    ranked = sorted(range(len(features)), key=lambda position: -promise[position])
    features = [features[position] for position in sorted(ranked[:MOST_EMBEDDED])]
    vectors = context.embed([one.candidate.readable_with_question for one in features])
    question, scored = context.question, []
    other_weight = _WEIGHT_PERSON if question.expects in {"person", "name"} else _WEIGHT_OTHER_VALUE
    for one, vector in zip(features, vectors, strict=True):
        chunk, text = chunks[one.candidate.chunk], one.candidate.readable
        cosine = round(float((context.vectors @ vector).max()), 6)  # to the nearest part of the question
        scored.append(
            ScoredSentence(
                **vars(one),
                cosine=cosine,
                chunk_cosine=cosine if chunk.cosine is None else chunk.cosine,
                support_weight=_WEIGHT_FIGURE if question.expects_figure else other_weight,
                rivals=count_rival_numbers(question.text, f"{chunk.context}\n{text}"),
                vector=vector,
            )
        )
    return sorted(scored, key=lambda one: (-round(one.score, 6), one.candidate.chunk, one.candidate.start))


def _with_other_words(context: ScoringContext, candidates: Sequence[SentenceCandidate]) -> Sequence[SentenceCandidate]:
    """Leave out candidates with no word but those of the question, unless all are such, or it asks for yes or no."""
    asked = context.stems(context.question.text)
    telling = [one for one in candidates if not context.stems(strip_markup(one.text)) <= asked]
    return candidates if context.question.kind == "yes_no" or not telling else telling


def _candidate_features(
    context: ScoringContext, chunks: Sequence[RetrievedChunk], candidates: Sequence[SentenceCandidate]
) -> list[CandidateFeatures]:
    best = max((chunk.score for chunk in chunks), default=0.0)
    drafts: list[CandidateFeatures] = []
    for candidate in candidates:
        chunk = chunks[candidate.chunk]
        follows = bool(drafts) and drafts[-1].candidate.chunk == candidate.chunk
        headings = context.stems(f"{chunk.context} {chunk.source_title} {candidate.topic}")
        around = (drafts[-1].stems if follows else frozenset()) | headings
        stems = context.stems(candidate.readable_with_question)
        stems |= _price_stems(context, candidate, stems | headings)
        own = context.stems(candidate.readable) if candidate.under_question else stems
        coverage = context.weights.coverage(context.question.terms, stems)
        added = context.weights.coverage(context.question.terms, stems, around) - coverage
        score = chunk.score / best if best > 0 else 0.0
        support = expected_value_score(context.question, candidate.readable)
        drafts.append(CandidateFeatures(candidate, stems, own, coverage, added, score, support))
    return drafts


def _price_stems(context: ScoringContext, row: SentenceCandidate, stems: frozenset[str]) -> frozenset[str]:
    """Return the stems with which the question asks for a price, such as "cost", if a table row has that price.

    The question must contain all words of the row's label. `stems`, those of the row and its headings, must contain all
    other words of the question: the price of a pump is not what cleaning the pump costs.
    """
    if row.kind != "row" or not _PATTERNS["price_column"].search(fold(row.readable)):
        return frozenset()
    asked, label = context.stems(context.question.text), context.stems(row_label(row.text))
    if not label or not label <= asked:
        return frozenset()
    price = asked & context.stems(" ".join(_PATTERNS.words("asks_price")))
    return price if price.union(stems).issuperset(context.question.terms) else frozenset()
