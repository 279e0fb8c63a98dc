"""Whether what a sentence says of its subject defines it, or only tells something of it."""

import re

from elt_llm_consumer.definitions.subject import Subject
from elt_llm_consumer.definitions.wording import DEFINING, FINITE, NOT_BODY, PREDICATE, STRONGLY_APART, TELLING_APART

# ruff: noqa: RUF001 - the look-alike dashes and quotes are what this file is about.
_CLASS = re.compile(
    r"(?:an?|the|any|every|each|one|those|all|persons?|people|someone|somebody|anyone|anybody|anything|something|either"
    r"|eine?|der|die|das|jede[rs]?)\s",
    re.IGNORECASE,
)
_IDENTIFIES = re.compile(r"(?:the|one\s+of|der|die|das)\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:who|which|that|whom|whose|where|when|if|unless|,|der|die|das)\b|[,;(:]")
_FEWEST_WORDS, _REACH = 4, 14


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
    if kind == "includes":
        return subject.marked and (region or subject.led)
    if kind in ("refers", "used") and not (subject.sure or region):
        return False
    if subject.sure or region:
        return subject.marked or not NOT_BODY.match(body) or body.startswith(("that part", "that which"))
    strong = kind == "defined" and len(body.split(maxsplit=_FEWEST_WORDS)) >= _FEWEST_WORDS
    return tells_apart(body) or (strong and not NOT_BODY.match(body))


def tells_apart(body: str) -> bool:
    """Whether a body is a kind of thing, and what tells it from others of the kind: "a day other than"."""
    few = len(body.split(maxsplit=_FEWEST_WORDS)) < _FEWEST_WORDS
    near = " ".join(body.split(maxsplit=_REACH)[1:_REACH])
    return not few and not NOT_BODY.match(body) and bool(DEFINING.match(body)) and bool(TELLING_APART.search(near))


def is_phrase(body: str) -> bool:
    """Whether a body names a thing and is no sentence of its own: no finite verb before the first clause within it."""
    relative = _RELATIVE.search(body)
    return FINITE.search(body[: relative.start()] if relative else body[:200]) is None


def _is_definition(text: str, subject: Subject, body: str, *, region: bool) -> bool:
    """Whether "is" defines: under a heading that says so, in "A Thing is a", for marked terms, after a lead."""
    if not _CLASS.match(body) or NOT_BODY.match(body):
        return False
    if region:
        return tells_apart(body) or subject.marked
    generic = subject.bold or subject.one
    if not (subject.led or generic) and (not subject.marked or _IDENTIFIES.match(body)):
        return False
    if subject.one and not STRONGLY_APART.search(" ".join(body.split(maxsplit=_REACH)[1:_REACH])):
        return False
    if PREDICATE.match(body) or not (subject.sure and tells_apart(body)):
        return False
    return all(_is_name(text[slice(*term)]) for term in subject.terms)


def _is_name(term: str) -> bool:
    """Whether a term is words, and no path, option or letter."""
    return len(term) > 2 and term[0].isalpha() and all(sign.isalpha() or sign in " -'’\n" for sign in term)
