"""Find organisations in text by the form of their names, by acronyms and by lists, without a language model."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from elt_llm_core.text.stems import stopwords_of

ORGANISATIONS_VERSION = 3  # increase this number whenever the same text could yield other names

_Span = tuple[int, int]


_LISTS = {
    name: frozenset(words.split() if isinstance(words, str) else words)
    for name, words in tomllib.loads(files(__package__).joinpath("organisations.toml").read_text("utf-8")).items()
}
_HEADS = _LISTS["heads"]
_HEADS_BEFORE_OF = _HEADS | _LISTS["long_heads"] | _LISTS["field_heads"]
_GERMAN_ENDINGS = tuple(_LISTS["german_endings"])
_LEGAL_FORM_AFTER = re.compile(
    r",? (?:Inc\b\.?|Ltd\b\.?|LLC\b|LLP\b|Corp\b\.?|plc\b|e\. ?V\.|S\.A\.(?:S\.)?|S\.p\.A\.|s\.r\.o\.|d\.o\.o\."
    r"|B\.V\.|N\.V\.|& Co\. KG(?:aA)?)"
)
_LEGAL_FORM_BEFORE = re.compile(
    r"\b(?:UAB|AB|MB|VšĮ|IĮ|OOO) [\u201e\"\u201c\u00ab][^\"\u201d\u201c\u00bb\n]{2,60}[\"\u201d\u201c\u00bb]"
)
_GERMAN_STATE = ("Bundes", "Landes", "Reichs")

_ARTICLES = _LISTS["articles"]
_DETERMINERS = _ARTICLES | _LISTS["determiners"]
_OF = _LISTS["of"]
_ENGLISH_OF = frozenset({"of", "for"})
_AND = _LISTS["and"]

_UPPER = "[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĢĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŹŻŽ]"
# The text after the first letter: the rest of "U.S.", of "St.", or of a word.
_WORD_REST = r"[\w&'\u2019]{0,40}(?:[-\u2010\u2011]\w{1,40}|\u2013[A-Z]\w{1,40}){0,3}"
_REST = rf"(?:\.(?:{_UPPER}\.){{1,4}}|(?<=S)t\.|(?<=D)r\.|(?<=M)r\.|(?<=B)ros\.|{_WORD_REST})"
_CAPITALISED = rf"(?:(?:anti-|non-|inter-)?{_UPPER}{_REST})"
_LINK = r"(?:of|the|for|and|&|de|des|der|du|la|le|les|an?|für|und|et|\d{1,3})"
# A run of words continues on the next line only after a full line of prose.
_SPACE = r"(?: |(?<=[^\n|]{45})[ ]?\r?\n[ ]{0,8})"
# The pattern starts with the letter itself, so that the search skips everything that cannot start a run.
_RUN = re.compile(
    rf"{_UPPER}(?<![\w@/.#$\\-]{_UPPER}){_REST}(?:{_SPACE}(?:{_LINK}{_SPACE}){{0,2}}{_CAPITALISED}){{0,14}}"
)
_RUN_WORD = re.compile(r"[^\s]{1,200}")
_FIELD = rf"{_CAPITALISED}(?: {_CAPITALISED}){{0,3}}"
_LIST_OF_FIELDS = re.compile(rf" (?:of|for)(?: the)? {_FIELD}(?:, {_FIELD}){{1,4}},? (?:and|&) {_FIELD}")
_HEADING_NUMBER = re.compile(r"[A-Z][\d.]{0,4}")
_SENTENCE_END = ".!?:;|\n\u2022*#"

_ACRONYM_AFTER = re.compile(r"\s?\([\"\u201c]?(?P<name>[A-Z][A-Za-z&.-]{1,9}(?: [A-Z]{2,8})?)[\"\u201d]?[);,]")
_ACRONYM_BEFORE = re.compile(r"(?<![\w-])(?P<name>[A-Z][A-Za-z&]{1,9}) \((?:the )?$")
# An entry in a list of abbreviations.
_ABBREVIATED = re.compile(r"(?<![\w-])(?P<name>[A-Z]{2,8})(?: \||:|\t| [-\u2013]) $")
_BEFORE_RUN = 40  # characters before a run that are searched for the end of a sentence
_ACRONYM_REACH = 20  # characters before a name that are searched for its acronym
_ACTING_ACRONYM = re.compile(
    r"(?<![\w-])(?!(?:API|CEO|CFO|CTO|MP|USA|UK|US|USSR|NOTE|GP|II|III|IV)\b)(?P<name>[A-Z]{2,6})"
    r" (?:announced|said|reported|recommends|recommended|published|decided|ruled|appointed|acquired|launched)\b"
)
_GERMAN_CASE = re.compile(r"(?:e[nrms]?|s)\b")


class _Word(NamedTuple):
    """One of several consecutive words that may form a name: text[start:end] without a possessive ending."""

    start: int
    end: int
    text: str
    possessive: bool

    @property
    def capitalised(self) -> bool:
        """Whether the word has a capital letter, unlike a linking word such as "of"."""
        return not self.text.islower() and not self.text.isdigit() and self.text != "&"


@dataclass(frozen=True)
class _Run:
    """Consecutive words such as "Ministry of Health". `opens` is true if they start a sentence, line or cell."""

    text: str
    words: tuple[_Word, ...]
    opens: bool
    language: str

    def names(self) -> Iterator[_Span]:
        """Yield the spans of names such as "Finance Committee" or "Hill Ltd", from left to right, without overlaps."""
        first = number = 0
        while number < len(self.words):
            name = self._name_at(first, number) if self.words[number].capitalised else None
            if name is not None:
                start, last = name
                if last + 1 < len(self.words) and self.words[last + 1].text in _LISTS["legal_forms"]:
                    last += 1
                yield self._span(start, number, last)
                first = number = last + 1
                continue
            if self._closes_name(number):
                first = number + 1
            number += 1
        # A legal form (such as Ltd) in small letters or after a comma is not part of the run.
        last = len(self.words) - 1
        if first <= last and (form := _LEGAL_FORM_AFTER.match(self.text, self.words[last].end)):
            joined = [place + 1 for place in range(first, last) if self.words[place].text in {"and", "und", "et"}]
            yield self.words[self._trimmed(joined[-1] if joined else first, last)].start, form.end()

    def _span(self, first: int, head: int, last: int) -> _Span:
        end = self.words[last].end
        if self.words[head].text in _LISTS["listing_heads"] and (
            fields := _LIST_OF_FIELDS.match(self.text, self.words[head].end)
        ):
            end = max(end, fields.end())
        form = _LEGAL_FORM_AFTER.match(self.text, end)
        return self.words[first].start, form.end() if form else end

    def _name_at(self, first: int, head: int) -> tuple[int, int] | None:
        """Return the indexes of a name's first and last word if its head noun ("Committee") is at `head`, or None."""
        word, first = self.words[head].text, self._trimmed(first, head)
        if word in _LISTS["legal_forms"] or (head and word in _LISTS["partners"] and self.words[head - 1].text == "&"):
            return (first, head) if first < head else None
        if word in _HEADS_BEFORE_OF and not self._continues(head):
            last = self._field_end(head)
            return (first, last) if last > head or self._is_proper(first, head) else None
        if self.language == "fr" and word in _LISTS["french_heads"] and (last := self._field_end(head)) > head:
            return head, last
        return self._german_name(first, head) if self.language == "de" else None

    def _is_proper(self, first: int, head: int) -> bool:
        """Return whether the words before a head noun make it a name: "Finance Committee", unlike "a committee"."""
        word = self.words[head].text
        before = [other.text for other in self.words[first:head] if other.capitalised]
        name = " ".join([*before, word])
        if name in _LISTS["always"]:
            return True
        if (
            name in _LISTS["never"]
            or word not in _HEADS | _LISTS["long_heads"]
            or len(before) < 1 + (word in _LISTS["long_heads"])
        ):
            return False
        return not _LISTS["generic"].issuperset(before)

    def _german_name(self, first: int, head: int) -> tuple[int, int] | None:
        """Return the indexes of the first and last word of a German name such as "Bundesamt" or "Amt für Statistik"."""
        bare = self.words[head].text.removesuffix("s").removesuffix("e")
        if not bare.lower().endswith(_GERMAN_ENDINGS):
            return None
        start, last = head, self._field_end(head)
        while start > first and self.words[start - 1].text.endswith(("e", "en", "er", "es", "em")):
            start -= 1
        compound = bare.startswith(_GERMAN_STATE) or bare.endswith(("-Gesellschaft", "-Institut", "-Stiftung"))
        return (start, last) if compound or start < head or last > head else None

    def _continues(self, head: int) -> bool:
        """Return whether a capitalised word follows the head noun: a "Committee Room" is not a committee."""
        if self.words[head].possessive or head + 1 == len(self.words) or not self.words[head + 1].capitalised:
            return False
        return self.words[head + 1].text not in _LISTS["belongings"]

    def _field_end(self, head: int) -> int:
        """Return the index of the last word of the field of work ("of Public Health") after a head noun, or `head`."""
        words, end = self.words, head
        links = _OF
        while end + 2 < len(words) and not words[end].possessive:
            link = words[end + 1].text
            if link not in links:
                break
            further = self._group_end(end + 1)
            field = [word.text for word in words[end + 2 : (further or 0) + 1] if word.capitalised]
            if further is None or (end == head and _LISTS["generic"].issuperset(field)):
                break
            if link in _AND and len(field) > 1 and not _HEADS.isdisjoint(field):
                break
            if end == head:  # later linking words are in the language of the first
                links = _ENGLISH_OF if link in _ENGLISH_OF else _OF
                links = links if words[head].text in _LISTS["single_heads"] else links | _AND
            end = further
        return end

    def _group_end(self, link: int) -> int | None:
        """Return the index of the last capitalised word after "of" ("Health" in "of the Public Health"), or None."""
        number = link + 1
        while number < len(self.words) and self.words[number].text in _ARTICLES:
            number += 1
        end = None
        while number < len(self.words) and self.words[number].capitalised:
            end, number = number, number + 1
            if self.words[end].possessive:
                break
        return end

    def _closes_name(self, number: int) -> bool:
        """Return whether the next name can only start after this word, as after "the", "of" or "Committee's"."""
        word = self.words[number]
        if word.capitalised:
            return word.possessive and word.text in _HEADS
        return word.text in _OF or (word.text in _ARTICLES and number > 0)

    def _trimmed(self, first: int, head: int) -> int:
        """Return the index of the name's first word, after articles, heading numbers and words that open a sentence."""
        for number in range(first, head):
            word = self.words[number]
            dropped = not word.capitalised or word.text.lower() in _DETERMINERS
            dropped = dropped or bool(_HEADING_NUMBER.fullmatch(word.text) and len(word.text) > 1)
            if number == 0 and self.opens and not word.text.isupper():
                dropped = dropped or word.text in _LISTS["starters"] or word.text.lower() in _stopwords()
            if not dropped:
                return number
        return head


