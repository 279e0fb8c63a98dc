"""Sentences that define: "X means", "By X is meant", "A plot that lies empty is called a gap", "'Site': the land"."""
# ruff: noqa: RUF001 - look-alike quotes and dashes occur in documents.

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from elt_llm_query.grounding.sentences import TextPiece

from elt_llm_consumer.definitions.abbreviations import is_short_form, long_form
from elt_llm_consumer.definitions.definition import DefinitionDraft
from elt_llm_consumer.definitions.layout import DefinitionExtent, DocumentLayout, marker_style, trim_definition
from elt_llm_consumer.definitions.subject import (
    QUOTED_TERM,
    DefinedSubject,
    defines,
    distinguishes,
    is_phrase,
    read_subject,
    skip_labels,
)
from elt_llm_consumer.definitions.vocabulary import (
    ARTICLE,
    DISTINGUISHING,
    DOCUMENTS,
    NOT_FIRST,
    NOT_WITHIN,
    PLACE,
    PRAISING,
    SAME_AS,
    TARGET,
    VERB,
)

_VERB: Final = (
    r"(?:(?:shall\s+|will\s+)?means?|(?:is|are)\s+defined\s+as|(?:has|have|shall\s+have)\s+the\s+(?:same\s+)?meanings?"
    r"|refers?\s+to|denotes?|bedeutet|bezeichnet)(?![\w-])"
)
_QUOTED: Final = r"[\"“„«‘'*]{1,3}[^\"“”„«»‘*\n]{1,80}[\"”“»’'*]{1,3}"
_CLAUSE_LEAD: Final = r"(?:(?:and|or|und)\s{1,9})?(?:the\s(?:term|word|expression)\s)?(?:an?\s|the\s)?"
_NEXT: Final = re.compile(
    rf"(?:;\s{{1,9}}{_CLAUSE_LEAD}|,\s{{1,9}}(?:and|und)\s{{1,9}}|\s(?:and|und)\s{{1,9}}|,\s{{1,9}})(?P<quoted>{_QUOTED}\s{{1,9}}{_VERB})"
    rf"|;\s{{1,9}}{_CLAUSE_LEAD}(?P<plain>(?-i:[A-Z])[\w'’-]{{0,30}}(?:\s[\w'’-]{{1,30}}){{0,5}}?\s{_VERB})",
    re.IGNORECASE,
)
_FIRST_VERB: Final = re.compile(_VERB, re.IGNORECASE)


_GIVES: Final = re.compile(rf"{_QUOTED}\s{{1,9}}{_VERB}", re.IGNORECASE)


def gives_meaning(text: str) -> bool:
    """Whether a text has a term in quotes or emphasis right before a verb that defines it."""
    return _GIVES.search(text) is not None


