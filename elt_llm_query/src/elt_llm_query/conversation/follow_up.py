"""Rewrite a follow-up question by rules: "and for juniors?" after a question about seniors.

The search uses the rewritten question, which users see, so that a wrong guess is visible. Each `swap_` function returns
the new question, or an empty text if its rule does not apply.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elt_llm_core.text.languages import load_language
from elt_llm_core.text.normalise import fold, words
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.understanding.patterns import PatternFile
from elt_llm_query.understanding.question import MONTHS, numbers_of, parse_question, question_language

_PATTERNS: Final = PatternFile(__file__)
_ARTICLE, _BOUNDARIES, _PHRASE, _VERB = map(_PATTERNS.part, ("article", "boundaries", "phrase", "verb"))
_SINGULAR: Final = MappingProxyType({"are": "is", "were": "was", "do": "does"})
_CALENDAR: Final = MONTHS.union(*(load_language(code).lists["weekdays"] for code in ("en", "de")))
_MOST_WORDS = 5  # of a fragment with only a code or a number
_SHORT = 5  # words; a longer text without a pronoun or "what about" is a complete question
_SHORT_CONNECTED = 8  # the same, for a text that starts with "and" or "what about"
_FEW_TERMS = 4  # content words; a pronoun in a longer question refers to the question itself
_MOST_TOPIC = 8  # content words that are taken from an earlier question as its topic
_MOST_EXCHANGED = 3  # content words in a new subject; more words form a separate question
_LATIN = re.compile(r"[\da-zA-Z\u00c0-\u024f]")
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


@dataclass(frozen=True)
class EarlierTurn:
    """An earlier turn: its rewritten question, and the topics of its answer, best first."""

    question: str
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class RewrittenQuestion:
    """The question to ask, and the rule that rewrote it. The rule is empty for a complete question."""

    text: str
    rule: str = ""


def _is_verb(fragment: str) -> bool:
    """Return whether a text is a single verb that is hardly ever a noun, such as "buy" or "kaufen"."""
    return any(_PATTERNS[name].fullmatch(fragment) for name in ("sure_verb", "german_infinitive", "german_finite"))


def _is_plural(fragment: str) -> bool:
    """Return whether an English text ends in a plural noun."""
    return bool(_PATTERNS["ends_in_plural"].search(fragment))


def _is_living(fragment: str, language: str) -> bool:
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
    if _is_living(fragment, language):
        found = list(_PATTERNS[_LIVING[language]].finditer(last))
        if len(found) == 1 and found[0]["free"] and _is_alike(found[0]["noun"], fragment, language):
            return _put(fragment, found[0], "noun")
    return ""


def _name_owner(fragment: str, last: str) -> str:
    """Replace "its" or "their" by its noun in an English question: "its discount" gives "the discount of the ticket".

    Return an empty text if there is more in `fragment`, or if it is uncertain which noun is meant.
    """
    possessed = _PATTERNS["possessed"].fullmatch(fragment)
    for place in _OWNER_PLACES if possessed else ():
        match = _PATTERNS[place].search(last)
        if possessed and match and bool(possessed["plural"]) == _is_plural(match["noun"]):
            return f"the {possessed['thing']} of {match['noun']}"
    return ""


def _is_alike(old: str, new: str, language: str) -> bool:
    """Return whether two nouns have articles of the same kind, or none; without an article, both must be plural."""
    kinds = (_PATTERNS[name] for name in _KINDS_OF_NOUN[language])
    return any(kind.fullmatch(old) and kind.fullmatch(new) for kind in kinds)


def _put(fragment: str, match: re.Match[str], group: str) -> str:
    start, end = match.span(group)
    return f"{match.string[:start]}{fragment}{match.string[end:]}"


def swap_label(fragment: str, last: str) -> str:
    """Replace the only code or number in the last question by the one in `fragment`.

    "What does group U-12 cost?" and "and group U-14?" give "What does group U-14 cost?". Return an empty text if
    `fragment` contains a word, apart from the code, that the last question lacks.
    """
    if len(fragment.split()) > _MOST_WORDS:
        return ""

    def codes(text: str) -> tuple[str, ...]:
        """Return the codes in a text, such as "U-14", without the noun before them, such as "group"."""
        return tuple(dict.fromkeys(code[1] for code in _PATTERNS["code"].finditer(text)))

    for labels in (codes, numbers_of):
        now, then = labels(fragment), labels(last)
        if len(now) == 1 and len(then) == 1 and now != then:
            others = words(_without_article(fragment).replace(now[0], " ", 1))
            if set(others) <= set(words(last)):
                before, _, after = last.partition(then[0])
                return f"{before}{now[0]}{after}"
    return ""


def swap_phrase(fragment: str, last: str) -> str:
    """Replace a phrase in the last question by a similar phrase from `fragment`.

    Phrases are similar if they have the same last word, or the same preposition at the start, such as "for seniors" and
    "for juniors". If the fragment starts with question words ("how many for juniors?"), the last question must start
    with the same words.
    """
    asking = _PATTERNS["again"].match(fragment)
    if asking and words(last)[: len(asking[1].split())] == words(asking[1]):
        fragment = fragment[asking.end() :]
    fragment = _substitute_noun(fragment, last)
    for part, pattern in (_match_ending(fragment), _match_start(fragment, question_language(last))):
        matches = list(re.finditer(pattern, last, re.IGNORECASE)) if pattern else []
        if matches:
            return _replace_span(last, *matches[-1].span(), part)
    return ""


def swap_time(fragment: str, last: str) -> str:
    """Replace the time in the last question, such as "last year", by `fragment`; append `fragment` if there is none."""
    if not _PATTERNS["time"].fullmatch(fragment):
        return ""
    times = list(_PATTERNS["time"].finditer(last))
    if not times:
        return f"{last.rstrip('?!. ')} {fragment}?"
    return f"{last[: times[-1].start()]}{fragment}{last[times[-1].end() :]}"


def swap_limit(fragment: str, last: str) -> str:
    """Replace the only limit in the last question, such as "up to 9 metres", by `fragment`: "above 9 metres"."""
    now, limits = _PATTERNS["limit"].fullmatch(fragment), list(_PATTERNS["limit"].finditer(last))
    if not now or len(limits) != 1 or (now["unit"] and fold(now["unit"]) != fold(limits[0]["unit"] or "")):
        return ""
    return f"{last[: limits[0].start()]}{fragment}{last[limits[0].end('unit' if now['unit'] else 'number') :]}"


def swap_name(fragment: str, last: str) -> str:
    """Replace a name in the last question: "Where is Lily Chan?" and "Ben Okafor" give "Where is Ben Okafor?".

    A name with "the" replaces the only name with "the". Without "the", a name replaces the only name without it, if
    both have at least two words or the old name follows "of" at the end: "Acme" and "Christmas" are of different kinds.
    Return an empty text if `fragment` is not only a name, or if there is no such name or several.
    """
    now, names = _only_name(fragment, last), _names_in(last)
    alike = [name for name in names if now and bool(name["article"]) == bool(now["article"])]
    if not now or len(alike) != 1:
        return ""
    start, end = alike[0].span()
    are_full = " " in now["name"] and " " in alike[0]["name"]
    ends_in_of = last[:start].endswith(" of ") and not words(last[end:])
    return _replace_span(last, start, end, now[0]) if now["article"] or are_full or ends_in_of else ""


def _only_name(fragment: str, last: str) -> re.Match[str] | None:
    """Return the match of the name that is the whole fragment, without "'s". The language is that of `last`."""
    name = _PATTERNS["name"].fullmatch(_PATTERNS["possessive_name"].sub("", fragment))
    return name if name and _is_name(name, question_language(last)) else None


def _names_in(last: str) -> list[re.Match[str]]:
    language = question_language(last)
    return [name for name in _PATTERNS["name"].finditer(last) if _is_name(name, language)]


def _is_name(match: re.Match[str], language: str) -> bool:
    """Return whether capitalised words are a name, not an abbreviation, month, weekday or first word of a question.

    German nouns are capitalised too, so a German name has at least two words.
    """
    parts, before = match["name"].split(), match.string[: match.start()]
    titled = [part for part in parts if part[0].isupper()]  # without "van" and "de"
    if match["name"].isupper() or any(_PATTERNS["function"].fullmatch(part) for part in titled):
        return False
    if all(fold(part).rstrip("s") in _CALENDAR for part in parts):
        return False
    if language == "de":
        return len(parts) > 1 and (not before or bool(_PATTERNS["before_german_name"].search(before)))
    return len(parts) > 1 or bool(before) or match.end() == len(match.string)


def _match_ending(fragment: str) -> tuple[str, str]:
    """Return the fragment without a preposition, and a pattern for phrases that end in its last word.

    "for the day pass" gives "the day pass" and a pattern that matches "the week pass" in the last question. The pattern
    is "" if the fragment has only one word, or starts with a question word.
    """
    opening = _PATTERNS["preposition"].match(fragment)
    part = fragment[opening.end(1) :].lstrip() if opening else fragment
    bare = _without_article(part).split()
    if len(bare) < 2 or _PATTERNS["asks"].match(part):
        return part, ""
    return part, rf"(?:\b{_ARTICLE}\s+)?(?:\b(?!{_BOUNDARIES}\b)[\w-]+\s+)?\b{re.escape(bare[-1])}\b"


def _match_start(fragment: str, language: str) -> tuple[str, str]:
    """Return the fragment without an article, and a pattern for phrases that start with its preposition.

    "for men" gives "for men" and a pattern that matches "for boys" in the last question, whose language is `language`.
    The pattern is "" if the fragment does not start with a preposition.
    """
    bare = _without_article(fragment)
    opening = _PATTERNS["preposition"].match(bare)
    if not opening:
        return fragment, ""
    word = re.escape(opening[1])
    if language == "de":
        return bare, _german_phrases(word, bare)
    # A phrase with an article is replaced only at the end of the question: elsewhere it may be the topic.
    return bare, rf"\b{word}\s+{_PHRASE}|\b{word}\s+{_ARTICLE}\s+{_PHRASE}(?=\W{{0,3}}$)"


def _german_phrases(preposition: str, phrase: str) -> str:
    """Return a pattern for German phrases with a preposition and as many nouns in a row as `phrase` has at its end.

    The verb after the nouns is no part of the phrase. A phrase with an article is followed by nothing but the verb.
    """
    nouns = _PATTERNS["last_nouns"].search(phrase)
    further = len(nouns[0].split()) - 1 if nouns else 0
    with_noun = rf"{_PATTERNS.part('german_noun_phrase')}(?:\s+{_PATTERNS.part('german_noun')}){{0,{further}}}"
    at_end = rf"{_ARTICLE}\s+{with_noun}{_PATTERNS.part('german_end')}|[\w'-]+(?=\W{{0,3}}$)"
    return rf"\b{preposition}\s+(?:{with_noun}|{at_end})"


def swap_subject(fragment: str, last: str) -> str:
    """Replace the subject: "What does a loan cost?" and "a transfer" give "What does a transfer cost?".

    A name is not inserted into a question that has names: the subject may be of another kind than the name. A verb is
    no subject.
    """
    other_name = _only_name(fragment, last) and _names_in(last)
    is_other = any(_PATTERNS[name].match(fragment) for name in ("preposition", "asks"))
    if other_name or is_other or _is_verb(fragment):
        return ""
    for name in ("english", "who", "german_auxiliary", "german"):
        if match := _PATTERNS[name].match(last):
            start, end = match.span("subject")
            if not _fits_subject(fragment, match["subject"], question_language(last)):
                return ""
            replaced = _replace_span(last, start, end, fragment)
            if re.match(r"an?\s", fragment, re.IGNORECASE):  # "are" becomes "is" before a singular
                return _PATTERNS["plural_verb"].sub(lambda verb: _SINGULAR[verb[1]], last[:start]) + replaced[start:]
            return replaced
    # "What is the fee for the sauna?" contains two nouns that "the pool" could replace.
    match = _PATTERNS["what_is"].match(last) if re.match(r"the\b", fragment, re.IGNORECASE) else None
    if match and not re.search(r"\bthe\b", last[match.end() :], re.IGNORECASE):
        return _replace_span(last, *match.span("subject"), fragment)
    return ""


def _fits_subject(fragment: str, subject: str, language: str) -> bool:
    """Return whether a fragment may replace a subject.

    "Transfers" does not fit the article of "a loan", and only a person or an animal replaces "I".
    """
    if _PATTERNS["actor"].fullmatch(subject):
        return _is_living(fragment, language)
    article = _PATTERNS["leading_article"].match(subject)
    if not article or _PATTERNS["leading_article"].match(fragment):
        return True
    return language == "en" and (article[0].strip().lower() == "the" or not _is_plural(fragment))


def swap_question_word(asking: str, last: str) -> str:
    """Replace the question words: "When is the draw made?" and "where" give "Where is the draw made?"."""
    head = _PATTERNS["head"].match(last)
    return f"{asking[:1].upper()}{asking[1:]} {last[head.end() :].rstrip('?!. ')}?" if head else ""


def _without_article(fragment: str) -> str:
    return _PATTERNS["leading_article"].sub("", fragment)


def _substitute_noun(fragment: str, last: str) -> str:
    """Replace "one" by the last noun of the last question: after "What does a ticket cost?", it means "ticket"."""
    if not _PATTERNS["one"].search(fragment):
        return fragment
    match = _PATTERNS["english"].match(last)
    nouns = re.findall(r"[\w-]+", match["subject"] if match and re.search(rf"\b{_VERB}\W*$", last) else last)
    return _PATTERNS["one"].sub(nouns[-1], fragment)


def _replace_span(last: str, start: int, end: int, fragment: str) -> str:
    """Replace last[start:end] by the fragment, but keep its article: "transfer" for "a loan" gives "a transfer"."""
    old = last[start:end].rstrip()
    end = start + len(old)
    article, has_article = _PATTERNS["leading_article"].match(old), bool(_PATTERNS["leading_article"].match(fragment))
    if article and not has_article and not _PATTERNS["preposition"].match(fragment):
        fragment = f"{article[0]}{fragment}"
    fragment = _PATTERNS["an"].sub(
        lambda match: f"{match[1]}{'n' if _PATTERNS['sounded'].match(match[3]) else ''}{match[2]}", fragment
    )
    return f"{last[:start]}{fragment}{last[end:]}"


def rewrite_by_rules(question: str, before: Sequence[EarlierTurn]) -> RewrittenQuestion:
    """Rewrite a question so that it needs no earlier turn. `before` lists the earlier turns, oldest first."""
    text = " ".join(question.split())
    rest, connected = _without_connective(text)
    if not before or not words(rest):
        return RewrittenQuestion(text)  # no earlier turn, or no question, such as "thanks"
    last = before[-1]
    tokeniser = KeywordTokeniser(question_language(last.question))
    asking = fold(rest).strip(" ?!.")
    if any(_PATTERNS[name].fullmatch(asking) for name in ("asking", "asking_which")):  # such as "since when"
        swapped = swap_question_word(rest.rstrip("?!. "), last.question)
        rule = "other asking words in the same question"
        return RewrittenQuestion(swapped, rule) if swapped else _add_topic(rest, last, tokeniser)
    if not _depends_on_earlier(rest, connected, tokeniser):
        return RewrittenQuestion(text)
    if _has_open_pronoun(rest, tokeniser):
        return _add_topic(rest, last, tokeniser)
    # A few words without a question mark or a preposition at the start, such as "for", may be a complete search.
    may_be_search = (
        not rest.endswith("?") and not _PATTERNS["preposition"].match(rest) and len(_content(rest, tokeniser)) > 1
    )
    is_search = not connected and may_be_search
    # A single word is capitalised at the start of a text, whether it is a name or not.
    may_be_name = connected or (not is_search and " " in rest)
    swapped_part = _swap_part(rest, last, tokeniser, may_be_subject=not is_search, may_be_name=may_be_name)
    return swapped_part or (RewrittenQuestion(text) if is_search else _append_fragment(rest, last, tokeniser))


def _swap_part(
    rest: str, last: EarlierTurn, tokeniser: KeywordTokeniser, *, may_be_subject: bool, may_be_name: bool
) -> RewrittenQuestion | None:
    """Apply the first rule whose result contains all words of the follow-up. Return None if there is no such rule."""
    fragment = rest.rstrip("?!. ")
    rules = [
        ("another code or number in the same question", swap_label),
        ("another limit in the same question", swap_limit),
        ("another time in the same question", swap_time),
        ("another phrase in the same question", swap_phrase),
    ]
    if may_be_name:
        rules.append(("another name in the same question", swap_name))
    if may_be_subject and not _has_verb(fragment) and len(_content(fragment, tokeniser)) <= _MOST_EXCHANGED:
        rules += [
            ("another verb in the same question", swap_verb),
            ("another noun in the same question", swap_noun),
            ("another subject of the same question", swap_subject),
        ]
    named = {word for name in parse_question(fragment, tokeniser).names for word in words(name)}
    stems = set(tokeniser.stems(fragment)) - set(tokeniser.stems("one ones"))
    for rule, swap in rules:
        swapped = swap(fragment, last.question)
        if swapped and named <= set(words(swapped)) and stems <= set(tokeniser.stems(swapped)):
            return RewrittenQuestion(swapped, rule)
    return None


def _without_connective(text: str) -> tuple[str, bool]:
    """Remove "and", "what about" and "please". Also return whether the text started with "and" or "what about"."""
    rest, connected = text, False
    for name in ("connective", "about", "connective"):
        shorter = _PATTERNS[name].sub("", rest, count=1)
        connected |= shorter != rest
        rest = shorter
    return _PATTERNS["polite"].sub("", rest).strip(" ,.;"), connected


def _depends_on_earlier(rest: str, connected: bool, tokeniser: KeywordTokeniser) -> bool:
    if " " in rest and not _LATIN.search(rest):  # the patterns know no other script
        return False
    if _has_open_pronoun(rest, tokeniser):
        return len(_content(rest, tokeniser)) <= _FEW_TERMS
    if len(rest.split()) > (_SHORT_CONNECTED if connected else _SHORT) or (
        not connected and _PATTERNS["defined"].match(rest)
    ):
        return False
    # A question with its own subject is complete.
    whole = bool(_PATTERNS["whole"].match(rest))
    named = (whole or not connected) and bool(parse_question(rest, tokeniser).names)
    asks = _has_verb(rest) or (whole and named) or (not connected and bool(_PATTERNS["asking_things"].match(rest)))
    return bool(_PATTERNS["noun_missing"].match(rest)) or not (asks and (named or len(_content(rest, tokeniser)) > 1))


def _content(text: str, tokeniser: KeywordTokeniser) -> list[str]:
    """Return the words of a text except stopwords and question words. The adjective in "how tall" is kept."""
    content = text if _PATTERNS["measured"].match(text) else _PATTERNS["asks"].sub("", text)
    return [word for word in content.split() if tokeniser.stems(word)]


def _has_verb(rest: str) -> bool:
    return parse_question(rest).kind != "other" or bool(_PATTERNS["reasons"].match(fold(rest)))


def _has_open_pronoun(rest: str, tokeniser: KeywordTokeniser) -> bool:
    """Return whether a pronoun, as in "what does it cost?", refers to an earlier turn, not to a word of this text."""
    if _PATTERNS["demonstrative"].search(fold(rest)) or (_has_verb(rest) and _PATTERNS["besides"].search(rest)):
        return len(_content(rest, tokeniser)) < _FEW_TERMS
    if possessive := _PATTERNS["possessive"].search(rest):
        return not (_content(rest[: possessive.start()], tokeniser) and len(_content(rest, tokeniser)) > 2)
    pronoun, has_one = _PATTERNS["pronoun"].search(rest), _PATTERNS["one"].search(rest.rstrip("?!. "))
    # In a phrase such as "a youth one", "one" means the noun of the last question.
    is_phrase = has_one and not _PATTERNS["asks"].match(rest) and len(rest.split()) <= _MOST_WORDS
    if pronoun is None or is_phrase:
        return False
    # A pronoun may refer to a name before it, or to the subject of an earlier clause.
    before = rest[: pronoun.start()]
    clauses = list(_PATTERNS["clause"].finditer(before, 1))
    has_subject = bool(clauses) and len(_content(before[: clauses[-1].start()], tokeniser)) > 1
    return not (has_subject or parse_question(before, tokeniser).names)


def _add_topic(rest: str, last: EarlierTurn, tokeniser: KeywordTokeniser) -> RewrittenQuestion:
    """Append a topic in brackets: the last question's content words or, if it has none, the topic of its answer."""
    surfaces = parse_question(_PATTERNS["measure"].sub("", last.question), tokeniser).surfaces
    content = dict.fromkeys(word for word in surfaces if not _PATTERNS["asking"].fullmatch(fold(word)))
    topic = " ".join(list(content)[:_MOST_TOPIC]) or next(iter(last.topics), "")
    if owner := _name_owner(rest.rstrip("?!. "), last.question):
        return RewrittenQuestion(f"What about {owner}?", "with the last topic")
    if not topic:
        return RewrittenQuestion(rest)
    return RewrittenQuestion(f"{rest.rstrip('?!. ')} ({topic})?", "with the last topic")


def _append_fragment(rest: str, last: EarlierTurn, tokeniser: KeywordTokeniser) -> RewrittenQuestion:
    """Append words that replace nothing for certain.

    Before them comes "what about", so that the question means nothing else. After a question for "yes" or "no", only
    its topic is kept: its answer would be that of the earlier question.
    """
    if _has_verb(rest):
        return _add_topic(rest, last, tokeniser)
    added = rest.rstrip("?!. ")
    asked = last.question.rstrip("?!. ")
    rule = "the last question, about this"
    if set(words(added)) <= set(words(last.question)):
        return RewrittenQuestion(last.question, rule)
    if _PATTERNS["preposition"].match(rest) and not _PATTERNS["ends_in_phrase"].search(asked):
        return RewrittenQuestion(f"{asked}, {added}?", rule)
    about = "und" if question_language(asked) == "de" else "what about"
    if parse_question(asked).kind == "yes_no":
        return _add_topic(f"{about.capitalize()} {added}", last, tokeniser)
    return RewrittenQuestion(f"{asked}: {about} {added}?", rule)
