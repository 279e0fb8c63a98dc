"""Start the answer to a yes-or-no question with "Yes" or "No", if a quoted sentence decides this question.

To answer other questions, compare limits too: "up to 9 metres" does not answer "above 9 metres?".

A clause that contains all of the question's words decides: "Dogs may enter" answers "May dogs enter?" with "Yes", and
"May cats enter?" with neither word. Decision 43 explains and measures the rules.
"""

import re
from collections.abc import Sequence
from typing import Literal

from elt_llm_core.results import RetrievedChunk
from elt_llm_core.text.languages import alternatives, load_language, rule_languages
from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import stopwords_of

from elt_llm_query.extractive.evidence import NEGATION, names_apart
from elt_llm_query.extractive.sentence_scores import ScoredSentence, ScoringContext
from elt_llm_query.grounding.rules import RuleClause, RuleLimit, find_numbers, limits_same_subject, read_rules
from elt_llm_query.grounding.sentences import SentenceCandidate, match_term
from elt_llm_query.understanding.patterns import PatternFile
from elt_llm_query.understanding.question import asked_language

_PATTERNS = PatternFile(__file__)
_RELATIONS = _PATTERNS.words("relations")
_WORD = re.compile(r"\w+")
_DENIAL = re.compile(rf"{NEGATION.pattern}|\b(?:banned|verboten|untersagt|unzulassig)\b")
_OPENINGS = [fold(word) for code in rule_languages() for word in load_language(code).words("yes_no")]
_REPLY = re.compile(rf"(?:{alternatives(_OPENINGS)})\b[^\w ]")
_NEAR_LIMIT = 0.3  # a sentence with the asked limit may score this much below the best
_UP = {"over": True, "least": True, "under": False, "most": False}
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
        verdict = verdict and _verdict_by_limits(context, one, verdict)
        if verdict:
            return one, verdict
    return None


def opening_word(question: str, language: str, verdict: Verdict) -> str:
    """Return "Yes" or "No", whichever is the verdict, in the language of the question."""
    words = load_language(asked_language(question, language)).words("yes_no") or load_language("en").words("yes_no")
    return words[("yes", "no").index(verdict)]


def drop_other_limits(context: ScoringContext, scored: Sequence[ScoredSentence]) -> Sequence[ScoredSentence]:
    """Remove the sentences about amounts beyond the asked limit, if one near the best has that limit.

    A yes-or-no question is answered by the other limit, too, and keeps all sentences.
    """
    if context.question.kind == "yes_no" or not scored:
        return scored
    asked = _limits(context, context.question.text)
    if not asked:
        return scored
    fits = [_has_asked_limits(asked, _limits(context, one.candidate.readable)) for one in scored]
    near = (fit for fit, one in zip(fits, scored, strict=True) if one.score >= scored[0].score - _NEAR_LIMIT)
    return [one for fit, one in zip(fits, scored, strict=True) if fit is not False] if True in near else scored


def _limits(context: ScoringContext, text: str) -> list[RuleLimit]:
    """Return the limits of amounts in a text, such as "at most 72 hours".

    Limits that are read as negated are left out: "Loans under 500 euro need no guarantor" is about small ones.
    """
    limits = [limit for clause in _rules(context, text) for limit in clause.limits if limit.numbers]
    return [limit for limit in limits if _UP.get(limit.kind) == limit.up]


def _has_asked_limits(asked: Sequence[RuleLimit], stated: Sequence[RuleLimit]) -> bool | None:
    """Return whether a sentence has the asked limits, or limits of which they are the contrary; None if neither."""
    pairs = [(one, two) for one in asked for two in stated if limits_same_subject(one, two)]
    fits = {one.up == two.up for one, two in pairs}
    if len(fits) != 1:  # none, or "up to 9 metres 433 euro, above 9 metres 655 euro"
        return None
    if True in fits:
        return True
    # "At most 9" and "at least 9" have one amount in common.
    return False if all((one.strict or two.strict) and one.unit == two.unit for one, two in pairs) else None


def _lacks_numbers(question: str, sentence: ScoredSentence, chunk: RetrievedChunk) -> bool:
    """Return whether the sentence and its headings lack a number that the question contains in digits or words."""
    there = find_numbers(f"{chunk.context} {sentence.candidate.topic} {sentence.candidate.readable}")
    return not all(any(number.agrees(other) for other in there) for number in find_numbers(question))