def defining_parts(piece: TextPiece) -> Iterator[TextPiece]:
    """The parts of a sentence that define a term each, in order; the sentence itself if it defines one or none.

    Only the text after the first defining verb is split: nothing before that verb is defined.
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


_GLOSS: Final = re.compile(
    r"(?:[\"“„](?P<quoted>[^\"“”„\n]{2,60})[\"”“]|(?P<short>[^\W\d_][\w&.-]{1,10})"
    r"|(?P<plain>[A-Z][\w'’ -]{1,50}))\s{0,3}:\s{1,9}(?=\S)"
)
_PLAIN: Final = re.compile(r"[^\W\d_][\w'’ -]{1,60}$")
_SEE: Final = re.compile(r"(?:see|siehe)\s{1,9}(?:also\s)?[\"“„][^\"“”„\n]{2,60}[\"”“]\W{0,3}$", re.IGNORECASE)


def read_gloss(text: str, start: int, end: int) -> tuple[tuple[int, int], int] | None:
    """The span of the term and the start of its meaning; None if the text defines nothing."""
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
    """Whether all letters of a short form follow in one long word: MV, Mitgliederversammlung."""
    letters = iter(long.casefold())
    same = " " not in long and long[:1].casefold() == short[:1].casefold() and len(long) > 3 * len(short)
    return same and all(letter in letters for letter in short.casefold())


_QUOTE_MARKS: Final = r"[\"“„«‘'*_]{1,3}"
_TERM: Final = (
    rf"(?:{_QUOTE_MARKS}(?P<%s>[^\"“”„«»‘*_\n]{{1,90}}?)[\"”“»’'*_]{{1,3}}|"
    r"(?P<%s>[A-ZÄÖÜ][\wäöüß-]{1,50}(?:\s[\w-]{2,40}){0,4}?))"
)


def _term_pattern(name: str) -> str:
    return _TERM.replace("%s", f"{name}1", 1).replace("%s", f"{name}2", 1)


_ARTICLE = r"(?:an?\s+|the\s+|the\s+(?:term|word|expression)\s+)?"
_GERMAN_ARTICLE = r"(?:einem\s+|einer\s+|dem\s+|der\s+|den\s+)?"
_GERMAN_IN_DOCUMENT = (
    r"(?:im\s+sinne\s+(?:dieser|dieses|der|des)\s+[A-ZÄÖÜ]\w{2,40}|in\s+(?:dieser|diesem|der|dem)\s+[A-ZÄÖÜ]\w{2,40}"
    r"|für\s+die\s+zwecke\s+(?:dieser|dieses)\s+[A-ZÄÖÜ]\w{2,40})"
)
_REFERENCES: Final = r"(?:an?\s+|any\s+|every\s+|all\s+)?references?\s+(?:in\s+[^,;:.\"“]{3,60}\s)?to\s+"
_INVERTED_PATTERNS: Final = (
    re.compile(
        rf"by\s+{_ARTICLE}{_term_pattern('a')}\s*,?\s+(?:(?:is|are)\s+(?:meant|understood)|we\s+(?:mean|understand))\s+(?P<body>\S)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:when|where)\s+we\s+(?:say|use|write|speak\s+of|refer\s+to|talk\s+about)\s+{_ARTICLE}{_term_pattern('a')}\s*,?\s+"
        r"we\s+(?:mean|refer\s+to)\s+(?P<body>\S)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_REFERENCES}{_ARTICLE}{_term_pattern('a')}\s+(?:is|are|shall\s+be)\s+(?:(?:an?\s+)?references?\s+)?to\s+"
        r"(?P<body>(?:an?|the|any|all|every|each|those|days?|persons?)\s)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"mit\s+{_GERMAN_ARTICLE}{_term_pattern('a')}\s+(?:ist|sind|wird|werden)\s+(?P<body>(?:ein|eine|der|die|das|jede|jeder|jedes|alle)\s)"
        r"(?=[^.]{1,300}\sgemeint\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"als\s+{_GERMAN_ARTICLE}{_term_pattern('a')}\s+(?:wird|werden)\s+(?P<body>[^.]{{3,300}}\sbezeichnet\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:[^,;:.]{{1,80}}?,?\s{{1,9}})?we\s+use\s+{_ARTICLE}{_term_pattern('a')}\s+to\s+(?:mean|refer\s+to|denote|describe)\s+(?P<body>\S)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:[^,;:.]{{1,80}}?,?\s{{1,9}})?we\s+define\s+{_ARTICLE}{_term_pattern('a')}\s+as\s+(?P<body>\S)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"unter\s+{_GERMAN_ARTICLE}{_term_pattern('a')}\s+(?:verst(?:eht|ehen)\s+(?:man|wir|(?:die|diese)\s+\w{{1,40}})(?:\s+{_GERMAN_IN_DOCUMENT})?|(?:wird|werden|ist|sind)(?:\s+{_GERMAN_IN_DOCUMENT})?(?=[^!?]{{1,300}}\s(?:verstanden|zu\s+verstehen)\b))"
        r"\s+(?P<body>(?:(?:ein|eine|einen|der|die|das|den|jede|alle)\w{0,3}|[A-ZÄÖÜ]\w{2,40},)\s|[^.,]{3,60},\sd(?:ie|er|as)\s)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_GERMAN_IN_DOCUMENT}\s+(?:ist|sind|bezeichnet|bezeichnen|bedeutet|heißt)\s+(?:(?:ein|eine|der|die|das)\s+)?{_term_pattern('a')}"
        r",?\s+(?P<body>(?:ein|eine|einen|der|die|das|den|jede|jeder|jedes|wer|alle)\s)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"als\s+{_GERMAN_ARTICLE}{_term_pattern('a')}\s+(?:gilt|gelten)\s+(?P<body>(?:ein|eine|der|die|das|jede|jeder|jedes|wer|alle|nur)\s)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:(?:ein|eine|der|die|das)\s+)?{_term_pattern('a')}\s+{_GERMAN_IN_DOCUMENT}\s+(?:ist|sind|bezeichnet|bedeutet)\s+"
        r"(?P<body>(?:ein|eine|einen|der|die|das|den|jede|jeder|jedes|wer|alle),?\s)",
        re.IGNORECASE,
    ),
)
_OF_TEXTS: Final = re.compile(
    r"(?:(?:this|that|these|those)\b|(?:statut|regulation|rule|section|clause|article|paragraph|schedule|part|annex|enactment"
    r"|law|legislation|masculine|feminine|singular|plural|gender|provision|act|appendi)\w{0,4}$)",
    re.IGNORECASE,
)


# "Every club names a Contact Person, which means the person who ..."
_BESIDE: Final = re.compile(
    r"\b(?:[Aa]n?|[Tt]he)\s+(?P<term>[A-Z][\w'’-]{1,40}(?:\s(?:of\s)?[A-Z][\w'’-]{1,40}){0,5}),\s+(?:which|who)\s+means?\s+"
    r"(?=(?:an?|the|any|every|each|all)\s)"
)


def read_which_means(text: str, start: int, end: int) -> tuple[tuple[int, int], int] | None:
    """As `read_inverted`, where the sentence continues after a term with "which means" and a kind of thing."""
    found = _BESIDE.search(text, start, end)
    return (found.span("term"), found.end()) if found and distinguishes(text[found.end() : end]) else None


def read_inverted(text: str, start: int, end: int) -> tuple[tuple[int, int], int] | None:
    """The span of the term and the start of its definition; None if the sentence is of another kind."""
    start = skip_labels(text, start, end)
    for pattern in _INVERTED_PATTERNS:
        found = pattern.match(text, start, end)
        if found and (found["a1"] or _is_inverted_term(found["a2"])):
            name = "a1" if found["a1"] is not None else "a2"
            return found.span(name), found.start("body")
    return None


def _is_inverted_term(term: str) -> bool:
    """Whether words without quotes name a thing, and no part of a text."""
    words = term.casefold().split()
    return words[0] not in NOT_FIRST and _OF_TEXTS.match(words[-1]) is None


_REST: Final = r"[\w'’/-]{0,30}(?:\s{1,9}(?!(?:if|when|where|by|and|or)\b)[\w'’/-]{1,30}){0,5}"
_WORDS: Final = rf"[^\W\d_]{_REST}"
_QUOTED_NAME: Final = r"(?:[\"“„«‘'`]|\*{1,3})(?P<%s>[^\"“”„«»‘’*`\n]{2,60})(?:[\"”“»’'`]|\*{1,3})"
_CONDITION: Final = r"(?:only\s)?(?:if|when|where|wherever|whenever)\s"
_CALLED: Final = r"(?:called|known\sas|termed|named|referred\sto\sas|described\sas)"
# What is called so is any of a kind: "An error", "Every plot", not "The office".
_ANY: Final = r"(?:an?|any|every|each|all|those|where|if|when|ein|eine|jede[rs]?)\s"
_HERE: Final = (
    rf"(?:(?:for|in|under|within|throughout)\s(?:the\spurposes?\sof\s)?(?:(?:these|this|our)\s(?:\w{{1,20}}\s)?{DOCUMENTS}"
    r"|(?:rule|section|article|clause|part|regulation|paragraph)\s[\w.()]{1,8}),?\s)"
)
_NAMING_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<body>{_ANY}[^.;:]{{8,200}}?)\s(?:is|are|shall\sbe)\s{_CALLED}\s(?:an?|the)\s(?P<a>{_WORDS})(?=[.;]|$)",
        rf"(?P<body>(?:the|[A-Z][\w-]{{2,30}}s)\s[^.;:]{{2,120}}?(?:that|which|who|whose|whom)\s[^.;:]{{3,200}}?)\s(?:is|are)\s"
        rf"{_CALLED}\s(?:an?\s|the\s)?(?P<a>(?-i:[a-z]){_REST})(?=[.;]|$)",
        rf"(?P<whole>{_ANY}[^.;:]{{3,200}}?\s(?:is|are|shall\sbe)\s{_CALLED}\s(?:an?|the)\s(?P<a>{_WORDS})\s{_CONDITION})",
        rf"(?P<body>{_ANY}[^.;:]{{2,200}}?\s(?:that|which|who)\s[^.;:]{{3,200}}?)\s(?:is|are)\ssaid\sto\sbe\s(?P<a>{_WORDS})(?=[.;]|$)",
        rf"(?P<body>{_ANY}[^.;:\"“„]{{12,200}}?)\s(?:is|are)\s(?:an?\s)?{_QUOTED_NAME % 'a'}(?=[.;]|$)",
        rf"(?P<whole>{_ANY}[^.;:\"“„]{{3,200}}?\s(?:is|are)\s(?:an?\s)?{_QUOTED_NAME % 'a'}\s{_CONDITION})",
        rf"{_HERE}(?P<whole>(?:an?|any|every|each)\s(?:\w{{1,30}}\s){{1,4}}?(?:is|are|counts?\sas|shall\sbe)\s(?:an?\s)?"
        rf"(?P<a>{_WORDS})\s{_CONDITION})",
        rf"(?P<whole>(?:an?|any|every|each)\s(?:\w{{1,30}}\s){{1,3}}?(?:is|counts\sas)\san?\s(?P<a>{_WORDS})\s(?:only\s)?"
        r"(?:if|when)\s(?:it|he|she|they)\s)",
        r"(?:we\s(?:call|say\sthat|describe)\s)(?P<body>[^.;:*\"“„]{3,120}?)\s(?:is\s|are\s|as\s)?"
        rf"{_QUOTED_NAME % 'a'}(?:\s{_CONDITION})?",
        r"(?P<body>(?:an?|the|any|each|every)\s[^.;:,]{8,160}),\s(?:also\s)?known\s(?:here\s)?as\s(?:an?|the)\s(?P<a>(?-i:[a-z])[\w\s-]{2,50}),",
    )
)
_LATER: Final = re.compile(r"\s(?:if|when|where)\s$", re.IGNORECASE)


def read_naming(text: str, start: int, end: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The spans of the term and of its meaning; None if the sentence is of another kind."""
    start = skip_labels(text, start, end)
    for pattern in _NAMING_PATTERNS:
        found = pattern.match(text, start, end)
        if found is None or not _is_naming_term(found["a"]):
            continue
        whole = "whole" in pattern.groupindex or _LATER.search(found[0]) is not None
        begin = found.start("whole" if "whole" in pattern.groupindex else "body")
        span = (begin, end if whole else found.end("body"))
        if whole or len(text[slice(*span)].split()) > 3 or distinguishes(text[slice(*span)]):
            return found.span("a"), span
    return None


