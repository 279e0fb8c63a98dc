"""The words before "means": which term they name, and whether they name one at all."""

import re
from dataclasses import dataclass, replace

from elt_llm_consumer.definitions.wording import (
    ABOUT,
    ALSO,
    ARTICLE,
    DOCUMENTS,
    ITEM_MARK,
    LEAD_IN,
    NAMED,
    NOT_FIRST,
    NOT_WITHIN,
    OF_WHAT,
    QUALIFIER,
    RULE_LABEL,
    RULE_NUMBER,
    SHORT_LEAD_IN,
    STRUCTURE,
)

# ruff: noqa: RUF001 - the look-alike quotes are what this file is about.
_OPEN, _CLOSE = "\"“„«‘'*_`", "\"”“»’'*_`"
QUOTED = re.compile(
    r"(?:\*{1,3}|__?|`)?[\"“„«](?:\*{1,3}|__?)?(?P<double>[^\"“”„«»\n]{1,90}(?:\n[^\"“”„«»\n]{1,60})?)[\"”“»](?:\*{1,3}|__?|`)?"
    r"|(?:\*\*|__)[\"“]?(?P<strong>[^*_\n]{1,90})[\"”]?(?:\*\*|__)"
    r"|(?<![\w*_])(?:\*(?P<starred>[^*\n]{1,90}(?:\n[^*\n]{1,60})?)\*|_(?P<underlined>[^_\n]{1,90})_|`(?P<code>[^`\n]{1,90})`)(?![\w*_])"
    r"|(?<!\w)[‘'](?P<single>[^\"“”\n]{1,90}?)[’'](?!\w)"
)
_AND = re.compile(r"\s*(?:,\s*(?:and|or|und|oder)?|and|or|und|oder|/|&)\s*(?:(?:the|an?)\s+)?(?=[\"“„«‘'*_`])")
_PLAIN = re.compile(r"[^\W_][\w\s&/'’.+#-]{0,110}$")
# "The following definition applies: "Goods" means ..."
_AFTER_COLON = re.compile(r"(?::\s+|\s?[—–]\s*)(?=[\"“„«])")
_DOCUMENT = re.compile(rf"\b(?:this|these|our)\s+(?:\w{{1,20}}\s)?{DOCUMENTS}\b", re.IGNORECASE)
# "A cover note" may be a term, "the following note" is none.
_KINDS = frozenset("item items document documents note notes list lists page title rule line".split())  # noqa: SIM905
_POINTING = frozenset("following above below first second third next last previous same".split())  # noqa: SIM905
_LIMIT = 320  # characters of a subject with all that stands before it
_MOST_WORDS = 8


