"""Sentences that define: "X means", "X is defined as", "X has the meaning given in", "By X is meant"."""

import re
from collections.abc import Iterator

from elt_llm_query.answer.pieces import Piece

from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from elt_llm_consumer.definitions.clauses import clauses_of
from elt_llm_consumer.definitions.defining import defines
from elt_llm_consumer.definitions.definition import Draft
from elt_llm_consumer.definitions.glosses import gloss
from elt_llm_consumer.definitions.inverted import beside, inverted
from elt_llm_consumer.definitions.layout import Layout
from elt_llm_consumer.definitions.naming import naming
from elt_llm_consumer.definitions.spans import Extent, marker_style, trimmed_definition
from elt_llm_consumer.definitions.subject import QUOTED, Subject, after_labels, read_subject
from elt_llm_consumer.definitions.wording import ARTICLE, PLACE, SAME_AS, TARGET, VERB

# ruff: noqa: RUF001 - the look-alike dashes are what this file is about.
_LEAD = re.compile(r"[\s:,–—-]{1,6}(?:that\s+is\s+)?")
_STOP = re.compile(r"[.,;:(]|\s(?:and|which|that|as|in)\s(?=[a-z])")
_MOST_VERBS = 3
_SURE, _LIKELY = 0.95, 0.85
_SCORES = {"refers": _LIKELY, "includes": 0.8, "used": 0.9, "is": 0.8}


def sentences(layout: Layout) -> Iterator[Draft]:
    """The definitions that sentences give, in order."""
    extent = Extent(layout)
    for number, piece in enumerate(layout.pieces):
        if (piece.kind in ("prose", "item") or _leads_to_items(layout, number)) and not layout.is_contents(piece.text):
            clauses = list(clauses_of(piece))
            end = extent.end(number, piece.end)
            first = list(_of_piece(layout, clauses[0], clauses[0].end if len(clauses) > 1 else end))
            if not first:  # nothing that is begun here goes on in the other clauses
                clauses, first = [piece], list(_of_piece(layout, piece, end)) if len(clauses) > 1 else []
            yield from first
            for clause in clauses[1:]:
                yield from _of_piece(layout, clause, end if clause is clauses[-1] else clause.end)


def _leads_to_items(layout: Layout, number: int) -> bool:
    """Whether what looks like a heading is the beginning of a sentence that goes on in the items below it."""
    piece, following = layout.pieces[number], layout.pieces[number + 1 : number + 2]
    return (
        piece.kind == "heading"
        and piece.start not in layout.heading_lines
        and QUOTED.match(piece.text, after_labels(piece.text, 0, len(piece.text))) is not None
        and any(one.kind == "item" and marker_style(one.text) for one in following)
    )


def _of_piece(layout: Layout, piece: Piece, stop: int) -> Iterator[Draft]:
    """The definitions of a sentence, or of one part of it; `stop` is where the list under it ends."""
    text = layout.text
    turned = inverted(text, piece.start, piece.end) or beside(text, piece.start, piece.end)
    if turned is not None:
        term, start = turned
        yield Draft(term, trimmed_definition(text, start, stop), "sentence", _SURE)
        return
    for verb in list(VERB.finditer(text, piece.start, piece.end))[:_MOST_VERBS]:
        subject = read_subject(text, piece.start, verb.start())
        found = list(_after_verb(layout, piece, stop, subject, verb)) if subject else []
        if found:
            yield from found
            return
    named = naming(text, piece.start, piece.end)
    if named is not None:
        yield Draft(named[0], trimmed_definition(text, *named[1]), "sentence", _LIKELY)
    elif not layout.in_region(piece.start) and (told := gloss(text, piece.start, piece.end)) is not None:
        body = trimmed_definition(text, told[1], stop)
        yield Draft(told[0], body, "sentence", _LIKELY)


def _after_verb(layout: Layout, piece: Piece, stop: int, subject: Subject, verb: "re.Match[str]") -> Iterator[Draft]:
    """The definitions of a subject whose verb is this one."""
    text, kind = layout.text, verb.lastgroup or ""
    begin = _skip(text, verb.end())
    target = (
        (TARGET.match(text, begin, piece.end) or SAME_AS.match(text, begin, piece.end)) if kind == "meaning" else None
    )
    if target is not None:
        meaning = text.index("the", verb.start())
        body = trimmed_definition(text, meaning, stop)
        yield from _each(subject, body, "reference", _SURE, refers_to=_place(target["target"]))
        return
    long = _spelt_out(text, subject, begin, piece.end) if kind == "refers" else None
    if long is not None:
        yield from _each(subject, long, "abbreviation", _SURE)
    elif kind == "meaning" and not _gives_meaning(subject, verb.group(), text[verb.end() : begin]):
        return
    elif defines(text, subject, kind, begin, piece.end, region=layout.in_region(piece.start)):
        body = trimmed_definition(text, begin, stop)
        yield from _each(subject, body, "is" if kind == "is" else "sentence", _SCORES.get(kind, _SURE))


def _gives_meaning(subject: Subject, verb: str, after: str) -> bool:
    """Whether "have the meaning" gives it: "shall have the meaning of", not "has the meaning of a word in mind"."""
    of = verb.endswith("of") and (subject.marked or verb.casefold().startswith(("shall", "will")))
    return of or bool(after.strip())


def _place(target: str) -> str:
    """The rule or section that a reference names, without what is said beside it."""
    named = PLACE.match(target)
    return named[1] if named else re.split(r",|\s(?:and|save|except|unless|but)\s", target, maxsplit=1)[0].strip()


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


def _each(subject: Subject, body: tuple[int, int], pattern: str, score: float, refers_to: str = "") -> Iterator[Draft]:
    for term in subject.terms:
        yield Draft(term, body, pattern, score, subject.abbreviation, refers_to, subject.aliases)


def _skip(text: str, begin: int) -> int:
    lead = _LEAD.match(text, begin)
    return lead.end() if lead else begin
