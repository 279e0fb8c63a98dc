"""Read the subject before a defining verb, and decide whether the text after the verb defines the subject."""
# ruff: noqa: RUF001, SIM905 - look-alike quotes and dashes occur in documents.

import re
from dataclasses import dataclass, replace
from typing import Final

from elt_llm_core.text.languages import word_pattern

from elt_llm_consumer.definitions.vocabulary import (
    ARTICLE,
    CONTEXT_IN_BRACKETS,
    DISTINGUISHING,
    FINITE,
    NOT_BEFORE_VERB,
    NOT_FIRST,
    NOT_WITHIN,
    PRAISING,
    STRONGLY_DISTINGUISHING,
    STRUCTURE,
    pattern,
)

_ITEM_MARK: Final = re.compile(r"(?:[-*+•–—▪◦‣●○■□·](?=\s)|\(?[A-Za-z0-9]{1,4}[.)](?=\s)|\([A-Za-z0-9]{1,5}\))\s*")
_RULE_LABEL: Final = pattern("rule_label")
_RULE_NUMBER: Final = re.compile(r"(?:[A-Z]{1,3}\d{1,3}|\d{1,3})(?:/\d{1,2})?\.?\s+(?=[A-Z\"“„'‘«*_])")
_LEAD_IN: Final = pattern("lead_in")
_SHORT_LEAD_IN: Final = pattern("short_lead_in")
_NAMED: Final = pattern("named_as_term")
_OTHER_NAME: Final = pattern("other_name")
_QUALIFIER: Final = pattern("qualifier")
_OF_WHAT: Final = pattern("of_what")
_OF_OWNER: Final = pattern("of_owner")
_NOT_BODY: Final = pattern("not_body")
_PREDICATE: Final = pattern("predicate")
_PRACTICE: Final = pattern("practice")
_KIND: Final = pattern("kind_with_clause")
_GERMAN_KIND: Final = pattern("german_kind")
_KIND_IN_PLURAL: Final = pattern("kind_in_plural")
_DEFINING: Final = pattern("defining")
QUOTED_TERM: Final = pattern("quoted_term")
_AND = word_pattern(
    r"\s{0,20}(?:,\s{0,20}@item_conjunctions@?|@item_conjunctions@|/|&)\s{0,20}(?:(?:the|an?)\s{1,20})?(?=[\"“„«‘'*_`])"
    r"|(?<=[\"”])\s{1,20}(?=[\"“])"
)
# The words around the term in 'A "Transparent" copy of it means' and 'To "Keep" a file when you sell it means'.
_BEFORE_QUOTED = re.compile(r"(?:to|an?|any|the)\s(?:[a-z]{2,20}\s){0,2}(?=[\"“„])", re.IGNORECASE)
_AFTER_QUOTED = re.compile(r"\s[a-z][\w'’-]{0,30}(?:\s\w[\w'’-]{0,29}){0,9}(?<!\sthat)(?<!\swhich)\s")
_PLAIN = re.compile(r"[^\W_][\w\s&/'’.+#-]{0,110}$")
# A subject may follow a colon or dash: "The following definition applies: "Goods" means ..."
_AFTER_COLON = re.compile(r"(?::\s+(?:\(?[A-Za-z0-9]{1,4}[.)]\s+)?|\s?[—–]\s*)(?=[\"“„«])")
_DOCUMENT: Final = pattern("this_document")
# "A cover note" may be a term, but "the following note" is not.
_KINDS = frozenset("item items document documents note notes list lists page title rule line".split())
_POINTING = frozenset(
    "following above below first second third next last previous same unten oben nachfolgend folgend".split()
)
_LIMIT = 320  # maximum characters of a subject before the verb
_MAX_TERM_WORDS = 8
_MAX_SHORT_FORM = 12  # maximum characters of an abbreviation in brackets


@dataclass(frozen=True)
class DefinedSubject:
    """The subject of a sentence: the spans of its terms, and how the terms are written.

    `marked`: they are in quotes or emphasis. `bold`: they are in bold. `sure`: the text presents them as terms.
    `named`: they follow "the term". `led`: they follow "the term" or a phrase such as "In these Rules". `one`: they are
    capitalized and follow "a". `general`: they follow "a" or no article. `doing`: the subject may be a clause, such as
    "paying late".
    """

    terms: tuple[tuple[int, int], ...]
    marked: bool
    sure: bool
    led: bool = False
    bold: bool = False
    one: bool = False
    named: bool = False
    general: bool = False
    doing: bool = False
    abbreviation: str = ""
    aliases: tuple[str, ...] = ()