@dataclass(frozen=True)
class Subject:
    """Spans of the terms a sentence speaks of.

    `marked`: in quotes or emphasis, `bold` if in bold. `sure`: told or written as a term. `led`: after "In these Rules"
    or "the term", `named` only after the latter. `one`: after "a" and with capitals. `general`: after "a" or nothing.
    `doing`: perhaps no name but a clause, such as "paying late".
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


def after_labels(text: str, start: int, end: int) -> int:
    """Where the words begin after numbers of rules and marks of items."""
    for _ in range(3):
        mark = (
            RULE_LABEL.match(text, start, end)
            or ITEM_MARK.match(text, start, end)
            or RULE_NUMBER.match(text, start, end)
        )
        if mark is None or mark.end() == start or text[start : start + 2] == "**":
            break
        start = mark.end()
    return start


def quoted_span(found: "re.Match[str]") -> tuple[int, int]:
    """The span of the words within quotes or emphasis."""
    return next(found.span(name) for name in found.re.groupindex if found[name] is not None)


def read_subject(text: str, start: int, end: int) -> Subject | None:
    """The terms that text[start:end] names, which ends before the verb; None if it names none."""
    if end - start > _LIMIT:
        return None
    start = after_labels(text, start, end)
    begin = start
    for _ in range(3):
        lead = LEAD_IN.match(text, begin, end) or SHORT_LEAD_IN.match(text, begin, end)
        begin = lead.end() if lead else begin
    introduced = _AFTER_COLON.search(text, begin, end)
    begin = introduced.end() if introduced else begin
    told = begin > start and _DOCUMENT.search(text, start, begin) is not None
    named = NAMED.match(text, begin, end)
    if named is not None and named.end() < end:
        begin = named.end()
    article = ARTICLE.match(text, begin, end)
    place = article.end() if article else begin
    quoted = QUOTED.match(text, place, end)
    if quoted is not None:
        return _marked(text, quoted, end, led=begin > start, named=named is not None)
    found = _plain(text, place, end, article=article, led=begin > start, named=named is not None or told)
    return replace(found, named=named is not None) if found else None


def _marked(text: str, quoted: "re.Match[str]", end: int, *, led: bool, named: bool) -> Subject | None:
    terms = [quoted_span(quoted)]
    place = quoted.end()
    while (joined := _AND.match(text, place, end)) and (further := QUOTED.match(text, joined.end(), end)):
        terms.append(quoted_span(further))
        place = further.end()
    rest, abbreviation, aliases = names_beside(text[place:end], 0)
    if rest.strip(" \n\t:,;–—-()*_"):
        return None
    terms = [span for span in terms if _is_term(text[span[0] : span[1]], marked=True)]
    if not terms:
        return None
    bold = quoted["strong"] is not None
    return Subject(
        tuple(terms), True, True, led=led, bold=bold, named=named, abbreviation=abbreviation, aliases=aliases
    )


def _plain(
    text: str, start: int, end: int, *, article: "re.Match[str] | None", led: bool, named: bool
) -> Subject | None:
    rest, abbreviation, aliases = names_beside(text[start:end], 1)
    term = rest.rstrip(" \n\t:,–—-")
    if not _PLAIN.match(term) or not _is_term(term, marked=False):
        return None
    words = [word for word in term.split() if word.casefold() not in ("of", "and", "or", "the", "for", "in", "to", "a")]
    capital = all(word[:1].isupper() or word[:1].isdigit() for word in words)
    kind = article.group().split()[0].casefold() if article is not None else ""
    english = kind in ("a", "an", "the", "any", "each", "every")
    written = capital and (english or led or len(words) > 1 or term.isupper())
    one = capital and kind in ("a", "an")
    span = (start, start + len(term))
    sure = written or named
    general = kind in ("", "a", "an", "ein", "eine")
    led = led or named
    doing = len(words) > 1 and words[0].endswith("ing") and not capital
    return Subject(
        *((span,), False, sure, led),
        one=one,
        general=general,
        doing=doing,
        abbreviation=abbreviation,
        aliases=aliases,
    )


def names_beside(rest: str, least: int) -> tuple[str, str, tuple[str, ...]]:
    """The subject without what stands after the term: its short form, its other names, where it holds.

    `least`: how many characters the term itself has at the beginning of `rest`, at least.
    """
    abbreviation, aliases = "", list[str]()
    for _ in range(4):
        rest = rest.rstrip(" \n\t,:–—-") if not rest.rstrip().endswith(("**", "__")) else rest.rstrip()
        if found := ABOUT.search(rest):
            inner = found[1].strip("\"“”'‘’*_ ")
            short, names = _in_brackets(inner)
            abbreviation = abbreviation or short
            aliases += names
        elif (found := OF_WHAT.search(rest) or QUALIFIER.search(rest)) and found.start() >= least:
            pass
        elif (found := ALSO.search(rest)) and found.start() >= least:
            name = found[1].strip("\"“”'‘’*_ ")
            aliases += [name] if name else []
        else:
            break
        rest = rest[: found.start()]
    return rest, abbreviation, tuple(aliases)


def _in_brackets(inner: str) -> tuple[str, list[str]]:
    also = ALSO.search(" " + inner)
    if also:
        inner = also[1].strip("\"“”'‘’*_ ")
    if inner.isupper() and len(inner) <= 12 and " " not in inner:
        return inner, []
    return "", [inner] if also else []


def _is_term(term: str, *, marked: bool) -> bool:
    words = [word.strip(".,'’") for word in term.casefold().split()]
    if not words or len(words) > _MOST_WORDS + 4 * marked or not any(map(str.isalpha, term)):
        return False
    if marked:
        return True
    capital = all(word[:1].isupper() for word in term.split())
    if (
        words[0] in NOT_FIRST
        or (words[0] in _POINTING and not capital)
        or (words[0].endswith("ing") and len(words) > 2 and not capital)
        or any(word in NOT_WITHIN for word in words)
        or "to" in words[:2] + words[-1:]
    ):
        return False
    named = len(words) > 1 and (capital or (words[-1] in _KINDS and words[0] not in _POINTING))
    return words[0] not in STRUCTURE and (named or words[-1] not in STRUCTURE)
