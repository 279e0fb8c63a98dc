"""Terms given in brackets after what they stand for: the officer who keeps the list (the "Registrar")."""

import re
from collections.abc import Iterator

from elt_llm_query.answer.pieces import Piece

from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.layout import Layout
from elt_llm_consumer.definitions.spans import trimmed_definition
from elt_llm_consumer.definitions.subject import after_labels
from elt_llm_consumer.definitions.wording import FINITE, STRUCTURE, TELLING_APART

# ruff: noqa: RUF001 - the look-alike quotes are what this file is about.
_QUOTED = (
    r"(?:\*\*|__)?(?:[\"“„]|(?<=[(\s])[‘'])(?:\*\*)?(?P<%s>[^\"“”„‘’*()\n]{2,60})(?:\*\*)?[\"”“’'](?:\*\*|__)?"
    r"|\*\*(?P<%s>[^*()\n]{2,60})\*\*"
)
_HERE = (
    r"(?:(?:hereinafter|hereafter)\s*:?|in\s+(?:these|this)\s+\w{3,20}|together|collectively"
    r"|each|nachfolgend|im\s+folgenden:?)"
)
_TERM = re.compile(
    rf"\(\s*(?:{_HERE}\s*,?\s*)?(?:(?:called|referred\s+to\s+(?:in\s+(?:these|this)\s+\w{{3,20}}\s+)?as|known\s+as|genannt)\s+)?(?:(?:the|an?|each|our|any|der|die|das)\s+)?"
    rf"(?:{_QUOTED % ('a', 'b')})\s*(?:(?:or|and)\s+[^()\n]{{1,60}}|genannt\s?)?\)"
    rf"|,?\s{{0,9}}(?:{_HERE}\s+(?:called\s+|referred\s+to\s+as\s+|known\s+as\s+)?|(?:(?:is|are|shall\s+be)\s+)(?:called|referred\s+to\s+as|known\s+as|termed)\s+)"
    rf"(?:(?:the|an?|each)\s+)?(?:{_QUOTED % ('c', 'd')})",
    re.IGNORECASE,
)
# "The owner of the cable (the Cable Owner)"
_CAPITALS = re.compile(
    r"\((?:together,?\s|collectively,?\s|each\s)?(?:the|an?)\s(?P<a>[A-Z][\w'’-]{1,30}(?:\s(?:of\s)?[A-Z][\w'’-]{1,30}){0,4})\)"
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
_MOST_WORDS = 60
_LABEL_LENGTH = 12  # characters of a number before a sentence
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
            yield from _plain(layout, piece)
            for found in _TERM.finditer(text, piece.start, piece.end):
                name = next(key for key in "abcd" if found[key] is not None)
                body = _stands_for(text, piece, found)
                if body is None or _is_spelt_out(text, found, name):
                    continue
                if _is_named(found[0], found[name]) or (
                    " " in found[name] and _opens(text[slice(*body)], body[0] - piece.start)
                ):
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
    first = _first_of(words, start, found)
    if first is None or len(words) - first > _MOST_WORDS or _only_place(text[words[first].start() : end]):
        return None
    return trimmed_definition(text, words[first].start(), words[-1].end())


def _only_place(body: str) -> bool:
    """Whether a body is nothing but a rule or section: "section 5"."""
    place = _PLACE.search(body)
    words = [word.casefold() for word in body.split()[:3]]
    return place is not None and (len(body[: place.start()].split()) < 3 or not STRUCTURE.isdisjoint(words))


def _first_of(words: "list[re.Match[str]]", start: int, found: "re.Match[str]") -> int | None:
    """The word with which the name of a thing begins, at `start` or later; None if there is no such word."""
    begins = [number for number in range(start, len(words)) if _begins(words[number].group())]
    if not begins:
        return None
    if _ANY.match(found[0]):
        kind = next((number for number in reversed(begins) if _is_kind(words, number)), None)
        whole = begins[0] == 0 and words[0].group().casefold() in ("the", "each", "every", "any", "all")
        return 0 if kind is None and whole and len(words) > 2 else kind
    if _NOT_FIRST.match(words[begins[0]].group().strip(',"“(')):
        nearest = begins[-1]
        article = next((number for number in reversed(begins) if _DETERMINER.match(words[number].group())), nearest)
        return article if article > begins[0] and not _NOT_FIRST.match(words[article].group()) else None
    return begins[0]


def _is_kind(words: "list[re.Match[str]]", number: int) -> bool:
    """Whether "a" begins the name of a kind of thing, with what tells it apart, and is no part of telling that."""
    rest = " ".join(word.group() for word in words[number + 1 :])
    part = number > 0 and words[number - 1].group().casefold() in ("with", "of", "by", "as")
    kind = words[number].group().casefold() in ("a", "an") and TELLING_APART.search(rest) is not None
    return kind and not part and FINITE.search(rest.split(" that ")[0].split(" which ")[0].split(" who ")[0]) is None


def _is_spelt_out(text: str, found: "re.Match[str]", name: str) -> bool:
    """Whether a name is a short form of the words before it, which are read as such elsewhere."""
    before = text[max(0, found.start() - 200) : found.start()]
    return is_short_form(found[name]) and (found["a"] is None or long_form(found[name], before) is not None)


def _plain(layout: Layout, piece: Piece) -> Iterator[Draft]:
    """Names without quotes after what they stand for: several words with capitals, or one that is used again."""
    text = layout.text
    for found in _CAPITALS.finditer(text, piece.start, piece.end):
        body = _stands_for(text, piece, found)
        again = " " in found["a"] or re.search(rf"\b{re.escape(found['a'])}\b", text[found.end() :]) is not None
        if body is not None and again and not is_short_form(found["a"]) and _opens(text[slice(*body)], 0):
            yield Draft(found.span("a"), body, "brackets", 0.8)


def _opens(body: str, place: int) -> bool:
    """Whether a body opens its sentence, and tells what is named in quotes alone: "work handed in late"."""
    long = len(body.split()) > 3 and TELLING_APART.search(body) is not None
    return long and place < _LABEL_LENGTH and FINITE.search(re.split(r"\s(?:that|which|who)\s", body)[0]) is None


def _is_named(whole: str, name: str) -> bool:
    """Whether a name is brought in as one: after an article or "called", else only with capitals throughout."""
    if not _PLAIN_NAME.match(name):
        return False
    capital = all(word[:1].isupper() for word in name.split() if len(word) > 3 or name == word)
    return bool(_INTRODUCED.match(whole)) or capital


def _begins(word: str) -> bool:
    return bool(_DETERMINER.match(word.strip('"“”,()*_'))) or word.lstrip('"“(*_')[:1].isupper()