def _verdict(context: ScoringContext, sentence: ScoredSentence) -> Verdict | None:
    written, asked = fold(sentence.candidate.readable), fold(context.question.text)
    text = _PATTERNS["deadline"].sub(r"\1 \2", written)  # a deadline between commas is no clause
    if is_bare_reply(sentence.candidate) or _PATTERNS["partial"].search(text):
        return None
    lead, terms = fold(sentence.candidate.lead), _content(context, asked)
    clauses = (f"{lead} {clause}".strip() for clause in _main_clauses(text))
    clause = next((clause for clause in clauses if terms and _has_in_order(_content(context, clause), terms)), "")
    if not clause or not set(_PATTERNS["except"].findall(clause)) <= set(_PATTERNS["except"].findall(asked)):
        return None
    if _DENIAL.search(clause):
        # "Need not be sent at once, within a week at the latest" and "if it rains, boots must not ..." deny less.
        less = text != written or _PATTERNS["unless"].search(text) or _PATTERNS["condition"].search(text)
        return None if less or _further(context, clause, terms) else _denial(asked, clause)
    return "yes" if _grants(context, asked, clause, terms) else None


def _denial(asked: str, clause: str) -> Verdict | None:
    """Return "no" if a clause that has a denial forbids what the question asks leave for, or needs no asked duty."""
    needless = bool(_PATTERNS["needless"].search(clause))
    if len(_DENIAL.findall(clause)) > 1 or not (needless or _PATTERNS["forbids"].search(clause)):
        return None  # "is not heated" states a fact
    if _PATTERNS["asks_duty"].search(asked):
        return "no"
    return "no" if _PATTERNS["asks_leave"].search(asked) and not needless else None


def _grants(context: ScoringContext, asked: str, clause: str, terms: Sequence[str]) -> bool:
    """Return whether a clause states the duty or gives the leave that is asked for, and to no narrower subject."""
    if _PATTERNS["asks_duty"].search(asked):
        advice = _PATTERNS["recommends"]
        rule = _PATTERNS["requires"].search(clause if advice.search(asked) else advice.sub(" ", clause))
    else:
        rule = _PATTERNS["allows"].search(clause) if _PATTERNS["asks_leave"].search(asked) else None
    return rule is not None and not _further(context, clause[: rule.start()], terms)


def _content(context: ScoringContext, text: str) -> list[str]:
    """Return the stems of a folded text in order, without modal and unspecific words, but with "without" or "after"."""
    words = _WORD.findall(_PATTERNS["unspecific"].sub(" ", text))
    ignored = stopwords_of(context.question.language) - _RELATIONS
    stems = ([word] if word in _RELATIONS else context.tokeniser.stems(word) for word in words if word not in ignored)
    return [stem for some in stems for stem in some]


def _has_in_order(stems: Sequence[str], terms: Sequence[str]) -> bool:
    """Return whether all terms are among the stems, in this order: "cats bite dogs" is not "dogs bite cats"."""
    left = iter(stems)
    return all(any(match_term(term, (stem,)) for stem in left) for term in terms)


def _further(context: ScoringContext, text: str, terms: Sequence[str]) -> bool:
    """Return whether the text has a word that the question lacks, and that may limit what the text is about."""
    return not all(match_term(stem, terms) for stem in _content(context, text))


def _verdict_by_limits(context: ScoringContext, sentence: ScoredSentence, verdict: Verdict) -> Verdict | None:
    """Return the verdict after a comparison of limits: "at most 72 hours" answers "more than 72 hours?" with "no"."""
    question, text = context.question.text, f"{sentence.candidate.lead} {sentence.candidate.readable}"
    clauses = _rules(context, text)
    stated = [limit for clause in clauses for limit in clause.limits if limit.bounds]
    asked = [limit for clause in _rules(context, question) for limit in clause.limits if limit.bounds]
    duty = bool(_PATTERNS["asks_duty"].search(fold(question)))
    fits = {_fits(limit, stated, duty=duty) for limit in asked}
    if None in fits:
        return None
    if False in fits:
        has_condition = any(limit.condition for clause in clauses for limit in clause.limits)
        return None if duty or has_condition else "no"
    # "Not longer than 72 hours" denies no shorter time.
    denies = any(clause.denied or clause.force == "neednot" for clause in clauses)
    return None if verdict == "no" and stated and not denies else verdict


def _rules(context: ScoringContext, text: str) -> tuple[RuleClause, ...]:
    return read_rules(text, find_numbers(text), context.tokeniser.stems).clauses


def _fits(asked: RuleLimit, stated: Sequence[RuleLimit], *, duty: bool) -> bool | None:
    """Return whether the asked amounts are within the stated limit. Return None if this is not certain."""
    like = [other for other in stated if limits_same_subject(asked, other)]
    if not like or len({other.up for other in like}) > 1:
        return None
    other = like[0]
    if other.up == asked.up:
        return None if asked.strict != other.strict and asked.strict == duty else True
    # "Loans over 500 euros can be refused" names a case and leaves smaller loans open; "up to 500 euros" is a limit.
    excluded = asked.kind == other.kind or (asked.strict and not other.strict and asked.unit == other.unit)
    return False if asked.numbers and excluded else None


def _main_clauses(text: str) -> list[str]:
    """Return the clauses of a text other than conditions."""
    clauses = [clause.strip() for clause in _PATTERNS["clause_end"].split(text) if clause and clause.strip()]
    return [clause for clause in clauses if not _PATTERNS["condition"].match(clause)]
