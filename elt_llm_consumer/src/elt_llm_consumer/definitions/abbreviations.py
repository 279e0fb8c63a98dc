"""Find abbreviations and terms in brackets: "Annual General Meeting (AGM)", "the officer (the 'Registrar')".

The letters of abbreviations are compared as in A. Schwartz and M. Hearst, "A simple algorithm for identifying
abbreviation definitions in biomedical text", Pacific Symposium on Biocomputing 2003. From right to left, each letter of
the short form must occur in the long form. The first letter must be at the start of a word.
"""
# ruff: noqa: RUF001 - look-alike quotes and dashes occur in documents.

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final

from elt_llm_core.text.languages import word_pattern
from elt_llm_core.text.normalise import fold
from elt_llm_query.grounding.sentences import TextPiece

from elt_llm_consumer.definitions.definition import DefinitionDraft
from elt_llm_consumer.definitions.layout import DocumentLayout, trim_definition
from elt_llm_consumer.definitions.subject import skip_labels
from elt_llm_consumer.definitions.vocabulary import DISTINGUISHING, FINITE, STRUCTURE, pattern
from elt_llm_consumer.sentences.words import PREPOSITIONS, has_verb_with_object, word_list

_BRACKET: Final = pattern("abbreviation_in_brackets")
_ABBREVIATED: Final = pattern("abbreviated_to")
_SHORT = re.compile(r"[^\W\d_](?:[\w&/+-]{0,10}[\w+]|(?:\.[^\W\d_]){1,8}\.?)$")
_WORD = re.compile(r"\S+")
_BEFORE = re.compile(r"(?<![\w&-])([^\W\d_][\w&/-]{1,10})[\"”'’*_]{0,3}\s*$")
_LONG_WORD = re.compile(r"(?<![\w-])([A-ZÄÖÜ][a-zäöüß]{11,49})[\"”“*_]{0,3}\s*$")
_PART = re.compile(r"[^\W_][^\s/-]{0,40}")
_SURE = 0.9
_REACH = 200  # maximum characters before a bracket that are searched for the long form
_MAX_SHORT_FORM = 10
_ARTICLES: Final = word_list("skipped_in_initials")
# "Regulation (EU) 2024/1689", "Regulation (EC) No 765/2008": the bracket is part of the name of a law.
_OF_CITATION = re.compile(r"\s{1,3}(?:No\.?\s{1,3}|Nr\.?\s{1,3})?\d")
_SENTENCE = re.compile(r"[.;:!?|]\s|\n\s*\n")


def find_abbreviations(layout: DocumentLayout) -> Iterator[DefinitionDraft]:
    """Yield a possible definition for each short form with a long form nearby: the long form defines the short form."""
    text = layout.text
    yield from _unbracketed_abbreviations(text)
    for bracket in _BRACKET.finditer(text):
        if layout.is_contents(text[bracket.start() : bracket.end() + 8]) or _OF_CITATION.match(text, bracket.end()):
            continue
        inner, begin = bracket[1].strip(), bracket.start(1)
        if is_short_form(inner):
            left = _clause_start(text, bracket.start())
            before = _without_address(text[left : bracket.start()])
            long = long_form(inner, before) or _compound(inner, before)
            if long is not None:
                yield DefinitionDraft(
                    (begin, begin + len(inner)), (left + long[0], left + long[1]), "abbreviation", _SURE
                )
        elif " " in inner:
            short = _BEFORE.search(text, max(0, bracket.start() - 40), bracket.start())
            if short and is_short_form(short[1]):
                long = long_form(short[1], inner)
                if long == (0, len(inner)):
                    yield DefinitionDraft(short.span(1), (begin, begin + len(inner)), "abbreviation", _SURE)


def _compound(short: str, before: str) -> tuple[int, int] | None:
    """Return the span of a compound at the end of `before`, such as "Verteilnetzbetreiber" for "VNB", or None.

    Each letter of the short form must be followed by at least two other letters, and the last one by three.
    """
    word = _LONG_WORD.search(before)
    parts = r"\w{2,20}".join(map(re.escape, short.casefold())) + r"\w{3,20}"
    fits = word and 3 <= len(short) <= 5 and short.isalpha() and re.fullmatch(parts, word[1].casefold())
    return word.span(1) if word and fits else None


