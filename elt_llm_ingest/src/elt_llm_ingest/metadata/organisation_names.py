"""Names of organisations within one run of capitalised words, by legal form or by head noun."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from elt_llm_core.text.stopwords import stopwords_of

from elt_llm_ingest.metadata.name_runs import Run, Word
from elt_llm_ingest.metadata.organisation_words import (
    ALWAYS,
    BELONGINGS,
    GENERIC,
    GERMAN_ENDINGS,
    GERMAN_HEADS,
    GERMAN_HYPHENATED,
    GERMAN_KINDS,
    GERMAN_PLACED,
    GERMAN_STATE,
    GERMAN_STATE_ENDINGS,
    HEADS,
    HEADS_BEFORE_OF,
    LEGAL_FORMS,
    LONG_HEADS,
    NEEDED_BEFORE,
    NEVER,
    NO_FIELD,
    NOT_JOINED,
    PARTNERS,
    PROPER_ANYWAY,
    SINGLE_HEADS,
    STARTERS,
    SURELY_FRENCH,
    THINGS,
)

_OF = frozenset({"of", "for", "de", "des", "der", "du", "für"})
_OF_ENGLISH = frozenset({"of", "for"})
_AND = frozenset({"and", "und", "et", "&"})
_ARTICLES = frozenset({"the", "a", "an", "der", "die", "das", "den", "dem", "des", "le", "la", "les", "un", "une"})
_PLACES_BEFORE_OF = frozenset({"City", "Borough", "County", "Friends"})
_ADJECTIVE = ("e", "en", "er", "es", "em")
_DETERMINERS = (
    _ARTICLES
    | {*("each", "every", "any", "no", "both", "this", "that", "such", "our", "your")}
    | {*("their", "its", "his", "her", "my", "these", "those", "some")}
)
# "Iran's Ministry of ...": the possessor of a body of the state is none of its name.
_OF_A_STATE = frozenset({"National", "Federal", "Central", "Supreme", "Ministry", "Department", "European", "State"})
_GERMAN_NOUN_ENDINGS = ("ung", "ungen", "heit", "keit", "schaft", "tion", "tionen")
_SHORTEST_HEADING = 7  # letters of a heading in capitals, such as "FUNDING"
_LONGEST_NUMBER = 5  # characters
_PLURALS = frozenset({"Women", "Men", "Children", "People"})
_SUBJECTLESS = frozenset({"Board", "Committee", "Panel", "Management"})


@dataclass(frozen=True)
class Name:
    """Words [first, last] of a run; `head` is the place of the word that tells it is an organisation."""

    first: int
    head: int
    last: int


def names_of(run: Run, language: str) -> Iterator[Name]:
    """The names in a run, from left to right, not overlapping."""
    words, first, place = run.words, 0, 0
    if len(words) == 1 and language != "de":
        return
    while place < len(words):
        name = _name_at(run, first, place, language)
        if name is not None:
            if name.last + 1 < len(words) and words[name.last + 1].text in LEGAL_FORMS:
                name = Name(name.first, name.head, name.last + 1)
            yield name
            first = place = name.last + 1
            continue
        if _closes(words, place):
            first = place + 1
        place += 1


def _name_at(run: Run, first: int, place: int, language: str) -> Name | None:
    word = run.words[place]
    if not word.capitalised:
        return None
    first = trimmed(run, first, place)
    if word.text in LEGAL_FORMS or (word.text in PARTNERS and run.words[place - 1].text == "&"):
        return Name(first, place, place) if first < place else None
    if word.text in HEADS or word.text in LONG_HEADS or word.text in HEADS_BEFORE_OF:
        return _named_by_head(run, first, place)
    if word.text in SURELY_FRENCH and place + 1 < len(run.words) and run.words[place + 1].capitalised:
        return Name(place, place, _group_end(run.words, place) or place)
    return _german(run.words, first, place) if language == "de" else None


def _named_by_head(run: Run, first: int, head: int) -> Name | None:
    words = run.words
    if _goes_on(words, head):
        return None
    if words[head].text in NOT_JOINED:
        first = max([first, *(place + 1 for place in range(first, head) if words[place].text in _AND)])
    before = [word.text for word in words[first:head] if word.capitalised]
    last = _field_end(words, head) if words[head].text in HEADS_BEFORE_OF else head
    if last > head:
        return Name(first, head, last)
    return Name(first, head, head) if _is_proper(before, words[head].text, in_office=run.in_office) else None


def _is_proper(before: Sequence[str], head: str, *, in_office: bool) -> bool:
    """Whether these words make a head a name of its own rather than a kind of body."""
    name = " ".join([*before, head])
    if name in ALWAYS:
        return True
    if head not in HEADS | LONG_HEADS or name in NEVER or before[-1:] == ["Box"]:
        return False
    company_group = head == "Group" and len(before) == 1 and before[0].isupper() and len(before[0]) > 1
    if len(before) < (2 if head in LONG_HEADS and not (in_office or company_group) else 1):
        return False
    if head in NEEDED_BEFORE and before[-1] not in NEEDED_BEFORE[head]:
        return False
    return not GENERIC.issuperset(before) or (head in PROPER_ANYWAY and before[-1] == "National")


def _goes_on(words: Sequence[Word], head: int) -> bool:
    """Whether a further capitalised word follows: a "Committee Room" is no committee."""
    if words[head].possessive or head + 1 == len(words) or not words[head + 1].capitalised:
        return False
    return words[head + 1].text not in BELONGINGS


def _field_end(words: Sequence[Word], head: int) -> int:
    """The last word of "of ..." after a head; the head itself where nothing of the kind follows."""
    if words[head].possessive or head + 2 >= len(words) or words[head + 1].text not in _OF:
        return head
    end = _group_end(words, head + 1)
    if end is None or words[head + 2].text in NO_FIELD:
        return head
    if GENERIC.issuperset(word.text for word in words[head + 2 : end + 1] if word.capitalised):
        return head
    if words[end].text in THINGS:
        return head + 2
    single = words[head].text in SINGLE_HEADS
    links = _OF_ENGLISH if words[head + 1].text in _OF_ENGLISH else _OF
    while end + 2 < len(words) and not words[end].possessive:
        link = words[end + 1].text
        doubled = link in _AND and words[end + 2].text in {"für", "for"}  # "des Innern und für Heimat"
        further = _group_end(words, end + 2 if doubled else end + 1)
        if further is None or (link in _AND and (single or _has_head(words[end + 1 : further + 1]))):
            break
        if link not in _AND and link not in links:
            break
        end = further
    return end


def _group_end(words: Sequence[Word], link: int) -> int | None:
    """The last of the capitalised words that follow a link and perhaps an article; None if none does."""
    place = link + 1
    while place < len(words) and words[place].text in _ARTICLES:
        place += 1
    end = None
    while place < len(words) and words[place].capitalised:
        end, place = place, place + 1
        if words[end].possessive and words[end].text not in _PLURALS:
            break
    return end


def _has_head(words: Sequence[Word]) -> bool:
    if words[1].text in _ARTICLES:
        return True
    return len(words) > 2 and any(
        word.text in HEADS or word.text in LONG_HEADS or word.text in LEGAL_FORMS for word in words
    )


def _closes(words: Sequence[Word], place: int) -> bool:
    """Whether nothing before this small word belongs to a name after it."""
    word = words[place]
    if word.capitalised:
        return word.possessive and word.text in HEADS | LONG_HEADS
    if word.text in _OF:
        return words[place - 1].text not in _PLACES_BEFORE_OF
    return word.text in _ARTICLES and place > 0


def trimmed(run: Run, first: int, head: int) -> int:
    """The first word of the name: articles dropped, and what merely begins the sentence."""
    words = run.words
    while first < head:
        word = words[first]
        lowered = word.text.lower()
        dropped = not word.capitalised or lowered in _DETERMINERS or _is_possessor(words, first, head)
        dropped = dropped or _is_number(word.text) or word.text.endswith("artei")
        dropped = dropped or (
            len(word.text) >= _SHORTEST_HEADING and word.text.isupper() and not words[head].text.isupper()
        )
        if first == 0 and run.opens and not word.text.isupper():
            dropped = dropped or word.text in STARTERS or lowered in _stopwords()
        if not dropped:
            break
        first += 1
    return first


def _german(words: Sequence[Word], first: int, head: int) -> Name | None:
    text = words[head].text
    if (introduced := _introduced(words, head)) is not None:
        return introduced
    if text.lower().endswith(GERMAN_PLACED) and _goes_on(words, head):
        start = head
        while _is_adjective(words, start - 1, first):
            start -= 1
        return Name(start, head, head + 1)
    if text.removesuffix("s").removesuffix("e").startswith(GERMAN_STATE) and _ends_as_of_state(text):
        return Name(first if _is_adjective(words, head - 1, first) else head, head, _field_end(words, head))
    if text.endswith(GERMAN_HYPHENATED) and not text.startswith(("IT-", "Ethik-")):
        return Name(head, head, _field_end(words, head))
    bare = text.removesuffix("s")
    if not {text, bare} & GERMAN_HEADS and not (bare.endswith(GERMAN_ENDINGS) and len(bare) > 6):
        return None
    start = head
    while _is_adjective(words, start - 1, first):
        start -= 1
    last = _field_end(words, head)
    if text in {"Universität", "Hochschule"} and start == head and _goes_on(words, head):
        last = head + 1
    if text == "Partei" and _goes_on(words, head) and words[head + 1].text.endswith("s"):
        last = head + 1  # Partei Deutschlands
    return Name(start, head, last) if start < head or last > head else None


def _is_adjective(words: Sequence[Word], place: int, first: int) -> bool:
    return place >= first and words[place].capitalised and words[place].text.endswith(_ADJECTIVE)


def _introduced(words: Sequence[Word], kind: int) -> Name | None:
    """The name right after a German kind of body, as in "die Softwarefirma X"; not "die Partei Europas"."""
    if not words[kind].text.lower().endswith(GERMAN_KINDS) or kind + 1 == len(words):
        return None
    following = words[kind + 1]
    if not following.capitalised or following.text.endswith(("s", *_GERMAN_NOUN_ENDINGS)) or words[kind].possessive:
        return None
    return Name(kind + 1, kind + 1, _group_end(words, kind) or kind + 1)


def _ends_as_of_state(text: str) -> bool:
    return text.endswith(GERMAN_STATE_ENDINGS) or text.removesuffix("s").removesuffix("e").endswith(
        GERMAN_STATE_ENDINGS
    )


def _is_possessor(words: Sequence[Word], place: int, head: int) -> bool:
    """Whether this word's possessive belongs before a name that is whole without it: "the UK's National Bank"."""
    word = words[place]
    if not word.possessive or place + 1 >= head + (words[place + 1].text in _OF_A_STATE):
        return False
    return (word.text.isupper() and len(word.text) > 1) or words[place + 1].text in _OF_A_STATE


def _is_number(text: str) -> bool:
    """Whether it numbers a heading, such as "J3" or "H1.1"."""
    return len(text) <= _LONGEST_NUMBER and text[0].isupper() and text[1:].replace(".", "").isdigit()


@cache
def _stopwords() -> frozenset[str]:
    return stopwords_of("en") | stopwords_of("de") | stopwords_of("fr")
