"""Enumerations of states, such as "is ordered, in use, lost or scrapped": told by their form, not by known words."""

import re
from dataclasses import dataclass

_COPULA = re.compile(r"(?<!\w)(?:is|are|ist|sind)\s{1,3}(?:(?:either|always|marked|shown as|entweder)\s{1,3})?")
_LONGEST = 300
_ENDS = re.compile(r"[.;:!?()](?:\s|$)|[\n|]")
_BETWEEN = re.compile(r",\s{1,3}(?:or\s{1,3}|oder\s{1,3})?|\s{1,3}(?:or|oder)\s{1,3}")
_OR = re.compile(r"\s(?:or|oder)\s")
_LEAST, _MOST_WORDS = 3, 4
_BEGIN_PLACES = frozenset(
    {"in", "on", "at", "under", "out", "off", "with", "without", "awaiting", "not", "no"}
    | {"auf", "unter", "außer", "nicht"}
)
# What is named with an article, a number or a pronoun is a thing; what has a doer or a verb of its own is an act.
_NO_STATE = re.compile(
    r"[\d\"\u201c\u201d*_`]|(?:^|\s)(?:of|to|than)$|(?<!\w)(?:a|an|one|two|its|their|his|her|it|they|by|must|may|shall|should|can|will|is|are|has|have|be|not\s"
    r"more|less|than|ein|eine|einen|von|durch|muss|darf)(?!\w)",
    re.IGNORECASE,
)
_NAMES_THING = re.compile(r"^(?:the|der|die|das)\s", re.IGNORECASE)
_OFTEN = re.compile(r"\w{2,20}ly$")
_OF_STATE = re.compile(
    r"(?<!\w)(?:state|status|stage|condition|phase|Zustand|Stand)\s{1,3}(?:of|von)(?:\s\w{1,6})?\s{1,3}$"
)
_CONDITION = re.compile(
    r"(?<!\w)(?:if|when|whenever|where|unless|until|wenn|falls|bis)(?:\s{1,3}\w{1,10}){0,2}\s{1,3}$", re.IGNORECASE
)
_BRACKETS = re.compile(r"^\s{0,3}(?:\([^()]{1,80}\)\s{0,3})?$")


@dataclass(frozen=True)
class States:
    """The words text[begins:end] say in which states something may be; its name stands before `copula`."""

    copula: int
    begins: int
    end: int


def states_in(text: str) -> list[States]:
    """Every "is a, b or c" of three or more adjectives, participles or places, in order.

    Things ("a grower, a miller or a baker"), frequencies, several places of one act ("sent to the ward, to the
    clinic or to the house") and what someone does ("or refused by the clerk") are none.
    """
    found = []
    for met in _COPULA.finditer(text):
        rest = text[met.end() : met.end() + _LONGEST]
        ends = _ENDS.search(rest)
        listed = rest[: ends.start()] if ends else rest
        if _OR.search(listed) and _are_states(_BETWEEN.split(listed)):
            found.append(States(met.start(), met.end(), met.end() + len(listed)))
    return found


def own_states(text: str, end: int) -> States | None:
    """The enumeration of which a mention that ends at `end` is the subject."""
    for states in states_in(text):
        if _BRACKETS.match(text[end : states.copula]) if end <= states.copula else False:
            return states
    return None


def names_state_of(before: str) -> bool:
    """Whether the words before a mention say that its state is spoken of: "the status of a "."""
    return bool(_OF_STATE.search(before))


def is_condition(before: str) -> bool:
    """Whether the words before a mention begin a condition: "if a Card is lost, stolen or found" lists no states."""
    return bool(_CONDITION.search(before))


def _are_states(items: list[str]) -> bool:
    words = [item.split() for item in items]
    if len(items) < _LEAST or any(not 1 <= len(one) <= _MOST_WORDS for one in words):
        return False
    if any(_NO_STATE.search(item) or _NAMES_THING.match(item) or item[:1].isupper() for item in items):
        return False
    if all(_OFTEN.match(one[-1]) or _is_plural(one) for one in words):
        return False
    return not _are_places_of_one_act(words)


def _is_plural(words: list[str]) -> bool:
    last = words[-1]
    return words[0] not in _BEGIN_PLACES and last.endswith("s") and not last.endswith(("ss", "us"))


def _are_places_of_one_act(words: list[list[str]]) -> bool:
    """As in "sent to the office, to the store or to the house": the first item has what the others begin with."""
    beginnings = {one[0] for one in words[1:]}
    return len(beginnings) == 1 and len(words[1]) > 1 and beginnings <= set(words[0][1:])