def skip_labels(text: str, start: int, end: int) -> int:
    """Return the offset of the first word after rule numbers and list item marks: "Goods" in "3.1 (a) Goods"."""
    labels = [_RULE_LABEL, _ITEM_MARK, _RULE_NUMBER]
    for _ in range(3):
        mark = next(filter(None, (label.match(text, start, end) for label in labels)), None)
        if mark is None or mark.end() == start or text[start : start + 2] == "**":
            break
        start = mark.end()
        if mark.re is _RULE_LABEL:  # in "3.1.98 X.509 Certificate", the second is no label
            labels = labels[1:]
    return start


def quoted_span(found: "re.Match[str]") -> tuple[int, int]:
    """Return the span of the words within quotes or emphasis."""
    return found.span(found.lastgroup or 0)


def read_subject(text: str, start: int, end: int, *, means: bool = False) -> DefinedSubject | None:
    """Return the terms in text[start:end], the text before a verb; None if it contains no term.

    If the verb is "means" (`means`), other words may be around a term in quotes: 'To "convey" a work means ...'.
    """
    if end - start > _LIMIT:
        return None
    start = skip_labels(text, start, end)
    begin = start
    for _ in range(3):
        lead = _LEAD_IN.match(text, begin, end) or _SHORT_LEAD_IN.match(text, begin, end)
        begin = lead.end() if lead else begin
    introduced = _AFTER_COLON.search(text, begin, end)
    begin = introduced.end() if introduced else begin
    in_document = begin > start and _DOCUMENT.search(text, start, begin) is not None
    named = _NAMED.match(text, begin, end)
    if named is not None and named.end() < end:
        begin = named.end()
    article = ARTICLE.match(text, begin, end)
    place = article.end() if article else begin
    around = _BEFORE_QUOTED.match(text, begin, end) if means else None
    quoted = QUOTED_TERM.match(text, around.end() if around else place, end)
    if quoted is not None:
        stop = quoted.end() if means and _is_qualified(text[quoted.end() : end]) else end
        return _marked_subject(text, quoted, stop, led=begin > start, named=named is not None)
    found = _plain_subject(text, place, end, article=article, led=begin > start, named=named is not None or in_document)
    return replace(found, named=named is not None) if found else None


def _is_qualified(rest: str) -> bool:
    """Return whether the words between a term in quotes and "means" belong to the term: "copy of the Document"."""
    return _AFTER_QUOTED.fullmatch(rest) is not None and FINITE.search(rest) is None


def _marked_subject(text: str, quoted: "re.Match[str]", end: int, *, led: bool, named: bool) -> DefinedSubject | None:
    terms = [quoted_span(quoted)]
    place = quoted.end()
    while (joined := _AND.match(text, place, end)) and (further := QUOTED_TERM.match(text, joined.end(), end)):
        terms.append(quoted_span(further))
        place = further.end()
    rest, abbreviation, aliases = split_other_names(_OF_OWNER.sub("", text[place:end]), 0)
    if rest.strip(" \n\t:,;–—-()*_"):
        return None
    terms = [span for span in terms if _is_term(text[span[0] : span[1]], marked=True)]
    if not terms:
        return None
    bold = quoted["strong"] is not None
    return DefinedSubject(
        tuple(terms), True, True, led=led, bold=bold, named=named, abbreviation=abbreviation, aliases=aliases
    )


def _plain_subject(
    text: str, start: int, end: int, *, article: "re.Match[str] | None", led: bool, named: bool
) -> DefinedSubject | None:
    rest, abbreviation, aliases = split_other_names(text[start:end], 1)
    term = rest.rstrip(" \n\t:,–—-")
    if not _PLAIN.match(term) or not all(_is_term(name, marked=False) for name in (term, *aliases)):
        return None
    words = [word for word in term.split() if word.casefold() not in ("of", "and", "or", "the", "for", "in", "to", "a")]
    capital = all(word[:1].isupper() or word[:1].isdigit() for word in words)
    kind = article.group().split()[0].casefold() if article is not None else ""
    english = kind in ("a", "an", "the", "any", "each", "every")
    written = capital and (english or led or len(words) > 1 or term.isupper())
    return DefinedSubject(
        *(((start, start + len(term)),), False, written or named, led or named),
        one=capital and kind in ("a", "an"),
        general=kind in ("", "a", "an", "ein", "eine"),
        doing=len(words) > 1 and words[0].endswith("ing") and not capital,
        abbreviation=abbreviation,
        aliases=aliases,
    )


