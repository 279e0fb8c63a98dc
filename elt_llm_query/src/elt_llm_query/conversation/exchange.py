"""Replace a verb or a noun of the last question by that of a follow-up: "and buy?", "and cats?".

A word is exchanged only if its kind is certain, and if it can replace only one word. Otherwise the functions return an
empty text.
"""

import re
from typing import Final

from elt_llm_query.understanding.patterns import PatternFile
from elt_llm_query.understanding.question import question_language

_PATTERNS: Final = PatternFile(__file__)
_NOUN_PLACES: Final = {
    "en": ("plural_subject", "acting_subject", "single_subject", "object", "activity"),
    "de": ("german_only_noun", "german_object"),
}
_KINDS_OF_NOUN: Final = {
    "en": ("definite_plural", "definite", "indefinite", "bare", "activity_only"),
    "de": ("german_definite", "german_indefinite", "german_bare"),
}
_LIVING: Final = {"en": "living", "de": "german_living"}
_OWNER_PLACES: Final = ("last_of", "single_subject", "plural_subject", "acting_subject", "only_subject", "object")


def is_verb(fragment: str) -> bool:
    """Return whether a text is a single verb that is hardly ever a noun, such as "buy" or "kaufen"."""
    return any(_PATTERNS[name].fullmatch(fragment) for name in ("sure_verb", "german_infinitive", "german_finite"))


def is_plural(fragment: str) -> bool:
    """Return whether an English text ends in a plural noun."""
    return bool(_PATTERNS["ends_in_plural"].search(fragment))


def is_living(fragment: str, language: str) -> bool:
    """Return whether a text contains a person or an animal, such as "the guests"."""
    return bool(_PATTERNS[_LIVING[language]].search(fragment))


def swap_verb(fragment: str, last: str) -> str:
    """Replace the verb: "Can I sell things?" and "buy" give "Can I buy things?".

    A verb that may also be a noun, such as "drink", replaces only a verb at the end, after a pronoun.
    """
    if question_language(last) == "de":
        rules = (("german_infinitive", "german_last_verb"), ("german_finite", "german_second_verb"))
    else:
        rules = (("sure_verb", "verb_after_subject"), ("verb_or_noun", "last_verb"))
    for kind, place in rules:
        if _PATTERNS[kind].fullmatch(fragment) and (match := _PATTERNS[place].search(last)):
            return _put(fragment, match, "verb")
    return ""


def swap_noun(fragment: str, last: str) -> str:
    """Replace the only noun of a simple question: "How strong are trolls?" and "elves" give "How strong are elves?".

    In other questions, a person or an animal replaces the only person or animal. Both nouns need the same kind of
    article, or none, and an attribute such as "fees" replaces no noun.
    """
    language = question_language(last)
    if _PATTERNS["attribute"].search(fragment):
        return ""
    for place in _NOUN_PLACES[language]:
        match = _PATTERNS[place].search(last)
        if match and _is_alike(match["noun"], fragment, language):
            return _put(fragment, match, "noun")
    if is_living(fragment, language):
        found = list(_PATTERNS[_LIVING[language]].finditer(last))
        if len(found) == 1 and found[0]["free"] and _is_alike(found[0]["noun"], fragment, language):
            return _put(fragment, found[0], "noun")
    return ""


def name_owner(fragment: str, last: str) -> str:
    """Replace "its" or "their" by its noun in an English question: "its discount" gives "the discount of the ticket".

    Return an empty text if there is more in `fragment`, or if it is uncertain which noun is meant.
    """
    possessed = _PATTERNS["possessed"].fullmatch(fragment)
    for place in _OWNER_PLACES if possessed else ():
        match = _PATTERNS[place].search(last)
        if possessed and match and bool(possessed["plural"]) == is_plural(match["noun"]):
            return f"the {possessed['thing']} of {match['noun']}"
    return ""


def _is_alike(old: str, new: str, language: str) -> bool:
    """Return whether two nouns have articles of the same kind, or none; without an article, both must be plural."""
    kinds = (_PATTERNS[name] for name in _KINDS_OF_NOUN[language])
    return any(kind.fullmatch(old) and kind.fullmatch(new) for kind in kinds)


def _put(fragment: str, match: re.Match[str], group: str) -> str:
    start, end = match.span(group)
    return f"{match.string[:start]}{fragment}{match.string[end:]}"