@cache
def _stopwords() -> frozenset[str]:
    return stopwords_of("en") | stopwords_of("de") | stopwords_of("fr")


def _runs(text: str, language: str) -> Iterator[_Run]:
    for match in _RUN.finditer(text):
        before = text[max(0, match.start() - _BEFORE_RUN) : match.start()].rstrip(" \t\"'(\u201c\u201e\u00ab")
        words = tuple(_read_word(piece, match.start()) for piece in _RUN_WORD.finditer(match[0]))
        yield _Run(text, words, not before or before[-1] in _SENTENCE_END, language)


def _read_word(piece: re.Match[str], offset: int) -> _Word:
    text = piece[0].removesuffix("'s").removesuffix("\u2019s")
    start = offset + piece.start()
    return _Word(start, start + len(text), text, possessive=text != piece[0])


def organisations_in(text: str, language: str) -> list[str]:
    """Return the names of organisations in the order of first mention, each once, without "the" and the final "'s".

    An acronym that the text introduces for a name is returned as a separate name. `language` is a code such as "de".
    """
    spans = [*_well_known_spans(text), *(match.span("name") for match in _ACTING_ACRONYM.finditer(text))]
    spans += (match.span() for match in _LEGAL_FORM_BEFORE.finditer(text))
    for run in _runs(text, language):
        for span in run.names():
            spans += [span, *_acronym_spans(text, *span)]
    unique: dict[str, str] = {}
    reached = -1
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= reached:  # a span within a longer name is part of that name
            name = " ".join(text[start:end].split())
            key = name.casefold().replace("\u2019", "'").replace(" & ", " and ")
            unique.setdefault(_GERMAN_CASE.sub("", key) if language == "de" else key, name)
            reached = end
    return list(unique.values())