def split_other_names(rest: str, least: int) -> tuple[str, str, tuple[str, ...]]:
    """Split `rest` into the term itself, its short form, and its other names.

    For example, "Annual Return (AR)" gives ("Annual Return", "AR", ()). The term has at least `least` characters.
    """
    abbreviation, aliases = "", list[str]()
    for _ in range(4):
        rest = rest.rstrip(" \n\t,:–—-") if not rest.rstrip().endswith(("**", "__")) else rest.rstrip()
        if found := CONTEXT_IN_BRACKETS.search(rest):
            inner = found[1].strip("\"“”'‘’*_ ")
            also = _OTHER_NAME.search(" " + inner)
            inner = also[1].strip("\"“”'‘’*_ ") if also else inner
            if inner.isupper() and len(inner) <= _MAX_SHORT_FORM and " " not in inner:
                abbreviation = abbreviation or inner
            else:
                aliases += [inner] if also else []
        elif (found := _OF_WHAT.search(rest) or _QUALIFIER.search(rest)) and found.start() >= least:
            pass
        elif (found := _OTHER_NAME.search(rest)) and found.start() >= least:
            name = found[1].strip("\"“”'‘’*_ ")
            aliases += [name] if name else []
        else:
            break
        rest = rest[: found.start()]
    return rest, abbreviation, tuple(aliases)


def _is_term(term: str, *, marked: bool) -> bool:
    words = [word.strip(".,'’") for word in term.casefold().split()]
    if not words or len(words) > _MAX_TERM_WORDS + 4 * marked or not any(map(str.isalpha, term)):
        return False
    if marked:
        return True
    capital = all(word[:1].isupper() for word in term.split())
    if (
        words[0] in NOT_FIRST
        or (words[0] in NOT_BEFORE_VERB and not term.split(maxsplit=1)[0].isupper())
        or (words[0] in _POINTING and (len(words) == 1 or not capital))
        or (words[0].endswith("ing") and len(words) > 2 and not capital)
        or any(word in NOT_WITHIN for word in words)
        or "to" in words[:2] + words[-1:]
        or (words[1:3] == ["of", "a"] and not capital)
    ):
        return False
    named = len(words) > 1 and (capital or (words[-1] in _KINDS and words[0] not in _POINTING))
    return words[0] not in STRUCTURE and (named or words[-1] not in STRUCTURE)


_CLASS: Final = pattern("class_of_things")
_NUMBER = re.compile(r"(?:one|two|three|four|five|six|seven|eight|nine|ten|\d)\b", re.IGNORECASE)
_IDENTIFIES = word_pattern(r"(?:@definite_articles@|one\s+of)\b", re.IGNORECASE)
_RELATIVE = word_pattern(r"\b(?:@clause_relatives@|,)\b|[,;(:]")
_PLURAL = re.compile(r"(?:[\w-]{1,30}\s){0,1}(?:[\w-]{2,30}s|data|people|staff|information|children)\s", re.IGNORECASE)
_JOINED = word_pattern(r"@item_conjunctions@\s", re.IGNORECASE)
_IDIOM: Final = pattern("idiom_after_means")
# These words after "is" make a statement about a term: ""Including" is never meant to limit."
_STATE = re.compile(r"(?:never|always|also|often|seldom|hardly|meant|to|nie|immer|auch|oft)\b", re.IGNORECASE)
_OBLIGATION: Final = pattern("german_obligation")
_WITHIN = re.compile(r"\s(?:in|on|by|at|with|into|within|during)\s", re.IGNORECASE)
_MIN_WORDS, _MAX_SUBJECT_WORDS, _REACH = 4, 5, 14


def defines(text: str, subject: DefinedSubject, kind: str, start: int, end: int, *, region: bool) -> bool:
    """Return whether text[start:end], the text after a verb, defines the subject.

    `kind` is the kind of verb, such as "is" or "includes". `region` means that the text is under a heading such as
    "Definitions". If no words follow the verb, the definition is the list below, which a colon must introduce, or
    "means" after a term in quotes.
    """
    body = text[start:end]
    if not any(map(str.isalpha, body)):
        led_by_colon = text[max(0, start - 20) : start].rstrip(" \n\t-–—").endswith(":")
        return subject.sure and kind not in ("is", "refers") and (led_by_colon or (subject.marked and kind == "means"))
    if kind == "is":
        return _is_definition(text, subject, body, region=region)
    if kind in ("includes", "covers", "when"):
        return _names_parts(subject, kind, body, region=region)
    if kind in ("refers", "used") and not (subject.sure or region):
        return kind == "refers" and _defines_in_general(subject, text[slice(*subject.terms[0])], body)
    loose = not subject.sure and not subject.led and _WITHIN.search(text[slice(*subject.terms[0])]) is not None
    if (subject.sure or region or subject.doing) and not loose:
        # An idiom or a consequence after the verb is not a definition.
        bare = subject.marked or not _NOT_BODY.match(body) or body.startswith(("that part", "that which"))
        return bare and not _IDIOM.match(body) and (subject.marked or not subject.doing or region or subject.led)
    strong = kind == "defined" and len(body.split(maxsplit=_MIN_WORDS)) >= _MIN_WORDS
    return distinguishes(body) or (strong and not _NOT_BODY.match(body))


