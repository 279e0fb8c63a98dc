"""The last question asked once more, of something else: its code, a phrase, its subject or its asking words exchanged.

Each function gives the new question, or an empty text where its rule does not fit.
"""

import re
from types import MappingProxyType

from elt_llm_core.text.normalise import words

from elt_llm_query.conversation.follow_up_words import (
    ARTICLE,
    ASKING,
    AUXILIARY,
    BOUNDARIES,
    CODE,
    PREPOSITION,
    TIME,
    VERB,
)
from elt_llm_query.understand import numbers_of

_FEWEST_ALIKE = 2  # words of a phrase that may end as another does
_MOST_WORDS = 5  # of a text that names a code or a number and nothing else


def other_label(fragment: str, last: str) -> str:
    """The last question with its one code or number replaced by the one that is now named, and nothing else is."""
    said = fragment.split()
    if len(said) > _MOST_WORDS:
        return ""
    for labels in (_codes, numbers_of):
        now, then = labels(fragment), labels(last)
        if len(now) == 1 and len(then) == 1 and now != then:
            others = words(_bare(fragment).replace(now[0], " ", 1))
            if set(others) <= set(words(last)):
                before, _, after = last.partition(then[0])
                return f"{before}{now[0]}{after}"
    return ""


def other_phrase(fragment: str, last: str) -> str:
    """The phrase of the last question that begins alike, as "for seniors" and "for juniors", or ends alike.

    Asking words before such a phrase ("how many for juniors?") must be those of the last question again.
    """
    fragment = _with_noun(_asked_again(fragment, last), last)
    for part, pattern in (_ends_alike(fragment), _begins_alike(fragment)):
        places = list(re.finditer(pattern, last, re.IGNORECASE)) if pattern else []
        if places:
            return _replaced(last, places[-1].start(), places[-1].end(), part)
    return ""


def other_time(fragment: str, last: str) -> str:
    """The last question of another time: "last year", "and now?"."""
    if not TIME.fullmatch(fragment):
        return ""
    places = list(TIME.finditer(last))
    if not places:
        return f"{last.rstrip('?!. ')} {fragment}?"
    return f"{last[: places[-1].start()]}{fragment}{last[places[-1].end() :]}"


def names_kind(text: str) -> bool:
    """Whether it is "a youth one" or the like: a phrase with "one" for the noun of the last question."""
    return bool(_ONE.search(text.rstrip("?!. "))) and not _ASKS.match(text) and len(text.split()) <= _MOST_WORDS


def _ends_alike(fragment: str) -> tuple[str, str]:
    """What is put in place, and an expression for what it takes the place of; empty if there is none."""
    opening = PREPOSITION.match(fragment)
    part = fragment[opening.end(1) :].lstrip() if opening else fragment
    said = _bare(part).split()
    if len(said) < _FEWEST_ALIKE or _ASKS.match(part):
        return part, ""
    return part, rf"(?:\b{ARTICLE}\s+)?(?:\b(?!{BOUNDARIES}\b)[\w-]+\s+)?\b{re.escape(said[-1])}\b"


def _begins_alike(fragment: str) -> tuple[str, str]:
    """As `_ends_alike`. A thing with an article is exchanged at the end only: it may be what all is about."""
    bare = _bare(fragment)
    opening = PREPOSITION.match(bare)
    if not opening:
        return fragment, ""
    word = re.escape(opening[1])
    return bare, rf"\b{word}\s+{_phrase(4, BOUNDARIES)}|\b{word}\s+{ARTICLE}\s+{_phrase(4, BOUNDARIES)}(?=\W{{0,3}}$)"


def other_subject(fragment: str, last: str) -> str:
    """The last question with what it asks about replaced: "What does a loan cost?", "and a transfer?"."""
    if PREPOSITION.match(fragment) or _ASKS.match(fragment):
        return ""
    for pattern in (_ENGLISH, _WHO, _GERMAN_AUXILIARY, _GERMAN):
        if found := pattern.match(last):
            return _agreeing(last, found.start("subject"), found.end("subject"), fragment)
    if re.match(r"the\b", fragment, re.IGNORECASE) and (found := _WHAT_IS.match(last)):
        return _replaced(last, found.start("subject"), found.end("subject"), fragment)
    return ""


def other_asking(asking: str, last: str) -> str:
    """The last question with other asking words: "When is the draw made?", "where?"."""
    found = _HEAD.match(last)
    if not found:
        return ""
    asked = asking[:1].upper() + asking[1:]
    return f"{asked} {last[found.end() :].rstrip('?!. ')}?"


_GERMAN_PREPOSITION = r"(?:für|fur|bei|mit|ohne|von|nach|vor|während|im|am|aus|zu|zum|zur|unter|in|an|auf)"
_GERMAN_ASKING = r"(?:wie (?:lange|viel|oft|hoch|alt|groß|gross|schwer)|was|wann|wo|wer|warum)"


