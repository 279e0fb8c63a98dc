"""Read sentences that define terms: "X means", "By X is meant", "An empty plot is called a gap", "'Site': the land"."""
# ruff: noqa: RUF001 - look-alike quotes and dashes occur in documents.

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from elt_llm_core.text.outline import Span
from elt_llm_query.grounding.sentences import TextPiece

from elt_llm_consumer.definitions.abbreviations import is_short_form, letters_follow, long_form
from elt_llm_consumer.definitions.definition import DefinitionDraft
from elt_llm_consumer.definitions.layout import DocumentLayout, definition_end, marker_style, trim_definition
from elt_llm_consumer.definitions.subject import (
    QUOTED_TERM,
    DefinedSubject,
    defines,
    distinguishes,
    is_phrase,
    meaning_start,
    read_subject,
    skip_labels,
)
from elt_llm_consumer.definitions.vocabulary import (
    ARTICLE,
    DISTINGUISHING,
    NOT_FIRST,
    NOT_WITHIN,
    PLACE,
    PRAISING,
    VERB,
    pattern,
    patterns,
)

_NEXT: Final = pattern("next_clause")
_FIRST_VERB: Final = pattern("first_clause_verb")
_GIVES: Final = pattern("quoted_before_verb")
_INVERTED_PATTERNS: Final = patterns("inverted_definitions")


def gives_meaning(text: str) -> bool:
    """Return whether a text has a term in quotes directly before a defining verb, or starts with "By X is meant"."""
    return _GIVES.search(text) is not None or any(one.match(text) for one in _INVERTED_PATTERNS)