def _unbracketed_abbreviations(text: str) -> Iterator[DefinitionDraft]:
    """Yield definitions whose short form is not in brackets: "the site controller, abbreviated to SC, signs"."""
    for found in _ABBREVIATED.finditer(text):
        short = found[1].rstrip(".,")
        left = _clause_start(text, found.start())
        long = long_form(short, text[left : found.start()]) if is_short_form(short) else None
        if long is not None:
            yield DefinitionDraft(
                (found.start(1), found.start(1) + len(short)), (left + long[0], left + long[1]), "abbreviation", _SURE
            )


def _clause_start(text: str, end: int) -> int:
    """Return the start of the clause that ends at `end`, at most 200 characters before."""
    left = max(0, end - _REACH)
    return max((found.end() for found in _SENTENCE.finditer(text, left, end)), default=left)


def is_short_form(word: str) -> bool:
    """Return whether a word is short and has enough capitals for an abbreviation: two, and half of its letters."""
    if not _SHORT.match(word) or len(word) > _MAX_SHORT_FORM or not word[0].isalpha():
        return False
    capitals = sum(map(str.isupper, word))
    letters = sum(map(str.isalpha, word))
    return capitals >= 2 and capitals * 2 > letters - 1


def long_form(short: str, before: str) -> tuple[int, int] | None:
    """Return the span of the shortest long form of `short` in `before`, such as "General Meeting" for "GM", or None."""
    letters = [sign.casefold() for sign in short.removesuffix("s") if sign.isalnum()]
    text = before.rstrip(" \t\n\"“”*_,'’‘")
    words = list(_WORD.finditer(text))
    # A. Schwartz and M. Hearst search at most this number of words.
    most = min(len(letters) + 5, len(letters) * 2)
    words = words[-most:]
    if not words:
        return None
    initials = _by_initials(text, words, letters)
    if initials is not None:
        return initials, len(text)
    place, lowest = len(text), words[0].start()
    folded = text.casefold()
    if len(folded) != len(text):
        return None
    for number in range(len(letters) - 1, -1, -1):
        place -= 1
        while place >= lowest and (
            folded[place] != letters[number] or (not number and place and text[place - 1].isalnum())
        ):
            place -= 1
        if place < lowest:
            return None
    return _checked_long_form(text, place, letters)


def _by_initials(text: str, words: list["re.Match[str]"], letters: list[str]) -> int | None:
    """Return the start of the longest word sequence whose initials form the short form. Articles may be skipped."""
    parts = [part for word in words for part in _PART.finditer(text, word.start(), word.end())]
    best = None
    for part in reversed(parts):
        if part.group()[0].casefold() == letters[0] and part.start() + len(letters) < len(text):
            bearing = [one.group() for one in parts if one.start() >= part.start()]
            initials = [one[0].casefold() for one in bearing if one.casefold() not in _ARTICLES]
            all_initials = [one[0].casefold() for one in bearing]
            if part.group().casefold() in _ARTICLES and letters != all_initials:
                continue
            exact = letters in (initials, all_initials)
            inner = len(initials) > 1 and len(initials) + 1 >= len(letters) and letters_follow(initials, letters)
            if exact or (inner and letters_follow(letters, text[part.start() :].casefold())):
                best = part.start()
    return best if best is not None and "\n\n" not in text[best:] else None


def letters_follow(wanted: Iterable[str], signs: Iterable[str]) -> bool:
    """Return whether `signs` contain all of the wanted letters in order."""
    left = iter(signs)
    return all(one in left for one in wanted)


def _without_address(before: str) -> str:
    text = before.rstrip()
    begin = text.rfind("](")
    return text[:begin] if text.endswith(")") and begin > 0 and " " not in text[begin:] else before


