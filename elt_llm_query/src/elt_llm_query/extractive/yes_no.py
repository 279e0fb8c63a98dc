"""Start the answer to a yes-or-no question with "Yes" or "No", if a quoted sentence decides this question.

The clause that contains most of the question's words decides: "Dogs may enter" answers "May dogs enter?" with "Yes".
Decision 43 explains and measures the rules.
"""

import re
from collections.abc import Sequence
from typing import Literal

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.languages import alternatives, load_language, rule_languages
from elt_llm_core.text.normalise import fold

from elt_llm_query.extractive.evidence import NEGATION, names_apart
from elt_llm_query.extractive.sentence_scores import ScoredSentence, ScoringContext
from elt_llm_query.grounding.rules import find_numbers
from elt_llm_query.grounding.sentences import SentenceCandidate
from elt_llm_query.understanding.patterns import PatternFile
from elt_llm_query.understanding.question import asked_language

_PATTERNS = PatternFile(__file__)
_LEAST_COSINE = 0.4  # of a deciding sentence with the question
_LEAST_COVERAGE = 0.1  # of the question by a deciding sentence
_OPENINGS = [fold(word) for code in rule_languages() for word in load_language(code).words("yes_no")]
_REPLY = re.compile(rf"(?:{alternatives(_OPENINGS)})\b[^\w ]")
Verdict = Literal["yes", "no"]


def is_bare_reply(sentence: SentenceCandidate) -> bool:
    """Return whether a sentence starts with "yes" or "no" and answers the question above it, as in an FAQ."""
    return sentence.under_question and bool(_REPLY.match(fold(sentence.text)))


def deciding_sentence(
    context: ScoringContext, scored: Sequence[ScoredSentence], chunks: Sequence[RetrievedChunk]
) -> tuple[ScoredSentence, Verdict] | None:
    """Return the best sentence that decides a yes-or-no question, and its verdict. `scored` is sorted best first."""
    if context.question.kind != "yes_no" or NEGATION.search(fold(context.question.text)):
        return None
    for one in scored:
        chunk = chunks[one.candidate.chunk]
        apart = names_apart(context.question, one, chunk) or _lacks_numbers(context.question.text, one, chunk)
        verdict = None if apart else _verdict(context, one)
        if verdict:
            return one, verdict
    return None


def opening_word(question: str, language: str, verdict: Verdict) -> str:
    """Return "Yes" or "No", whichever is the verdict, in the language of the question."""
    words = load_language(asked_language(question, language)).words("yes_no") or load_language("en").words("yes_no")
    return words[("yes", "no").index(verdict)]


def _lacks_numbers(question: str, sentence: ScoredSentence, chunk: RetrievedChunk) -> bool:
    """Return whether the sentence and its headings lack a number that the question contains in digits or words."""
    there = find_numbers(f"{chunk.context} {sentence.candidate.topic} {sentence.candidate.readable}")
    return not all(any(number.agrees(other) for other in there) for number in find_numbers(question))


def _verdict(context: ScoringContext, sentence: ScoredSentence) -> Verdict | None:
    text, asked = fold(sentence.candidate.readable), fold(context.question.text)
    near = sentence.cosine >= _LEAST_COSINE and sentence.coverage >= _LEAST_COVERAGE
    if not near or is_bare_reply(sentence.candidate) or _PATTERNS["only_if"].search(text):
        return None
    clause = f"{fold(sentence.candidate.lead)} {_main_clause(context, text)}"
    has = {name: bool(_PATTERNS[name].search(clause)) for name in ("needless", "allows", "requires", "unless")}
    denied = bool(NEGATION.search(_PATTERNS["relative_denial"].sub(" ", clause)))
    if denied and has["unless"]:
        return None
    if _PATTERNS["asks_duty"].search(asked):
        return "no" if denied or has["needless"] else "yes" if has["requires"] else None
    if _PATTERNS["asks_leave"].search(asked):
        return None if has["needless"] else "no" if denied else "yes" if has["allows"] else None
    return None


def _main_clause(context: ScoringContext, text: str) -> str:
    """Return the clause, other than a condition, that contains most of the question's words."""
    clauses = [clause for clause in _PATTERNS["clause_end"].split(text) if clause and clause.strip()]
    main = [clause for clause in clauses if not _PATTERNS["condition"].match(clause.strip())] or [text]
    return max(main, key=lambda clause: context.weights.coverage(context.question.terms, context.stems(clause)))