def _defining_parts(piece: TextPiece) -> Iterator[TextPiece]:
    """Yield, in order, the parts of a sentence that define one term each; if there are none, yield the whole sentence.

    Only the text after the first defining verb is split.
    """
    first = _FIRST_VERB.search(piece.text)
    found = list(_NEXT.finditer(piece.text, first.end())) if first else []
    if not found:
        yield piece
        return
    starts = [0, *(one.start(one.lastgroup or 0) for one in found)]
    ends = [*(one.start() for one in found), len(piece.text)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        yield replace(
            piece,
            start=piece.start + start,
            end=piece.start + end,
            text=piece.text[start:end],
            new_paragraph=piece.new_paragraph and not number,
        )


_GLOSS: Final = pattern("gloss")
_PLAIN: Final = re.compile(r"[^\W\d_][\w'’ -]{1,60}$")
_SEE: Final = re.compile(r"(?:see|siehe)\s{1,9}(?:also\s)?[\"“„][^\"“”„\n]{2,60}[\"”“]\W{0,3}$", re.IGNORECASE)


def _read_gloss(text: str, start: int, end: int) -> tuple[tuple[int, int], int] | None:
    """For a sentence such as "Term: meaning", return the span of the term and the start of its meaning; else None."""
    found = _GLOSS.match(text, skip_labels(text, start, end), end)
    if found is None:
        return None
    body = text[found.end() : end]
    name = found.lastgroup or ""
    short = found[name]
    bare = " ".join(body.split()).rstrip(" .;")
    spelt = is_short_form(short) and (long_form(short, bare) == (0, len(bare)) or _is_word_of(short, bare))
    explained = (
        name == "quoted"
        and _PLAIN.match(short)
        and is_phrase(body)
        and (distinguishes(body) or (body[0].islower() and DISTINGUISHING.search(body) is not None))
    )
    return (found.span(name), found.end()) if spelt or explained or _SEE.match(body) else None


def _is_word_of(short: str, long: str) -> bool:
    """Return whether one long word contains all letters of a short form in order: "Mitgliederversammlung" for "MV"."""
    same = " " not in long and long[:1].casefold() == short[:1].casefold() and len(long) > 3 * len(short)
    return same and letters_follow(short.casefold(), long.casefold())


_OF_TEXTS: Final = pattern("parts_of_texts")
_BESIDE: Final = pattern("which_means")


def _read_inverted(text: str, start: int, end: int) -> tuple[Span, int, Span | None] | None:
    """For "By X is meant ..." and "..., which means ...", return the term's span and its meaning's start; else None.

    The third value is the span of the second part of a German verb: "verstanden" in "Unter X wird ... verstanden".
    """
    begin = skip_labels(text, start, end)
    for inverted in _INVERTED_PATTERNS:
        found = inverted.match(text, begin, end)
        if found is None:
            continue
        name = "a1" if found["a1"] is not None else "a2"
        words = found[name].casefold().split()
        if found["a1"] or (words[0] not in NOT_FIRST and _OF_TEXTS.match(words[-1]) is None):
            closing = found.span("closing") if found.groupdict().get("closing") else None
            return found.span(name), found.start("body"), closing
    beside = _BESIDE.search(text, start, end)
    return (beside.span("term"), beside.end(), None) if beside and distinguishes(text[beside.end() : end]) else None


_NAMING_PATTERNS: Final = patterns("naming_sentences")
_LATER: Final = re.compile(r"\s(?:if|when|where)\s$", re.IGNORECASE)


def _read_naming(text: str, start: int, end: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """For a sentence such as "... is called X", return the spans of the term and of its meaning; else None."""
    start = skip_labels(text, start, end)
    for naming in _NAMING_PATTERNS:
        found = naming.match(text, start, end)
        if found is None or not _is_naming_term(found["a"]):
            continue
        whole = "whole" in naming.groupindex or _LATER.search(found[0]) is not None
        begin = found.start("whole" if "whole" in naming.groupindex else "body")
        span = (begin, end if whole else found.end("body"))
        if whole or len(text[slice(*span)].split()) > 3 or distinguishes(text[slice(*span)]):
            return found.span("a"), span
    return None


def _is_naming_term(term: str) -> bool:
    words = [word.strip("'’").casefold() for word in term.split()]
    return (
        bool(words) and not PRAISING.match(f"a {term}") and words[0] not in NOT_FIRST and NOT_WITHIN.isdisjoint(words)
    )


_SAME_AS: Final = pattern("same_meaning_as")
_TARGET: Final = pattern("reference_target")
_BODY_LEAD = re.compile(r"[\s:,–—-]{1,6}(?:that\s+is\s+)?")
_STOP = re.compile(r"[.,;:(]|\s(?:and|which|that|as|in)\s(?=[a-z])")
_MAX_VERBS = 3
_SURE, _LIKELY = 0.95, 0.85
_SCORES = {"refers": _LIKELY, "includes": 0.8, "used": 0.9, "is": 0.8}


def find_in_sentences(layout: DocumentLayout) -> Iterator[DefinitionDraft]:
    """Yield, in order, the definitions in sentences of the running text."""
    for number, piece in enumerate(layout.pieces):
        if (piece.kind in ("prose", "item") or _leads_to_items(layout, number)) and not layout.is_contents(piece.text):
            clauses = list(_defining_parts(piece))
            end = definition_end(layout, number, piece.end)
            first = list(_piece_definitions(layout, clauses[0], clauses[0].end if len(clauses) > 1 else end))
            if not first:  # if the first clause contains no definition, the sentence is read as a whole
                clauses, first = [piece], list(_piece_definitions(layout, piece, end)) if len(clauses) > 1 else []
            yield from first
            for clause in clauses[1:]:
                yield from _piece_definitions(layout, clause, end if clause is clauses[-1] else clause.end)


def _leads_to_items(layout: DocumentLayout, number: int) -> bool:
    """Return whether an apparent heading is in fact the start of a sentence that continues in the list items below."""
    piece, following = layout.pieces[number], layout.pieces[number + 1 : number + 2]
    return (
        piece.kind == "heading"
        and piece.start not in layout.heading_lines
        and QUOTED_TERM.match(piece.text, skip_labels(piece.text, 0, len(piece.text))) is not None
        and any(one.kind == "item" and marker_style(one.text) for one in following)
    )


def _piece_definitions(layout: DocumentLayout, piece: TextPiece, stop: int) -> Iterator[DefinitionDraft]:
    """Yield the definitions in a sentence or part of one. A list that continues it is included, up to `stop`."""
    text = layout.text
    inverted = _read_inverted(text, piece.start, piece.end)
    if inverted is not None:
        term, start, closing = inverted
        yield DefinitionDraft(term, trim_definition(text, start, stop), "sentence", _SURE, closing=closing)
        return
    for verb in list(VERB.finditer(text, piece.start, piece.end))[:_MAX_VERBS]:
        subject = read_subject(text, piece.start, verb.start(), means=verb.lastgroup == "means")
        found = list(_definitions_after_verb(layout, piece, stop, subject, verb)) if subject else []
        if found:
            yield from found
            return
    named = _read_naming(text, piece.start, piece.end)
    if named is not None:
        yield DefinitionDraft(named[0], trim_definition(text, *named[1]), "sentence", _LIKELY)
    elif not layout.in_region(piece.start) and (gloss := _read_gloss(text, piece.start, piece.end)) is not None:
        body = trim_definition(text, gloss[1], stop)
        yield DefinitionDraft(gloss[0], body, "sentence", _LIKELY)


def _definitions_after_verb(
    layout: DocumentLayout, piece: TextPiece, stop: int, subject: DefinedSubject, verb: "re.Match[str]"
) -> Iterator[DefinitionDraft]:
    text, kind = layout.text, verb.lastgroup or ""
    lead = _BODY_LEAD.match(text, verb.end())
    begin = lead.end() if lead else verb.end()
    target = _TARGET.match(text, begin, piece.end) or _SAME_AS.match(text, begin, piece.end)
    if kind == "meaning" and target is not None:
        body = trim_definition(text, text.index("the", verb.start()), stop)
        place = PLACE.match(target["target"])
        rest = re.split(r",|\s(?:and|save|except|unless|but)\s", target["target"], maxsplit=1)[0].strip()
        yield from _drafts_of_subject(subject, body, "reference", _SURE, refers_to=place[1] if place else rest)
        return
    long = _abbreviation_meaning(text, subject, begin, piece.end) if kind == "refers" else None
    if long is not None:
        yield from _drafts_of_subject(subject, long, "abbreviation", _SURE)
        return
    # "Has the meaning of a word in mind" is not a definition.
    presented = subject.marked or verb.group().casefold().startswith(("shall", "will"))
    if kind == "meaning" and not text[verb.end() : begin].strip() and not (verb.group().endswith("of") and presented):
        return
    if defines(text, subject, kind, begin, piece.end, region=layout.in_region(piece.start)):
        # In "includes a yard, but does not include a shed", the verb belongs to the meaning.
        first = verb.start() if kind in ("includes", "covers") else meaning_start(text, verb, begin)
        body = trim_definition(text, first, stop)
        yield from _drafts_of_subject(subject, body, "is" if kind == "is" else "sentence", _SCORES.get(kind, _SURE))


def _abbreviation_meaning(text: str, subject: DefinedSubject, begin: int, end: int) -> tuple[int, int] | None:
    """Return the span of the long form in "BOC is short for bill of charges"; None if the letters do not fit."""
    short = text[slice(*subject.terms[0])]
    if not is_short_form(short):
        return None
    article = ARTICLE.match(text, begin, end)
    begin = article.end() if article else begin
    stop = _STOP.search(text, begin, end)
    last = stop.start() if stop else end
    found = long_form(short, text[begin:last])
    return (begin + found[0], begin + found[1]) if found and not found[0] else None


def _drafts_of_subject(
    subject: DefinedSubject, body: tuple[int, int], pattern: str, score: float, refers_to: str = ""
) -> Iterator[DefinitionDraft]:
    for term in subject.terms:
        yield DefinitionDraft(term, body, pattern, score, subject.abbreviation, refers_to, subject.aliases)