def _checked_long_form(text: str, start: int, letters: list[str]) -> tuple[int, int] | None:
    """Return the span of the long form that starts at `start`, or None if it does not fit the short form.

    A long form has two or more words, at most one more than the short form has letters. It does not contain the short
    form, and at least half of the short form's letters are initials of its words.
    """
    long = text[start:]
    words = [word for word in re.split(r"[\s/-]+", long) if word]
    bearing = [word for word in words if word.casefold() not in _ARTICLES]
    initials = "".join(word.strip("\"“*_('")[:1].casefold() for word in bearing)
    hits = sum(letter in initials for letter in letters)
    joined = "".join(letters)
    named = joined in [word.casefold().strip("()") for word in words]
    if len(long) <= len(joined) or named or any(sign in long for sign in ("\n\n", "/", ")")):
        return None
    if len(bearing) < 2 or len(bearing) > len(letters) + 1 or hits * 2 < len(letters):
        return None
    return start, len(text)


_TERM: Final = pattern("term_in_brackets")
_CAPITALS: Final = pattern("capitals_in_brackets")
_FURTHER_NAME: Final = pattern("further_name_in_brackets")
_DETERMINER: Final = pattern("bracket_determiner")
_VERB: Final = pattern("bracket_verb")
_RELATIVE = re.compile(r"(?:who|which|that|whom|whose|where|when)$", re.IGNORECASE)
_BREAK = re.compile(r"(?:[;:]|[.)])$")
# The end of another definition in brackets, in an enumeration: 'the Act ("Act"), their rules (the "Rules")'.
_BREAK_OR_TERM = re.compile(r"(?:[;:]|[.)]|[\"”’'*]\),)$")
_NOT_FIRST: Final = pattern("bracket_not_first")
_WITH_INFINITIVE: Final = pattern("noun_with_infinitive")
_COMPLEMENT = re.compile(r"(?:of|to|from|for|by|in|on|with)$")
_UNSURE: Final = pattern("bracket_unsure")
# "„Daten“ alle Angaben": a list item that starts with a term and its meaning
_ITEM_TERM = re.compile(r"[„“\"][^\"“”„\n]{1,90}[“”\"]\s(?=[a-zäöü])")
_COMPANY: Final = pattern("company_name")
_COMPANY_WORD: Final = re.compile(r"Gesellschaft|Unternehmen|Firma|Company")
_GERMAN_CLAUSE: Final = pattern("german_clause")
_ANY = re.compile(r"\(\s*an?\s", re.IGNORECASE)
_PLACE: Final = pattern("bracket_place")
# "such Contributor (the 'Seller')" refers to a meaning elsewhere; "grants, free of charge, to any person (the 'User')".
_SUCH = word_pattern(r"\b@such@\s(?:[A-ZÄÖÜ][\w-]{1,30}\s{1,3}){1,3}$")
_TO_ANY = word_pattern(r",\s{1,3}@before_recipient@\s{1,3}(?P<who>@any_one@\s)")
_THIS = word_pattern(r"@this@$", re.IGNORECASE)
_MAX_WORDS = 60
_MAX_NAME = 3  # words of a name in capitals
_MAX_BEFORE_NAME = 4  # maximum words between a determiner and the words of a term
_LABEL_LENGTH = 12  # maximum characters of a rule number before a sentence
_PLAIN_NAME = re.compile(r"[^\W\d_][\w'’ &-]{1,60}$")
_INTRODUCED: Final = pattern("bracket_introduced")


