"""Whether what a sentence says of its subject defines it, or only tells something of it."""

import re

from elt_llm_consumer.definitions.subject import Subject
from elt_llm_consumer.definitions.wording import (
    ART,
    DEFINING,
    DOING,
    FINITE,
    KIND,
    NOT_BODY,
    PRAISING,
    PREDICATE,
    STRONGLY_APART,
    TELLING_APART,
)

# ruff: noqa: RUF001 - the look-alike dashes and quotes are what this file is about.
_CLASS = re.compile(
    r"(?:an?|the|any|every|each|one|those|all|persons?|people|someone|somebody|anyone|anybody|anything|something|either"
    r"|eine?|der|die|das|wer|jede[rs]?,?)\s",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:one|two|three|four|five|six|seven|eight|nine|ten|\d)\b", re.IGNORECASE)
_IDENTIFIES = re.compile(r"(?:the|one\s+of|der|die|das)\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:who|which|that|whom|whose|where|when|if|unless|,|der|die|das)\b|[,;(:]")
_PLURAL = re.compile(r"(?:[\w-]{1,30}\s){0,1}(?:[\w-]{2,30}s|data|people|staff|information|children)\s", re.IGNORECASE)
# "The word "must" means business."
_SAYING = re.compile(
    r"(?:business|trouble|war|everything|nothing|little|much|a\s+lot|what\s+(?:it|they)\s+says?)\W{0,4}$", re.IGNORECASE
)
# ""Including" is never meant to limit."
_STATE = re.compile(r"(?:never|always|also|often|seldom|hardly|meant|to|nie|immer|auch|oft)\b", re.IGNORECASE)
_WITHIN = re.compile(r"\s(?:in|on|by|at|with|into|within|during)\s", re.IGNORECASE)
_FEWEST_WORDS, _MOST_WORDS, _REACH = 4, 5, 14


def defines(text: str, subject: Subject, kind: str, begin: int, end: int, *, region: bool) -> bool:
    """Whether text[begin:end], after a verb of that kind, defines the subject; `region`: under such a heading.

    Where nothing stands there, the definition is the list below, if a colon leads to it.
    """
    body = text[begin:end]
    if not any(map(str.isalpha, body)):
        return (
            subject.sure
            and kind not in ("is", "refers")
            and text[max(0, begin - 20) : begin].rstrip(" \n\t-–—").endswith(":")
        )
    if kind == "is":
        return _is_definition(text, subject, body, region=region)
    if kind in ("includes", "covers", "when"):
        return _names_parts(subject, kind, body, region=region)
    if kind in ("refers", "used") and not (subject.sure or region):
        return kind == "refers" and _tells_what(subject, text[slice(*subject.terms[0])], body)
    loose = not subject.sure and not subject.led and _WITHIN.search(text[slice(*subject.terms[0])]) is not None
    if (subject.sure or region or subject.doing) and not loose:
        return (subject.marked or not subject.doing or region or subject.led) and _has_body(subject, body)
    strong = kind == "defined" and len(body.split(maxsplit=_FEWEST_WORDS)) >= _FEWEST_WORDS
    return tells_apart(body) or (strong and not NOT_BODY.match(body))


def _has_body(subject: Subject, body: str) -> bool:
    """Whether what is said of a term is no saying and no consequence."""
    if _SAYING.match(body):
        return False
    return subject.marked or not NOT_BODY.match(body) or body.startswith(("that part", "that which"))


def tells_apart(body: str) -> bool:
    """Whether a body is a kind of thing, and what tells it from others of the kind: "a day other than"."""
    few = len(body.split(maxsplit=_FEWEST_WORDS)) < _FEWEST_WORDS
    near = " ".join(body.split(maxsplit=_REACH)[1:_REACH])
    return not few and not NOT_BODY.match(body) and bool(DEFINING.match(body)) and bool(TELLING_APART.search(near))


def is_phrase(body: str) -> bool:
    """Whether a body names a thing and is no sentence of its own: no finite verb before the first clause within it."""
    relative = _RELATIVE.search(body)
    return FINITE.search(body[: relative.start()] if relative else body[:200]) is None


def _names_parts(subject: Subject, kind: str, body: str, *, region: bool) -> bool:
    """Whether "includes", "covers", "exists where" says what a word is to cover, and not what a thing has in it."""
    if kind == "covers":
        return (subject.marked or subject.named) and not NOT_BODY.match(body)
    if kind == "when":
        return subject.led or subject.marked
    if subject.marked:
        return region or subject.led or not (FINITE.search(body) or _NUMBER.match(body))
    return subject.led and subject.sure and tells_apart(body)


def _is_kind(body: str) -> bool:
    """Whether a body is a kind of thing with a clause that tells it from others: "a letter by which"."""
    kind = KIND.match(body) or ART.match(body)
    bare = DEFINING.match(body) is None
    if kind is None or (bare and not _PLURAL.match(body)):
        return False
    return FINITE.search(kind.group()) is None and not PREDICATE.match(body)


def _is_definition(text: str, subject: Subject, body: str, *, region: bool) -> bool:
    """Whether "is" defines: under a heading that says so, in "A Thing is a", for marked terms, after a lead."""
    names = [text[slice(*term)] for term in subject.terms]
    if not subject.sure and not subject.led and not region:
        return not NOT_BODY.match(body) and _tells_what(subject, names[0], body)
    bare = region and subject.marked and len(body.split()) >= _FEWEST_WORDS and TELLING_APART.search(body) is not None
    if not (_CLASS.match(body) or bare) or NOT_BODY.match(body) or _STATE.match(body):
        return False
    if region:
        return subject.marked or (tells_apart(body) and not PREDICATE.match(body))
    if PREDICATE.match(body) or not (subject.sure and tells_apart(body)):
        return False
    return _may_be_told(subject, body) and all(_is_name(name) for name in names)


def _may_be_told(subject: Subject, body: str) -> bool:
    """Whether a subject is one that "is" may define: after a lead, in bold, after "a", or in quotes."""
    apart = STRONGLY_APART.search(" ".join(body.split(maxsplit=_REACH)[1:_REACH])) is not None
    if subject.one and not apart:
        return False
    identifies = body[:6].casefold() == "one of" or (_IDENTIFIES.match(body) and not TELLING_APART.search(body[:100]))
    return subject.led or subject.bold or subject.one or (subject.marked and not identifies)


def _tells_what(subject: Subject, name: str, body: str) -> bool:
    """Whether a sentence of a thing in general says what it is: what is done in it, or its kind in a clause."""
    words = name.split()
    if not subject.general or not _is_name(name) or PREDICATE.match(body) or PRAISING.match(body):
        return False
    if len(words) > _MOST_WORDS or words[0].casefold() == "please" or {"The", "A", "An"} & set(words):
        return False
    if DEFINING.match(body) is None and " " not in name:
        return False
    return DOING.match(body) is not None or _is_kind(body)


def _is_name(term: str) -> bool:
    """Whether a term is words, and no path, option or letter."""
    return len(term) > 2 and term[0].isalpha() and all(sign.isalpha() or sign in " -'’\n" for sign in term)
