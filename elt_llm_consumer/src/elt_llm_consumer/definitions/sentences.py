"""Sentences that define: "X means", "X is defined as", "X has the meaning given in", "By X is meant"."""

import re
from collections.abc import Iterator

from elt_llm_query.answer.pieces import Piece

from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.inverted import inverted
from elt_llm_consumer.definitions.layout import Layout
from elt_llm_consumer.definitions.spans import Extent, trimmed_definition
from elt_llm_consumer.definitions.subject import Subject, read_subject
from elt_llm_consumer.definitions.wording import ARTICLE, DEFINING, NOT_BODY, TARGET, TELLING_APART, VERB

_LEAD = re.compile(r"[\s:,–—-]{1,6}(?:that\s+is\s+)?")
_IS_BODY = re.compile(
    r"\s+(?:an?|the|any|every|each|one|those|all|persons?|people|someone|anyone|anything|either|eine?|der|die|das|jede[rs]?)\s",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.,;:(]|\s(?:and|which|that|as|in)\s(?=[a-z])")
_FEW_WORDS, _REACH = 4, 14
_MOST_VERBS = 3
_SCORES = {
    "means": 0.95,
    "defined": 0.95,
    "meaning": 0.95,
    "refers": 0.85,
    "includes": 0.8,
    "used": 0.9,
    "german": 0.95,
    "is": 0.8,
}


def sentences(layout: Layout) -> Iterator[Draft]:
    """The definitions that sentences give."""
    extent = Extent(layout)
    for number, piece in enumerate(layout.pieces):
        if piece.kind in ("prose", "item") and not layout.is_contents(piece.text):
            yield from _of_piece(layout, extent, number, piece)


def _of_piece(layout: Layout, extent: Extent, number: int, piece: Piece) -> Iterator[Draft]:
    text = layout.text
    turned = inverted(text, piece.start, piece.end)
    if turned is not None:
        term, start = turned
        yield Draft(term, _body(text, start, extent.end(number, piece.end)), "sentence", 0.95)
        return
    for verb in list(VERB.finditer(text, piece.start, piece.end))[:_MOST_VERBS]:
        subject = read_subject(text, piece.start, verb.start())
        kind = verb.lastgroup or ""
        if subject is None:
            continue
        if kind == "meaning" and (target := TARGET.match(text, _skip(text, verb.end()), piece.end)):
            goal = target["target"].rstrip(" ,")
            way = (verb.start(), target.start("target") + len(goal))
            yield from _each(subject, way, "reference", 0.95, refers_to=goal)
            return
        begin = _skip(text, verb.end())
        long = _spelt_out(text, subject, begin, piece.end) if kind == "refers" else None
        if long is not None:
            yield from _each(subject, long, "abbreviation", 0.95)
            return
        pattern = "is" if kind == "is" else "sentence"
        if _defines(text, subject, kind, verb.end(), piece.end, region=layout.in_region(piece.start)):
            body = _body(text, begin, extent.end(number, piece.end))
            yield from _each(subject, body, pattern, _SCORES[kind])
            return


def _defines(text: str, subject: Subject, kind: str, begin: int, end: int, *, region: bool) -> bool:
    """Whether verb and body of a sentence with this subject define it."""
    body = text[_skip(text, begin) : end]
    if not any(map(str.isalpha, body)) and not body.rstrip().endswith(":"):
        return False
    if kind == "is":
        return _is_definition(text, subject, begin, end, region=region)
    if kind == "includes":
        return subject.marked and (region or subject.led)
    if kind in ("refers", "used") and not (subject.sure or region):
        return False
    if subject.sure or region:
        return subject.marked or not NOT_BODY.match(body) or body.startswith(("that part", "that which"))
    return _tells_apart(body)


def _spelt_out(text: str, subject: Subject, begin: int, end: int) -> tuple[int, int] | None:
    """What an abbreviation stands for, where the sentence goes on behind it; None if the subject is none."""
    short = text[slice(*subject.terms[0])]
    if not is_short_form(short):
        return None
    article = ARTICLE.match(text, begin, end)
    begin = article.end() if article else begin
    stop = _STOP.search(text, begin, end)
    last = stop.start() if stop else end
    found = long_form(short, text[begin:last])
    return (begin + found[0], begin + found[1]) if found and not found[0] else None


def _is_definition(text: str, subject: Subject, begin: int, end: int, *, region: bool) -> bool:
    """ "Is" defines under a heading that says so, or what is in quotes, or after "In these Rules"."""
    if not _IS_BODY.match(text, begin, end) or NOT_BODY.match(text[_skip(text, begin) : end]):
        return False
    body = text[_skip(text, begin) : end]
    if region:
        return _tells_apart(body) or subject.marked
    if not subject.led and (
        not subject.marked or body.casefold().startswith(("the ", "one of", "der ", "die ", "das "))
    ):
        return False
    return subject.sure and _tells_apart(body) and all(_is_name(text[slice(*term)]) for term in subject.terms)


def _is_name(term: str) -> bool:
    """Whether a term is words, and no path, option or letter."""
    return (
        len(term) > 2
        and term.replace(" ", "").replace("-", "").replace("'", "").replace("’", "").isalpha()
        and term[0].isalpha()
    )


def _tells_apart(body: str) -> bool:
    """Whether a body is a kind of thing, and what tells it from others of the kind."""
    few = len(body.split()) < _FEW_WORDS
    near = " ".join(body.split()[1:_REACH])
    return not few and not NOT_BODY.match(body) and bool(DEFINING.match(body)) and bool(TELLING_APART.search(near))


def _each(subject: Subject, body: tuple[int, int], pattern: str, score: float, refers_to: str = "") -> Iterator[Draft]:
    for term in subject.terms:
        yield Draft(term, body, pattern, score, subject.abbreviation, refers_to, subject.aliases)


def _body(text: str, begin: int, end: int) -> tuple[int, int]:
    return trimmed_definition(text, begin, end)


def _skip(text: str, begin: int) -> int:
    lead = _LEAD.match(text, begin)
    return lead.end() if lead else begin