def find_bracketed_terms(layout: DocumentLayout) -> Iterator[DefinitionDraft]:
    """Yield the definitions that put the term after its meaning: "the officer (the 'Registrar')"."""
    text = layout.text
    for piece in layout.pieces:
        if piece.kind in ("prose", "item") and any(sign in piece.text for sign in ("(", "called", "as ", "here")):
            yield from _unquoted_terms(layout, piece)
            for found in _TERM.finditer(text, piece.start, piece.end):
                name = found.lastgroup or ""
                body = _company_before(text, piece.start, found) or _meaning_before(text, piece, found)
                before = text[max(0, found.start() - _REACH) : found.start()]
                # `find_abbreviations` finds the terms that are short forms of the words before the bracket.
                spelt_out = found["a"] is None or long_form(found[name], before) is not None
                if body is None or (is_short_form(found[name]) and spelt_out):
                    continue
                if _is_introduced(found[0], found[name]) or (
                    " " in found[name] and _opens_sentence(text[slice(*body)], body[0] - piece.start)
                ):
                    further = tuple(_FURTHER_NAME.findall(text, found.end(name), found.end()))
                    unsure = _is_unsure(text, piece, body, found[name])
                    yield DefinitionDraft(found.span(name), body, "brackets", 0.85, aliases=further, unsure=unsure)


def _is_unsure(text: str, piece: TextPiece, body: tuple[int, int], name: str) -> bool:
    """Return whether the meaning before a bracket may start elsewhere: "a letter from [a member] (the 'Notice')".

    It may if the meaning has a verb with an object ("the clerk sent a letter"), or the noun of the term only after its
    first preposition: "the agreement to lease [the park] (the 'Park')". It does not if the meaning is a name, or has
    that noun before its first preposition: "[a member] (the 'Member')". It may after "or", as the meaning may be the
    whole list: "the hall or [a part of the yard] (a 'Let Space')".
    """
    meaning = text[slice(*body)].split()
    if text[piece.start : body[0]].split()[-1:] in (["or"], ["oder"]):
        return True
    noun = " ".join(_before_preposition(name.split()))
    own = " ".join(takewhile(lambda word: not _RELATIVE.match(word), meaning))
    if FINITE.search(own) or (own.isupper() and not name.isupper()) or (own.isupper() and len(meaning) > _MAX_NAME):
        return True
    if _GERMAN_CLAUSE.match(text, *body) or has_verb_with_object(
        list(takewhile(lambda word: not _RELATIVE.match(word), meaning))
    ):
        return True
    if _has_last_word(_before_preposition(meaning), noun) or all(word[:1].isupper() for word in meaning[1:]):
        return False
    if _has_last_word(meaning, noun):
        return True
    return _start_with_infinitive(meaning, name) is not None or _UNSURE.search(text, piece.start, body[0]) is not None


def _before_preposition(words: Sequence[str]) -> list[str]:
    return [*words[:1], *takewhile(lambda word: word.casefold() not in PREPOSITIONS, words[1:])]


def _has_last_word(words: Sequence[str], name: str) -> bool:
    return name.rsplit(maxsplit=1)[-1].casefold() in map(str.casefold, words)


def _start_with_infinitive(words: Sequence[str], name: str) -> int | None:
    """Return the index of the first word of a noun phrase with an infinitive: "permission from a client to collect".

    Return None if there is none, if it follows "has", or if the last word of `name` is after its noun: then the meaning
    may be inside of it, as in "permission to see a client (the 'Client')".
    """
    for noun, (word, after) in enumerate(pairwise(words)):
        if not _WITH_INFINITIVE.match(word) or not _COMPLEMENT.match(after) or _has_last_word(words[noun + 1 :], name):
            continue
        pairs = list(pairwise(words[noun:]))
        verb = any(to == "to" and bare.islower() and not _DETERMINER.match(bare) for to, bare in pairs)
        if verb and not any(to != "to" and _VERB.match(bare) for to, bare in pairs):
            near = takewhile(lambda place: _may_precede(words[place]), range(noun - 1, max(-1, noun - 4), -1))
            start = next((place for place in near if _DETERMINER.match(words[place])), noun)
            return None if start and words[start - 1] in ("has", "have", "had", "having") else start
    return None


def _may_precede(word: str) -> bool:
    """Return whether a word may be before the noun in a noun phrase: "the", "written", but not "for" or "holds"."""
    return bool(_DETERMINER.match(word)) or (word.islower() and not _NOT_FIRST.match(word) and not _VERB.match(word))