def _is_naming_term(term: str) -> bool:
    words = [word.strip("'’").casefold() for word in term.split()]
    judged = PRAISING.match(f"a {term}")
    return bool(words) and not judged and words[0] not in NOT_FIRST and not any(word in NOT_WITHIN for word in words)


_BODY_LEAD = re.compile(r"[\s:,–—-]{1,6}(?:that\s+is\s+)?")
_STOP = re.compile(r"[.,;:(]|\s(?:and|which|that|as|in)\s(?=[a-z])")
_MAX_VERBS = 3
_SURE, _LIKELY = 0.95, 0.85
_SCORES = {"refers": _LIKELY, "includes": 0.8, "used": 0.9, "is": 0.8}


def find_in_sentences(layout: DocumentLayout) -> Iterator[DefinitionDraft]:
    """The definitions that sentences give, in order."""
    extent = DefinitionExtent(layout)
    for number, piece in enumerate(layout.pieces):
        if (piece.kind in ("prose", "item") or _leads_to_items(layout, number)) and not layout.is_contents(piece.text):
            clauses = list(defining_parts(piece))
            end = extent.end(number, piece.end)
            first = list(_piece_definitions(layout, clauses[0], clauses[0].end if len(clauses) > 1 else end))
            if not first:  # no definition of the first clause continues in the others
                clauses, first = [piece], list(_piece_definitions(layout, piece, end)) if len(clauses) > 1 else []
            yield from first
            for clause in clauses[1:]:
                yield from _piece_definitions(layout, clause, end if clause is clauses[-1] else clause.end)


