"""Which lists of terms and bodies hold values and no meanings: hours, addresses, amounts, options of a program."""

import re
from collections.abc import Sequence

from elt_llm_consumer.definitions.abbreviations import is_short_form
from elt_llm_consumer.definitions.defining import is_phrase, tells_apart
from elt_llm_consumer.definitions.wording import STRONGLY_APART

_APART = re.compile(
    r"(?:(?:our|your|how\s+to|useful|key)\s+)?(?:contacts?|contact\s+(?:us|details|information|data)|address(?:es)?|"
    r"(?:opening|office|business|visiting)\s+(?:hours|times)|hours|find\s+us|reach\s+us|directions|kontakt(?:e|daten)?|"
    r"öffnungszeiten|anschrift(?:en)?|adressen?|anfahrt|sprechzeiten|impressum)\W{0,3}$",
    re.IGNORECASE,
)
_LINK = re.compile(r"(?:https?://|www\.|mailto:)\S{1,300}|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}")
_PHONE = re.compile(r"(?:\+|\b0|\()\d[\d ()/.-]{5,24}\d")
_STREET = re.compile(
    r"\b\d{1,4}[a-z]?,?\s(?:[\w.'-]{1,30}\s){1,3}(?:street|st|road|rd|avenue|ave|lane|drive|square)\b"
    r"|\b\w{2,40}(?:straße|strasse|weg|platz|gasse|allee)\s\d{1,4}\b|\bp\.?\s?o\.?\sbox\b",
    re.IGNORECASE,
)
_TIMES = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays mon tue wed thu fri sat sun weekdays weekends montag dienstag mittwoch donnerstag freitag samstag sonntag
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec januar februar märz mai juni juli oktober dezember to and from until till by bis von und
    closed open daily noon midnight geschlossen yes no none true false tbc tba unknown ja nein
    """.split()  # noqa: SIM905
)
# These are values only beside figures.
_UNITS = frozenset(
    """
    at of or on about each a p am pm h s n ab uhr m th st nd rd eur euro euros gbp usd pounds dollars per cent percent
    kg g km cm mm gb mb kb tb days day weeks week months month years year hours hour minutes seconds page pages room
    floor level
    """.split()  # noqa: SIM905
)
_LABEL = re.compile(
    r"(?:tele)?phone(?:\s+number)?|mobile|fax|e-?mail(?:\s+address)?|(?:postal\s+|visiting\s+|street\s+)?address|"
    r"web\s?site|opening\s+(?:hours|times)|contact(?:\s+\w{1,20})?|authors?|editors?|published|last\s+updated|updated|"
    r"created|version|dates?|"
    r"telefon|anschrift|adresse|öffnungszeiten|kontakt|autor(?:en)?|stand",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"(?:parameters?|arguments?|returns?|return\s+type|raises|yields|type|default|see\s+also):?", re.IGNORECASE
)
_NAME = re.compile(r"(?:(?:[A-Z]\.?|[^\W\d_][\w.'-]{1,30})\s){1,3}[^\W\d_][\w'-]{1,30}$")
# Of a chapter, a section or a release: such lists are contents and changes.
_NUMBERED = re.compile(
    r"(?:[A-Z]\.)?\d{1,3}(?:(?:\.\d{1,3}){1,5}\.?|\.)(?=[\s,;]|$)"
    r"|.{0,40}\b(?:section|chapter|abschnitt|kapitel)\s\d",
    re.IGNORECASE,
)
_CODE = re.compile(r"-{1,2}\w|[/$\\<]|.{0,80}(?:->|\w\(\)|\w\([^()\s]{0,40}[,=])")
_ACTING = re.compile(r"[a-z]{3,20}ing\s\S{1,30}\s", re.IGNORECASE)
_REACH = 14
_SHARE = 0.5


def announces_values(line: str) -> bool:
    """Whether a heading, or the line before a list, says that it holds addresses or hours."""
    return _APART.match(line) is not None


def holds_values(entries: Sequence[tuple[str, str]], values: Sequence[bool]) -> bool:
    """Whether a list is one of values; names of persons and places count as such where other values are, or alone."""
    names = [value or _is_name(*entry) for entry, value in zip(entries, values, strict=True)]
    named = any(values) and sum(names) >= _SHARE * len(names)
    return sum(values) >= _SHARE * len(values) or named or (all(names) and len(names) > 1)


def _is_name(term: str, body: str) -> bool:
    """Whether a body is two to four words with capitals, and spells out no short form."""
    return _NAME.match(body) is not None and body.istitle() and not is_short_form(term.strip())


def is_value(term: str, body: str) -> bool:
    """Whether an entry gives a number, time, amount or address, or tells of an option or a section: no meaning."""
    if _CODE.match(term.strip()) or _NUMBERED.match(term.strip()) or _FIELD.fullmatch(term.strip()):
        return True
    if _LABEL.fullmatch(term.strip(" :")) and not (is_meaning(body) or body[:1].islower()):
        return True
    without = _PHONE.sub(" ", _LINK.sub(" ", body))
    words = [word.casefold() for word in re.findall(r"[^\W\d_]+", without)]
    figures = any(map(str.isdigit, without))
    if all(word in _TIMES or (figures and word in _UNITS) for word in words):
        return True
    return (without != body and len(words) <= 3) or (len(words) <= 16 and _STREET.search(body) is not None)


def is_meaning(body: str) -> bool:
    """Whether a body is a kind of thing or of doing, and no sentence of its own: "The hall opens at nine" is one."""
    near = " ".join(body.split(maxsplit=_REACH)[:_REACH])
    sentence = body[:1].isupper() and STRONGLY_APART.search(near) is None
    return not sentence and (tells_apart(body) or _ACTING.match(body) is not None) and is_phrase(body)