def distinguishes(body: str) -> bool:
    """Return whether the text after a verb is a general noun with distinguishing words: "a day other than ..."."""
    few = len(body.split(maxsplit=_MIN_WORDS)) < _MIN_WORDS
    near = " ".join(body.split(maxsplit=_REACH)[1:_REACH])
    return not few and not _NOT_BODY.match(body) and bool(_DEFINING.match(body)) and bool(DISTINGUISHING.search(near))


def meaning_start(text: str, verb: "re.Match[str]", after: int) -> int:
    """Return where the meaning after a verb starts: at the verb if another verb follows, as in "relates to or limits".

    `after` is the offset of the first word after the verb.
    """
    return verb.start() if _JOINED.match(text, after) else after


def is_phrase(body: str) -> bool:
    """Return whether the text after a verb is a phrase: it has no finite verb before its first subordinate clause."""
    relative = _RELATIVE.search(body)
    return FINITE.search(body[: relative.start()] if relative else body[:200]) is None


def _names_parts(subject: DefinedSubject, kind: str, body: str, *, region: bool) -> bool:
    """Return whether "includes", "covers" or "exists where" defines a term, as in "'Car' includes a van"."""
    if kind == "covers":
        return subject.marked or (subject.named and not _NOT_BODY.match(body))
    if kind == "when":
        return subject.led or subject.marked
    if subject.marked:
        return region or subject.led or not (FINITE.search(body) or _NUMBER.match(body))
    return subject.led and subject.sure and distinguishes(body)


def _is_distinguished_kind(body: str) -> bool:
    """Return whether the text after a verb is a general noun with a relative clause: "a letter by which ..."."""
    kind = _KIND.match(body) or _GERMAN_KIND.match(body)
    bare = _DEFINING.match(body) is None
    if kind is None or (bare and not _PLURAL.match(body)):
        return False
    return FINITE.search(kind.group()) is None and not _PREDICATE.match(body)


def _is_definition(text: str, subject: DefinedSubject, body: str, *, region: bool) -> bool:
    """Return whether the "is" before `body` introduces a definition of the subject, not a statement about it.

    It may do so under a heading such as "Definitions" (`region`), for a term that is marked by quotes or bold type, in
    "A Thing is a ...", and after a phrase such as "In these Rules".
    """
    names = [text[slice(*term)] for term in subject.terms]
    if _OBLIGATION.match(body):
        return False
    if not subject.sure and not subject.led and not region:
        return not _NOT_BODY.match(body) and _defines_in_general(subject, names[0], body)
    plural = region and subject.general and _KIND_IN_PLURAL.match(body) is not None
    bare = region and subject.marked and len(body.split()) >= _MIN_WORDS and DISTINGUISHING.search(body) is not None
    if not (_CLASS.match(body) or bare or plural) or _NOT_BODY.match(body) or _STATE.match(body):
        return False
    if region:
        return subject.marked or plural or (distinguishes(body) and not _PREDICATE.match(body))
    if _PREDICATE.match(body) or not (subject.sure and distinguishes(body)):
        return False
    return _may_be_defined(subject, body) and all(_is_name(name) for name in names)


def _may_be_defined(subject: DefinedSubject, body: str) -> bool:
    """Return whether "is" may define this subject, because of the way in which the subject is written.

    It may if the subject is in bold or quotes, or follows a phrase such as "In these Rules", or is capitalized after
    "a", as in "A Late Fee is a charge for ...". After "a", the text after "is" (`body`) must have distinguishing words,
    such as "that". If the subject is only in quotes, `body` must not just identify one thing: "the ...", "one of ...".
    """
    apart = STRONGLY_DISTINGUISHING.search(" ".join(body.split(maxsplit=_REACH)[1:_REACH])) is not None
    if subject.one and not apart:
        return False
    identifies = body[:6].casefold() == "one of" or (_IDENTIFIES.match(body) and not DISTINGUISHING.search(body[:100]))
    return subject.led or subject.bold or subject.one or (subject.marked and not identifies)


def _defines_in_general(subject: DefinedSubject, name: str, body: str) -> bool:
    """Return whether `body` defines a kind of thing or activity, for a subject that follows "a" or no article.

    "A warrant is a letter by which ..." and "Pruning is the removal of dead branches" are such definitions. "The hall
    is a good place" is none, since it describes one thing.
    """
    words = name.split()
    if not subject.general or not _is_name(name) or _PREDICATE.match(body) or PRAISING.match(body):
        return False
    if len(words) > _MAX_SUBJECT_WORDS or words[0].casefold() == "please" or {"The", "A", "An"} & set(words):
        return False
    if _DEFINING.match(body) is None and " " not in name:
        return False
    return _PRACTICE.match(body) is not None or _is_distinguished_kind(body)


def _is_name(term: str) -> bool:
    return len(term) > 2 and term[0].isalpha() and all(sign.isalpha() or sign in " -'’\n" for sign in term)