def _leads_to_items(layout: DocumentLayout, number: int) -> bool:
    """Whether what looks like a heading is the start of a sentence that continues in the items below it."""
    piece, following = layout.pieces[number], layout.pieces[number + 1 : number + 2]
    return (
        piece.kind == "heading"
        and piece.start not in layout.heading_lines
        and QUOTED_TERM.match(piece.text, skip_labels(piece.text, 0, len(piece.text))) is not None
        and any(one.kind == "item" and marker_style(one.text) for one in following)
    )


def _piece_definitions(layout: DocumentLayout, piece: TextPiece, stop: int) -> Iterator[DefinitionDraft]:
    """The definitions of a sentence, or of one part of it; `stop` is where the list under it ends."""
    text = layout.text
    inverted = read_inverted(text, piece.start, piece.end) or read_which_means(text, piece.start, piece.end)
    if inverted is not None:
        term, start = inverted
        yield DefinitionDraft(term, trim_definition(text, start, stop), "sentence", _SURE)
        return
    for verb in list(VERB.finditer(text, piece.start, piece.end))[:_MAX_VERBS]:
        subject = read_subject(text, piece.start, verb.start())
        found = list(_definitions_after_verb(layout, piece, stop, subject, verb)) if subject else []
        if found:
            yield from found
            return
    named = read_naming(text, piece.start, piece.end)
    if named is not None:
        yield DefinitionDraft(named[0], trim_definition(text, *named[1]), "sentence", _LIKELY)
    elif not layout.in_region(piece.start) and (gloss := read_gloss(text, piece.start, piece.end)) is not None:
        body = trim_definition(text, gloss[1], stop)
        yield DefinitionDraft(gloss[0], body, "sentence", _LIKELY)