def _meaning_before(text: str, piece: TextPiece, found: "re.Match[str]") -> tuple[int, int] | None:
    """Return the span of the meaning before a bracket: "the officer" in "He informs the officer (the Registrar)"."""
    end = found.start()
    begin = skip_labels(text, piece.start, end)
    begin = quoted.end() if (quoted := _ITEM_TERM.match(text, begin, end)) else begin
    words = list(_WORD.finditer(text, begin, end))
    name = found[found.lastgroup or 0]
    start, sentence, related = 0, 0, False
    ended = _BREAK if _first_party(words) is not None else _BREAK_OR_TERM
    for number, word in enumerate(words):
        bare = word.group().strip('"“”,()*_')
        if _RELATIVE.match(bare):
            related = True
        elif _VERB.match(bare) and not related:
            start = number + 1
        elif _VERB.match(bare):
            related = _RELATIVE.match(words[number - 1].group()) is None and related
        if (
            ended.search(word.group())
            and number + 1 < len(words)
            and not (word.group().endswith(")") and _OF_CITATION.match(text, word.end()))
        ):
            start = sentence = number + 1
            related = False
    # "Directive 5 of 11 May concerning practices in the market ('Market Practices Directive')": the title starts with
    # the last word of its short name, although words such as "May", which can be verbs, follow.
    *others, kind = name.split()
    if others and kind[:1].isupper():
        start = next((number for number in range(sentence, start) if words[number].group() == kind), start)
    first = _start_with_infinitive([word.group().strip('"“”,()*_') for word in words[sentence:]], name)
    first = _first_party(words) if first is None else sentence + first
    if first is None:
        first = _first_word_of_meaning(words, _start_of_same_name(words, start, found), found)
    recipients = [] if first is None else list(_TO_ANY.finditer(text, words[first].start(), end))
    if recipients:
        first = bisect_left(words, recipients[-1].start("who"), key=lambda word: word.start())
    if first is None or len(words) - first > _MAX_WORDS or _is_no_meaning(text[words[first].start() : end], name):
        return None
    return trim_definition(text, words[first].start(), words[-1].end())


def _is_no_meaning(body: str, name: str) -> bool:
    """Return whether a text before a bracket is only a place, "such Seller", or a word that is not like the name."""
    place, leading = _PLACE.search(body), [word.casefold() for word in body.split()[:3]]
    numbered = place is not None and (len(body[: place.start()].split()) < 3 or not STRUCTURE.isdisjoint(leading))
    return numbered or _SUCH.search(body) is not None or (len(leading) == 1 and fold(name) not in fold(body))


def _company_before(text: str, begin: int, found: "re.Match[str]") -> tuple[int, int] | None:
    """Return the span of a company's name directly before a bracket: "Hill Wasser GmbH (nachfolgend „Gesellschaft“)".

    Return None unless the term is a word for a company, or if such a word is before the name too.
    """
    name = found[found.lastgroup or 0]
    company = _COMPANY.search(text, max(begin, found.start() - _REACH), found.start())
    if company is None or not _COMPANY_WORD.fullmatch(name) or fold(name) in fold(text[begin : company.start()]):
        return None
    return company.span("name")


def _first_party(words: "list[re.Match[str]]") -> int | None:
    """Return the index of the first word of the party's name before a bracket, as in "between Hill Water Ltd (...)"."""
    before = next((number for number in reversed(range(len(words))) if not words[number].group()[:1].isupper()), None)
    if before is None or before + 2 >= len(words) or words[before].group().casefold() not in ("between", "zwischen"):
        return None
    return before + 1


def _start_of_same_name(words: "list[re.Match[str]]", start: int, found: "re.Match[str]") -> int:
    """Return the index at which the meaning starts if the text before the bracket repeats the term; else `start`.

    In "signed the Charter of Rights of the Union ('Charter')", the text repeats the term "Charter". The meaning starts
    with the determiner before it: the first "the".
    """
    term = found[found.lastgroup or 0].split()
    plain = [word.group().strip("\"“”‘’',()*_") for word in words]
    for number in range(len(words) - len(term), start, -1):
        if plain[number : number + len(term)] == term:
            named = all(word[:1].isupper() for word in plain[number:]) and any(map(str.islower, plain))
            if named and number + len(term) < len(plain):
                return number - bool(_DETERMINER.match(plain[number - 1]))  # "the name of Hill Inc. ('Hill')"
            before = range(number, max(start, number - _MAX_BEFORE_NAME) - 1, -1)
            return next((place for place in before if _DETERMINER.match(plain[place])), start)
    return start


