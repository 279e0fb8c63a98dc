"""A follow-up made to stand by itself, by rules: "and for juniors?" after a question about seniors.

What is asked of the documents is always the rewritten question, and it is shown: a wrong guess must be seen.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.conversation.follow_up_words import (
    ABOUT,
    ASKING,
    CODE,
    CONNECTIVE,
    DEMONSTRATIVE,
    POLITE,
    PREPOSITION,
    PRONOUN,
    REASONS,
)
from elt_llm_query.understand import numbers_of, question_language, understand

_SHORT = 5  # words: a longer text without a pronoun or "what about" stands by itself
_FEW_TERMS = 4  # content words: with more a pronoun is taken to refer to something in the question itself
_MOST_TOPIC = 8  # words of an earlier question that say what it was about


@dataclass(frozen=True)
class Before:
    """An earlier turn: the question as it was understood, and what its answer was about, best first."""

    question: str
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rewritten:
    """The question that is asked, and the rule that made it; no rule if it stood by itself."""

    text: str
    rule: str = ""


def rewrite(question: str, before: Sequence[Before], tokeniser: KeywordTokeniser | None = None) -> Rewritten:
    """The question in words that need no earlier turn; `before` has the turns so far, the last one last."""
    text = " ".join(question.split())
    if not before or not text:
        return Rewritten(text)
    tokeniser = tokeniser or KeywordTokeniser(question_language(before[-1].question))
    rest, connected = _without_connective(text)
    last = before[-1]
    if _asks_bare(rest):
        return Rewritten(_asked_of_topic(rest, last, tokeniser), "the question word alone, asked of the last topic")
    if not _leans(rest, connected, tokeniser):
        return Rewritten(text)
    for rule, made in (
        ("another code or number in the same question", _exchanged_label(rest, last)),
        ("another phrase in the same question", _exchanged_phrase(rest, last)),
    ):
        if made:
            return Rewritten(made, rule)
    if _points_back(rest) or _has_verb(rest):
        return Rewritten(_with_topic(rest, last, tokeniser), "with the last topic")
    return Rewritten(_appended(rest, last, tokeniser), "the last question, about this")


def _without_connective(text: str) -> tuple[str, bool]:
    """The text without "and", "what about" and "please", and whether it began with one of the first two."""
    rest, connected = text, False
    for pattern in (CONNECTIVE, ABOUT, CONNECTIVE):
        shorter = pattern.sub("", rest, count=1)
        connected |= shorter != rest
        rest = shorter
    return POLITE.sub("", rest).strip(" ,.;") or text, connected


def _asks_bare(rest: str) -> bool:
    """Whether nothing is asked but why, how long, since when ..."""
    return bool(ASKING.fullmatch(fold(rest).strip(" ?!.")))


def _leans(rest: str, connected: bool, tokeniser: KeywordTokeniser) -> bool:
    if _points_back(rest):
        return len(_content(rest, tokeniser)) <= _FEW_TERMS
    most = _SHORT + 3 if connected else _SHORT
    return len(rest.split()) <= most and not _stands(rest, tokeniser)


def _stands(rest: str, tokeniser: KeywordTokeniser) -> bool:
    """Whether it is a question with a subject of its own: asking words and two content words or more."""
    return _has_verb(rest) and len(_content(rest, tokeniser)) > 1


def _content(text: str, tokeniser: KeywordTokeniser) -> list[str]:
    """The words that have a stem, as written, but for those that ask."""
    return [word for word in _ASKING_FIRST.sub("", text).split() if tokeniser.stems(word)]


def _has_verb(rest: str) -> bool:
    return understand(rest).kind != "other" or bool(REASONS.match(fold(rest)))


def _points_back(rest: str) -> bool:
    """Whether a pronoun stands for something said before."""
    folded = fold(rest)
    return bool(PRONOUN.search(folded) or DEMONSTRATIVE.search(folded))


def _exchanged_label(rest: str, last: Before) -> str:
    """The last question with its one code or number replaced by the one that is now named."""
    fragment = rest.rstrip("?!. ")
    if len(fragment.split()) > _SHORT:
        return ""
    for labels in (_codes, numbers_of):
        now, then = labels(fragment), labels(last.question)
        if len(now) == 1 and len(then) == 1 and now != then:
            before, _, after = last.question.partition(then[0])
            return f"{before}{now[0]}{after}"
    return ""


def _codes(text: str) -> tuple[str, ...]:
    """The codes in a text, without the word that says what they are of: that of the question at hand stays."""
    return tuple(dict.fromkeys(found[1] for found in CODE.finditer(text)))


def _exchanged_phrase(rest: str, last: Before) -> str:
    """The phrase of the last question that begins alike, as "for seniors" and "for juniors", or ends alike.

    Asking words before such a phrase ("how many for juniors?") are those of the last question again.
    """
    fragment = _ARTICLE.sub("", _AGAIN.sub("", rest.rstrip("?!. ")))
    if _ONE.search(fragment):
        nouns = re.findall(r"[\w-]+", last.question)
        fragment = _ONE.sub(nouns[-1] if nouns else "", fragment)
    if opening := PREPOSITION.match(fragment):
        pattern = rf"\b{re.escape(opening[1])}\s+(?:(?!\b(?:{_BOUNDARIES})\b)[^\s,?.!]+\s?){{1,4}}"
    elif len(words := fragment.split()) > 1 and not _has_verb(fragment):
        pattern = rf"(?:(?!\b(?:{_BOUNDARIES})\b)\b[\w-]+\s+)?\b{re.escape(words[-1])}\b"
    else:
        return ""
    places = list(re.finditer(pattern, last.question, re.IGNORECASE))
    if not places:
        return ""
    place = places[-1]
    end = place.start() + len(place[0].rstrip())
    return f"{last.question[: place.start()]}{fragment}{last.question[end:]}"


_ASKING_FIRST = re.compile(rf"^(?:{ASKING.pattern})\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?|der|die|das|des|dem|den|eine?[mnrs]?)\s+", re.IGNORECASE)
_ONE = re.compile(r"(?<=\w )ones?$", re.IGNORECASE)
_AGAIN = re.compile(rf"^(?:{ASKING.pattern})\s+(?={PREPOSITION.pattern[1:]})", re.IGNORECASE)
_BOUNDARIES = (
    "for|in|on|at|by|with|from|to|of|during|after|before|until|is|are|was|were|do|does|did|can|may|must|should|will"
    "|has|have|had|and|or|the|a|an|der|die|das|des|dem|den|ein|eine|einer|und|oder|ist|sind|hat|haben|muss|darf|kann"
    "|what|which|who|how|when|where|was|welche|wie|wer|wann|wo"
)


def _topic(last: Before, tokeniser: KeywordTokeniser) -> str:
    """What the last question was about: its content words as written, without what it asked for."""
    asked = understand(last.question, tokeniser)
    words = [word for word in asked.surfaces if not ASKING.fullmatch(fold(word))]
    return " ".join(list(dict.fromkeys(words))[:_MOST_TOPIC])


def _asked_of_topic(rest: str, last: Before, tokeniser: KeywordTokeniser) -> str:
    return f"{rest.rstrip('?!. ')} {_topic(last, tokeniser)}?"


def _with_topic(rest: str, last: Before, tokeniser: KeywordTokeniser) -> str:
    about = _topic(last, tokeniser)
    return f"{rest.rstrip('?!. ')} ({about})?" if about else rest


def _appended(rest: str, last: Before, tokeniser: KeywordTokeniser) -> str:
    known = set(tokeniser.stems(last.question))
    added = rest.rstrip("?!. ")
    if set(tokeniser.stems(added)) <= known:
        return last.question
    return f"{last.question.rstrip('?!. ')}, {added}?"