def _phrase(most: int, stop: str = r"(?!)") -> str:
    """An expression for one to `most` words, none of which is one of `stop`; as short as what follows allows."""
    word = rf"(?!{stop}\b)[\w'-]+"
    return rf"{word}(?:\s+{word}){{0,{most - 1}}}"


_HEAD = re.compile(rf"(?:{ASKING.pattern})(?<!many)(?<!much)(?: an? [\w-]+)?\s+(?={AUXILIARY}\b)", re.IGNORECASE)
_ENGLISH = re.compile(
    rf"(?:{ASKING.pattern})\b(?:\s+\w+){{0,2}}?\s+(?:is|are|was|were|does|do|did|can|may|must|should|will)\s+"
    rf"(?P<subject>{_phrase(8)}?)\s+{VERB}\b",
    re.IGNORECASE,
)
_WHO = re.compile(
    rf"who\s+(?!{AUXILIARY}\b)\w+\s+(?P<subject>{ARTICLE}\s+{_phrase(4, BOUNDARIES)})",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(
    rf"(?:what|who) (?:is|are|was|were)\s+(?P<subject>the\s+{_phrase(4, '(?:for|in|on|at|of|to)')})", re.IGNORECASE
)
_GERMAN_AUXILIARY = re.compile(
    rf"{_GERMAN_ASKING} (?:wird|werden|wurde|wurden|muss|müssen|darf|dürfen|kann|können|soll|sollen)\s+"
    rf"(?P<subject>{_phrase(5, _GERMAN_PREPOSITION)}?)"
    r"(?=(?:\s+[\w-]+){0,4}\s+[a-zäöü]+\W{0,3}$)",
    re.IGNORECASE,
)
_GERMAN = re.compile(
    rf"{_GERMAN_ASKING} (?!{AUXILIARY}\b)[a-zäöüß]+(?:t|en)\s+(?P<subject>{_phrase(5, _GERMAN_PREPOSITION)}?)"
    rf"(?=(?:\s+(?:statt|ab|an|aus|ein|zu))?\W{{0,3}}$|\s+{_GERMAN_PREPOSITION}\s)",
    re.IGNORECASE,
)
_ASKS = re.compile(rf"(?:{ASKING.pattern})\b", re.IGNORECASE)
_SINGULAR = MappingProxyType({"are": "is", "were": "was", "do": "does"})
_PLURAL_VERB = re.compile(r"\b(are|were|do)(?=\s$)")
_LEADING_ARTICLE = re.compile(rf"^{ARTICLE}\s+", re.IGNORECASE)
_ONE = re.compile(r"(?<=\w )ones?$", re.IGNORECASE)
_AGAIN = re.compile(rf"^({ASKING.pattern})\s+(?={PREPOSITION.pattern[1:]})", re.IGNORECASE)
_AN = re.compile(r"\b([Aa])n?(\s+)(?=([\w-]+))")
_SOUNDED = re.compile(r"(?:[aeio]|u(?!n[ií]|se|til)|8|11\b|18\b|hour|honest)", re.IGNORECASE)


def _codes(text: str) -> tuple[str, ...]:
    """The codes in a text, without the word that says what they are of: that of the question at hand stays."""
    return tuple(dict.fromkeys(found[1] for found in CODE.finditer(text)))


def _bare(fragment: str) -> str:
    return _LEADING_ARTICLE.sub("", fragment)


def _asked_again(fragment: str, last: str) -> str:
    found = _AGAIN.match(fragment)
    return fragment[found.end() :] if found and words(last)[: len(found[1].split())] == words(found[1]) else fragment


def _with_noun(fragment: str, last: str) -> str:
    """The noun for "one": the last word of the question, or of its subject where a verb stands last."""
    if not _ONE.search(fragment):
        return fragment
    found = _ENGLISH.match(last)
    said = re.findall(r"[\w-]+", found["subject"] if found and re.search(rf"\b{VERB}\W*$", last) else last)
    return _ONE.sub(said[-1], fragment)


def _replaced(last: str, start: int, end: int, fragment: str) -> str:
    """The text with another phrase there; the article before it is that of the new phrase, or is made to fit it."""
    old = last[start:end].rstrip()
    end = start + len(old)
    article, has_article = _LEADING_ARTICLE.match(old), bool(_LEADING_ARTICLE.match(fragment))
    if article and not has_article and not PREPOSITION.match(fragment):
        fragment = f"{article[0]}{fragment}"
    return f"{last[:start]}{_fitted(fragment)}{last[end:]}"


def _agreeing(last: str, start: int, end: int, fragment: str) -> str:
    """As `_replaced`, with "is" for "are" before one thing."""
    one = re.match(r"an?\s", fragment, re.IGNORECASE)
    before = _PLURAL_VERB.sub(lambda it: _SINGULAR[it[1]], last[:start]) if one else last[:start]
    return before + _replaced(last, start, end, fragment)[start:]


def _fitted(phrase: str) -> str:
    """The phrase with "an" before vowels and "a" elsewhere."""
    return _AN.sub(lambda it: f"{it[1]}{'n' if _SOUNDED.match(it[3]) else ''}{it[2]}", phrase)