def _first_word_of_meaning(words: "list[re.Match[str]]", start: int, found: "re.Match[str]") -> int | None:
    """Return the index of the first word of the meaning before a bracketed term; None if no word can start a meaning.

    The first word is a determiner or a capitalized word. In "The Board appoints an officer (the 'Registrar')", it is
    "an", if `start` is the index after the verb: the words before `start` are ignored.
    """
    begins = [
        number
        for number, word in enumerate(word.group() for word in words)
        if number >= start and (_DETERMINER.match(word.strip('"“”,()*_')) or word.lstrip('"“(*_')[:1].isupper())
    ]
    if not begins:
        return None
    if _ANY.match(found[0]):
        kind = next((number for number in reversed(begins) if _is_kind(words, number)), None)
        whole = begins[0] == 0 and words[0].group().casefold() in ("the", "each", "every", "any", "all")
        return 0 if kind is None and whole and len(words) > 2 else kind
    if _NOT_FIRST.match(words[begins[0]].group().strip(',"“(')):
        if _THIS.match(words[begins[0]].group()) and begins[1:] == list(range(begins[0] + 1, len(words))):
            return begins[0]  # "This Hill Road Licence (the 'Licence')"
        joined = takewhile(lambda pair: pair[0] - pair[1] == 1, pairwise(reversed(begins[1:])))
        nearest = min((number for _, number in joined), default=begins[-1])  # "Hill Tools Limited" is one name
        article = next((number for number in reversed(begins) if _DETERMINER.match(words[number].group())), nearest)
        return article if article > begins[0] and not _NOT_FIRST.match(words[article].group()) else None
    return begins[0]


def _is_kind(words: "list[re.Match[str]]", number: int) -> bool:
    """Return whether the article at this index starts a noun with distinguishing words, such as "a person who pays"."""
    rest = " ".join(word.group() for word in words[number + 1 :])
    part = number > 0 and words[number - 1].group().casefold() in ("with", "of", "by", "as")
    kind = words[number].group().casefold() in ("a", "an") and DISTINGUISHING.search(rest) is not None
    return kind and not part and FINITE.search(rest.split(" that ")[0].split(" which ")[0].split(" who ")[0]) is None


def _unquoted_terms(layout: DocumentLayout, piece: TextPiece) -> Iterator[DefinitionDraft]:
    """Yield definitions with an unquoted term in brackets: capitalized words, or one that occurs again later."""
    text = layout.text
    for found in _CAPITALS.finditer(text, piece.start, piece.end):
        body = _meaning_before(text, piece, found)
        again = " " in found["a"] or re.search(rf"\b{re.escape(found['a'])}\b", text[found.end() :]) is not None
        if body is not None and again and not is_short_form(found["a"]) and _opens_sentence(text[slice(*body)], 0):
            yield DefinitionDraft(found.span("a"), body, "brackets", 0.8)


def _opens_sentence(body: str, place: int) -> bool:
    """Return whether the text before a bracket is a noun phrase at the start of its sentence: "work handed in late"."""
    long = len(body.split()) > 3 and DISTINGUISHING.search(body) is not None
    return long and place < _LABEL_LENGTH and FINITE.search(re.split(r"\s(?:that|which|who)\s", body)[0]) is None


def _is_introduced(whole: str, name: str) -> bool:
    """Return whether a name follows an article or a word such as "called", or all its longer words are capitalized."""
    if not _PLAIN_NAME.match(name):
        return False
    capital = all(word[:1].isupper() for word in name.split() if len(word) > 3 or name == word)
    return bool(_INTRODUCED.match(whole)) or capital
