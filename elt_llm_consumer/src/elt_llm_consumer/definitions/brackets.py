"""Terms given in brackets after what they stand for: the officer who keeps the list (the "Registrar")."""

import re
from collections.abc import Iterator

from elt_llm_query.answer.pieces import Piece

from elt_llm_consumer.definitions.abbreviations import is_short_form
from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.layout import Layout
from elt_llm_consumer.definitions.subject import after_labels

# ruff: noqa: RUF001 - the look-alike quotes are what this file is about.
_QUOTED = (
    r"(?:\*\*|__)?[\"“„](?:\*\*)?(?P<%s>[^\"“”„*()\n]{2,60})(?:\*\*)?[\"”“](?:\*\*|__)?|\*\*(?P<%s>[^*()\n]{2,60})\*\*"
)
_HERE = (
    r"(?:hereinafter|hereafter|in\s+(?:these|this)\s+\w{3,20}|together|collectively|each|nachfolgend|im\s+folgenden)"
)
_TERM = re.compile(
    rf"\(\s*(?:{_HERE}\s*,?\s*)?(?:(?:called|referred\s+to\s+as|known\s+as|genannt)\s+)?(?:(?:the|an?|each|our|any|der|die|das)\s+)?"
    rf"(?:{_QUOTED % ('a', 'b')})\s*(?:(?:or|and)\s+[^()\n]{{1,60}})?\)"
    rf"|,?\s*(?:{_HERE}\s+(?:called\s+|referred\s+to\s+as\s+|known\s+as\s+)?|(?:(?:is|are|shall\s+be)\s+)(?:called|referred\s+to\s+as|known\s+as|termed)\s+)"
    rf"(?:(?:the|an?|each)\s+)?(?:{_QUOTED % ('c', 'd')})",
    re.IGNORECASE,
)
_WORD = re.compile(r"\S+")
_DETERMINER = re.compile(
    r"(?:an?|the|any|every|each|all|its|those|these|our|their|one|such|eine?[nmrs]?|der|die|das|dem|den|des)$",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?:is|are|was|were|be|been|has|have|had|must|may|shall|will|can|should|does|do|did|would|could|pays?|keeps?|makes?|appoints?"
    r"|applies|apply|submits?|gives?|holds?|sets|takes?|provides?|requires?|issues?|elects?|establish(?:es)?|ist|sind|wird|hat)$",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"(?:who|which|that|whom|whose|where|when)$", re.IGNORECASE)
_BREAK = re.compile(r"(?:[;:]|[.)])$")
_NOT_FIRST = re.compile(
    r"(?:it|they|this|these|that|those|he|she|which|we|you|what|who|such|when|where|if|as|only|since|while|because|although"
    r"|unless|until|once|after|before|to|for|in|on|at|by|with|from|section|rule|see)$",
    re.IGNORECASE,
)
_ANY = re.compile(r"\(\s*an?\s", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:section|rule|part|chapter|schedule|article|annex|appendix|table|figure)\s[\w.]{1,8}\s?$", re.IGNORECASE
)
_PLAIN_NAME = re.compile(r"[^\W\d_][\w'’ &-]{1,60}$")
_INTRODUCED = re.compile(
    r"[(,\s]*(?:the|an?|each|our|any|der|die|das|here|called|referred|known|is|are|in|together|coll|nach|im|genannt)",
    re.IGNORECASE,
)


def brackets(layout: Layout) -> Iterator[Draft]:
    """Terms in quotes after what they stand for, in order."""
    text = layout.text
    for piece in layout.pieces:
        if piece.kind in ("prose", "item") and (
            "(" in piece.text or "called" in piece.text or "as " in piece.text or "here" in piece.text
        ):
            for found in _TERM.finditer(text, piece.start, piece.end):
                name = next(key for key in "abcd" if found[key] is not None)
                body = _stands_for(text, piece, found) if _is_named(found[0], found[name]) else None
                if body is not None and not is_short_form(found[name]):
                    yield Draft(found.span(name), body, "brackets", 0.85)


def _stands_for(text: str, piece: Piece, found: "re.Match[str]") -> tuple[int, int] | None:
    """The words before a bracket that name what it stands for: from the article after the sentence's verb on."""
    end = found.start()
    begin = after_labels(text, piece.start, end)
    words = list(_WORD.finditer(text, begin, end))
    start = 0
    related = False
    for number, word in enumerate(words):
        bare = word.group().strip('"“”,()*_')
        if _RELATIVE.match(bare):
            related = True
        elif _VERB.match(bare) and not related:
            start = number + 1
        elif _VERB.match(bare):
            related = _RELATIVE.match(words[number - 1].group()) is None and related
        if _BREAK.search(word.group()) and number + 1 < len(words):
            start, related = number + 1, False
    first = next((n for n in range(start, len(words)) if _begins(words[n].group())), None)
    if first is not None and _ANY.match(found[0]):
        first = next(
            (n for n in range(len(words) - 1, first - 1, -1) if words[n].group().casefold() in ("a", "an")), first
        )
    if (
        first is None
        or _PLACE.search(text, words[first].start(), end)
        or len(words) - first > 60
        or _NOT_FIRST.match(words[first].group().strip(',"“('))
    ):
        return None
    return words[first].start(), words[-1].end()


def _is_named(whole: str, name: str) -> bool:
    """Whether a name is brought in as one: after an article or "called", else only with capitals throughout."""
    if not _PLAIN_NAME.match(name):
        return False
    capital = all(word[:1].isupper() for word in name.split() if len(word) > 3 or name == word)
    return bool(_INTRODUCED.match(whole)) or capital


def _begins(word: str) -> bool:
    return bool(_DETERMINER.match(word.strip('"“”,()*_'))) or word.lstrip('"“(*_')[:1].isupper()
