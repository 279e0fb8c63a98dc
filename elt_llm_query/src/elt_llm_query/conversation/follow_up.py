"""A follow-up made to stand by itself, by rules: "and for juniors?" after a question about seniors.

What is asked of the documents is always the rewritten question, and it is shown: a wrong guess must be seen.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.text.normalise import fold, words
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.conversation.exchanges import (
    names_kind,
    other_asking,
    other_label,
    other_phrase,
    other_subject,
    other_time,
)
from elt_llm_query.conversation.follow_up_words import (
    ABOUT,
    ASKING,
    ASKING_THINGS,
    ASKING_WHICH,
    AUXILIARY,
    BESIDES,
    CLAUSE,
    CONNECTIVE,
    DEFINED,
    DEMONSTRATIVE,
    POLITE,
    POSSESSIVE,
    PREPOSITION,
    PRONOUN,
    REASONS,
)
from elt_llm_query.understand import question_language, understand

_SHORT = 5  # words: a longer text without a pronoun or "what about" stands by itself
_SHORT_CONNECTED = 8
_FEW_TERMS = 4  # content words: with more a pronoun is taken to refer to something in the question itself
_MOST_EXCHANGED = 3  # content words that may take the place of a subject: more ask for something of their own
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
    rest, connected = _without_connective(text)
    if not before or not words(rest):
        return Rewritten(text)  # nothing said before, or nothing asked: thanks
    tokeniser = tokeniser or KeywordTokeniser(question_language(before[-1].question))
    if _asks_bare(rest):
        return _with_asking(rest, before[-1], tokeniser)
    if not _leans(rest, connected, tokeniser):
        return Rewritten(text)
    if _points_back(rest, tokeniser):
        return _with_topic(rest, before[-1], tokeniser)
    own = not connected and _could_stand(rest, tokeniser)
    made = _exchanged(rest, before[-1], tokeniser, may_be_subject=not own)
    return made or (Rewritten(text) if own else _appended(rest, before[-1], tokeniser))


def _could_stand(rest: str, tokeniser: KeywordTokeniser) -> bool:
    """Whether it may be a search in a few words, which lean on nothing: no question mark, no "for ..."."""
    return not rest.endswith("?") and not PREPOSITION.match(rest) and len(_content(rest, tokeniser)) > 1


def _exchanged(rest: str, last: Before, tokeniser: KeywordTokeniser, *, may_be_subject: bool) -> Rewritten | None:
    """The last question of something else, by the first rule that fits and keeps all that is said now."""
    fragment = rest.rstrip("?!. ")
    rules = [
        ("another code or number in the same question", other_label),
        ("another time in the same question", other_time),
        ("another phrase in the same question", other_phrase),
    ]
    if may_be_subject and not _has_verb(fragment) and len(_content(fragment, tokeniser)) <= _MOST_EXCHANGED:
        rules.append(("another subject of the same question", other_subject))
    for rule, exchange in rules:
        made = exchange(fragment, last.question)
        if made and _keeps(fragment, made, tokeniser):
            return Rewritten(made, rule)
    return None


def _keeps(fragment: str, made: str, tokeniser: KeywordTokeniser) -> bool:
    """Whether every word that means something, and every name however common its letters, is still there."""
    named = {word for name in understand(fragment, tokeniser).names for word in words(name)}
    stems = set(tokeniser.stems(fragment)) - set(tokeniser.stems("one ones"))
    return named <= set(words(made)) and stems <= set(tokeniser.stems(made))


def _without_connective(text: str) -> tuple[str, bool]:
    """The text without "and", "what about" and "please", and whether it began with one of the first two."""
    rest, connected = text, False
    for pattern in (CONNECTIVE, ABOUT, CONNECTIVE):
        shorter = pattern.sub("", rest, count=1)
        connected |= shorter != rest
        rest = shorter
    return POLITE.sub("", rest).strip(" ,.;"), connected


def _asks_bare(rest: str) -> bool:
    """Whether nothing is asked but why, how long, since when ..."""
    asked = fold(rest).strip(" ?!.")
    return bool(ASKING.fullmatch(asked) or ASKING_WHICH.fullmatch(asked))


def _leans(rest: str, connected: bool, tokeniser: KeywordTokeniser) -> bool:
    if _points_back(rest, tokeniser):
        return len(_content(rest, tokeniser)) <= _FEW_TERMS
    most = _SHORT_CONNECTED if connected else _SHORT
    return len(rest.split()) <= most and not _stands(rest, connected, tokeniser)


def _stands(rest: str, connected: bool, tokeniser: KeywordTokeniser) -> bool:
    """Whether it is a question with a subject of its own."""
    if not connected and DEFINED.match(rest):
        return True
    asks = _has_verb(rest) or (not connected and bool(ASKING_THINGS.match(rest)))
    named = not connected and bool(understand(rest, tokeniser).names)
    return asks and (named or len(_content(rest, tokeniser)) > 1)


def _content(text: str, tokeniser: KeywordTokeniser) -> list[str]:
    """The words that have a stem, as written, but for those that ask; "tall" of "how tall" says what is asked for."""
    asked = text if _MEASURED.match(text) else _ASKING_FIRST.sub("", text)
    return [word for word in asked.split() if tokeniser.stems(word)]


def _has_verb(rest: str) -> bool:
    return understand(rest).kind != "other" or bool(REASONS.match(fold(rest)))


def _points_back(rest: str, tokeniser: KeywordTokeniser) -> bool:
    """Whether a pronoun stands for something said before, and not earlier in the question itself."""
    if DEMONSTRATIVE.search(fold(rest)) or (_has_verb(rest) and BESIDES.search(rest)):
        return len(_content(rest, tokeniser)) < _FEW_TERMS
    if found := POSSESSIVE.search(rest):
        return not (_content(rest[: found.start()], tokeniser) and len(_content(rest, tokeniser)) > 2)
    found = PRONOUN.search(rest)
    if found is None or names_kind(rest):
        return False
    return not _spoken_of(rest[: found.start()], tokeniser)


def _spoken_of(before: str, tokeniser: KeywordTokeniser) -> bool:
    """Whether a pronoun behind this text stands for something in it: a name, or the subject of an earlier clause."""
    if understand(before, tokeniser).names:
        return True
    clauses = list(CLAUSE.finditer(before, 1))
    return bool(clauses) and len(_content(before[: clauses[-1].start()], tokeniser)) > 1


_ASKING_FIRST = re.compile(rf"^(?:{ASKING.pattern})\b", re.IGNORECASE)
_MEASURED = re.compile(
    r"^(?:how|wie) (?!(?:long|much|many|often|soon|late|early|so|lange|viel|viele|oft|das)\b)\w+\s", re.IGNORECASE
)
_MEASURE = re.compile(rf"^(?:how|wie) \w+\s+(?={AUXILIARY}\b)", re.IGNORECASE)


def _topic(last: Before, tokeniser: KeywordTokeniser) -> str:
    """What the last question was about: its content words as written; where it has none, what answered it."""
    asked = understand(_MEASURE.sub("", last.question), tokeniser)
    named = [word for word in asked.surfaces if not ASKING.fullmatch(fold(word))]
    about = " ".join(list(dict.fromkeys(named))[:_MOST_TOPIC])
    return about or next(iter(last.topics), "")


def _with_asking(rest: str, last: Before, tokeniser: KeywordTokeniser) -> Rewritten:
    asking = rest.rstrip("?!. ")
    if made := other_asking(asking, last.question):
        return Rewritten(made, "other asking words in the same question")
    return _with_topic(rest, last, tokeniser)


def _with_topic(rest: str, last: Before, tokeniser: KeywordTokeniser) -> Rewritten:
    about = _topic(last, tokeniser)
    return Rewritten(f"{rest.rstrip('?!. ')} ({about})?", "with the last topic") if about else Rewritten(rest)


def _appended(rest: str, last: Before, tokeniser: KeywordTokeniser) -> Rewritten:
    if _has_verb(rest):
        return _with_topic(rest, last, tokeniser)
    added = rest.rstrip("?!. ")
    known = set(words(added)) <= set(words(last.question))
    made = last.question if known else f"{last.question.rstrip('?!. ')}, {added}?"
    return Rewritten(made, "the last question, about this")
