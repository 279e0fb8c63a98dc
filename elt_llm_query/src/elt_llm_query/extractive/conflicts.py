"""Find sentences that conflict with the quotes: those with another value, and those that amend a quoted paragraph."""

import re
from collections.abc import Iterator, Sequence

from elt_llm_core.text.sentences import sentence_spans

from elt_llm_query.extractive.lists import DocumentReader
from elt_llm_query.extractive.sentence_scores import ScoredSentence, ScoringContext
from elt_llm_query.grounding.citations import Quote
from elt_llm_query.grounding.rules import MEASURES, NumberValue, find_numbers
from elt_llm_query.grounding.sentences import match_term, strip_syntax
from elt_llm_query.understanding.patterns import PatternFile

OTHER_VALUE = "The quoted sentences give different values."
AMENDED = "A quoted paragraph is amended by another one, which is quoted too."
_TIMES = frozenset({"second", "minute", "hour", "day", "week", "month", "year"})
_MONEY = frozenset({"dollar", "euro", "sterling"})
_UNITS = {"duration": _TIMES, "date": _TIMES, "money": _MONEY, "percentage": frozenset({"percent"})}
_LEAST_COVERAGE = 0.5  # of the question's topic, by a sentence with another value
_FEWEST_SHARED = 2  # words of the question in both sentences
_PATTERNS = PatternFile(__file__)
_ASKING = " ".join(_PATTERNS.words("asks_value"))
_NUMBERED = re.compile(r"\W{0,12}([A-Z]?\d{1,4}(?:\.\d{1,4}){1,4})\b")


def find_other_values(
    context: ScoringContext, quotes: Sequence[Quote], scored: Sequence[ScoredSentence]
) -> list[ScoredSentence]:
    """Return sentences that give another duration, amount of money or percentage than the first quote that has one.

    Each contains all words that this quote shares with the question, and at least half of the question's topic.
    """
    question = context.question
    units = _TIMES if MEASURES.get(question.counted) in _TIMES else _UNITS.get(question.expects, frozenset())
    texts = (quote.readable or strip_syntax(quote.words) for quote in quotes)
    given = next(((text, values) for text in texts if (values := _values(text, units))), None)
    if question.kind == "yes_no" or given is None:
        return []
    text, values = given
    known, own, asking = [*values, *find_numbers(question.text)], context.stems(text), context.stems(_ASKING)
    topic = [term for term in question.terms if term not in asking]
    subject = [term for term in topic if match_term(term, own)]
    found: list[ScoredSentence] = []
    for one in scored if len(subject) >= _FEWEST_SHARED else ():
        others = _values(one.candidate.readable, units) if one.candidate.kind != "row" else []
        differs = others and not any(other.agrees(value) for other in others for value in known)
        if (
            differs
            and all(match_term(term, one.own_stems) for term in subject)
            and context.weights.coverage(topic, one.own_stems) >= _LEAST_COVERAGE
        ):
            found.append(one)
            known += others
    return found


def _values(text: str, units: frozenset[str]) -> list[NumberValue]:
    return [number for number in find_numbers(text) if number.measure in units]


def find_amendments(quotes: Sequence[Quote], read_document: DocumentReader) -> Iterator[Quote]:
    """Yield the sentences that amend a quoted paragraph by its number: "In paragraph 6.4, ... is replaced by ..."."""
    for quote in quotes:
        paragraph = quote.chunk.text[: quote.start].rpartition("\n\n")[2] + quote.words
        number = _NUMBERED.match(paragraph)
        if not number:
            continue
        text, _ = read_document(quote.chunk)
        named = re.compile(_PATTERNS.part("amended_paragraph").replace("NUMBER", re.escape(number[1])), re.IGNORECASE)
        for one in named.finditer(text):
            begin = text.rfind("\n\n", 0, one.start()) + 2 if "\n\n" in text[: one.start()] else 0
            after = text.find("\n\n", one.end())
            spans = sentence_spans(text[begin : after if after >= 0 else len(text)])
            start, end = next((begin + left, begin + right) for left, right in spans if right > one.start() - begin)
            if _PATTERNS["amending"].search(text[start:end]):
                chunk = quote.chunk.model_copy(update={"text": text[start:end], "span": (start, end)})
                yield Quote(chunk, 0, end - start)