def _acronym_spans(text: str, start: int, end: int) -> Iterator[_Span]:
    """Yield the spans of a name's acronyms: in brackets after it, right before it, or in a list of abbreviations."""
    if (match := _ACRONYM_AFTER.match(text, end)) and sum(map(str.isupper, match["name"])) >= 2:
        yield match.span("name")
    offset = max(0, start - _ACRONYM_REACH)
    before = text[offset:start]
    initials = "".join(word[0] for word in text[start:end].split() if word[0].isupper())
    match = _ACRONYM_BEFORE.search(before)
    if not match and (listed := _ABBREVIATED.search(before)) and listed["name"] == initials:
        match = listed
    if match and sum(map(str.isupper, match["name"])) >= 2:
        yield offset + match.start("name"), offset + match.end("name")


_WORD = re.compile(r"\w+")


class OrganisationList:
    """Finds listed names in texts. Names are looked up by their first word, so that long lists are fast too."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_first: dict[str, list[str]] = defaultdict(list)
        for name in sorted({" ".join(name.split()) for name in names}, key=lambda name: (-len(name), name)):
            if first := _WORD.search(name):
                self._by_first[first.group()].append(name)

    def spans(self, text: str) -> Iterator[_Span]:
        """Yield the spans of names that occur as whole words. If several match at the same word, yield the longest."""
        if not self._by_first:
            return
        for word in _WORD.finditer(text):
            for name in self._by_first.get(word.group(), ()):
                start = word.start() - name.index(word.group())
                end = start + len(name)
                if start >= 0 and text[start:end] == name and not text[end : end + 1].isalnum():
                    yield start, end
                    break


_WELL_KNOWN = OrganisationList(_LISTS["well_known"] | _LISTS["well_known_names"])
_COMPANIES = OrganisationList(_LISTS["companies"])
_IN_ADDRESS = frozenset("@/.#$\\-")
# Text after an acronym that belongs to the name of a standard or law: "ISO 9001", "Regulation (EU) 2016/679".
_DOCUMENT_NUMBER = re.compile(r"(?:-[\da-z]| \d|\) (?:No\.? )?\d{2}|/[A-Z0-9]|: [A-Z]{4}\b)")
_FURTHER_NAME = re.compile(rf" {_UPPER}|-[a-z]")


def _well_known_spans(text: str) -> Iterator[_Span]:
    for names, product in ((_WELL_KNOWN, _DOCUMENT_NUMBER), (_COMPANIES, _FURTHER_NAME)):
        for start, end in names.spans(text):
            if (not start or text[start - 1] not in _IN_ADDRESS) and not product.match(text, end):
                yield start, end
