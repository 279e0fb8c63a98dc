"""Clauses of German rules, where the verb stands last: "Das Mitglied muss dem Vorstand den Beitrag zahlen"."""

from collections.abc import Sequence

from elt_llm_consumer.handbook.grammar import NEGATIONS, PREPOSITIONS
from elt_llm_consumer.handbook.phrases import Phrases
from elt_llm_consumer.handbook.targets import Target
from elt_llm_consumer.handbook.tokens import Word

GERMAN_MODALS = frozenset({"muss", "müssen", "darf", "dürfen", "soll", "sollen", "kann", "können"})
_PREPOSITIONS = PREPOSITIONS | {"an"}
_OBLIGED = frozenset({"muss", "müssen"})
_ENDINGS = ("en", "ern", "eln")


def verb_last(words: Sequence[Word], modal: int, phrases: Phrases) -> tuple[str, bool, tuple[Target, ...], int] | None:
    """The verb behind a German modal verb, whether it is denied, its targets, and where its clause ends.

    None if the clause does not end in an infinitive, and for "muss nicht", which demands nothing.
    """
    end = next((place for place in range(modal + 1, len(words)) if words[place].stop), len(words))
    verb = words[end - 1]
    denied = any(word.low in NEGATIONS for word in words[modal:end])
    if verb.capital or not verb.low.endswith(_ENDINGS) or end - 1 == modal:
        return None
    if denied and words[modal].low in _OBLIGED:
        return None
    return verb.low, denied, tuple(_targets(words[: end - 1], modal + 1, phrases)), end


def _targets(words: Sequence[Word], place: int, phrases: Phrases) -> list[Target]:
    found: list[Target] = []
    by = ""
    while place < len(words):
        phrase = phrases.read(words, place)
        if words[place].low in _PREPOSITIONS or phrase is None:
            by = words[place].low if words[place].low in _PREPOSITIONS else by
            place += 1
            continue
        found += [Target(phrase, by)] if phrase.words[-1].capital else []
        by, place = "", phrase.last
    return found