def _definitions_after_verb(
    layout: DocumentLayout, piece: TextPiece, stop: int, subject: DefinedSubject, verb: "re.Match[str]"
) -> Iterator[DefinitionDraft]:
    """The definitions of a subject whose verb is this one."""
    text, kind = layout.text, verb.lastgroup or ""
    begin = _skip(text, verb.end())
    target = (
        (TARGET.match(text, begin, piece.end) or SAME_AS.match(text, begin, piece.end)) if kind == "meaning" else None
    )
    if target is not None:
        meaning = text.index("the", verb.start())
        body = trim_definition(text, meaning, stop)
        yield from _drafts_of_subject(subject, body, "reference", _SURE, refers_to=_reference_target(target["target"]))
        return
    long = _abbreviation_meaning(text, subject, begin, piece.end) if kind == "refers" else None
    if long is not None:
        yield from _drafts_of_subject(subject, long, "abbreviation", _SURE)
    elif kind == "meaning" and not _gives_meaning(subject, verb.group(), text[verb.end() : begin]):
        return
    elif defines(text, subject, kind, begin, piece.end, region=layout.in_region(piece.start)):
        body = trim_definition(text, begin, stop)
        yield from _drafts_of_subject(subject, body, "is" if kind == "is" else "sentence", _SCORES.get(kind, _SURE))


def _gives_meaning(subject: DefinedSubject, verb: str, after: str) -> bool:
    """Whether "have the meaning" gives it: "shall have the meaning of", not "has the meaning of a word in mind"."""
    of = verb.endswith("of") and (subject.marked or verb.casefold().startswith(("shall", "will")))
    return of or bool(after.strip())


def _reference_target(target: str) -> str:
    """The rule or section that a reference names, without further remarks."""
    named = PLACE.match(target)
    return named[1] if named else re.split(r",|\s(?:and|save|except|unless|but)\s", target, maxsplit=1)[0].strip()


def _abbreviation_meaning(text: str, subject: DefinedSubject, begin: int, end: int) -> tuple[int, int] | None:
    """The long form of an abbreviation, which the sentence may continue; None if the subject is no abbreviation."""
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


def _skip(text: str, begin: int) -> int:
    lead = _BODY_LEAD.match(text, begin)
    return lead.end() if lead else begin
