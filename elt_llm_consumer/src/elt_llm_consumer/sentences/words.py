"""Split sentences into words, look up function words and verb forms, and find listed cue words."""
# ruff: noqa: SIM905 - word lists are easier to read as text.

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, Literal

from elt_llm_core.text.languages import alternatives
from elt_llm_core.text.languages import words as language_words

_WORD = re.compile(r"[^\W_]+(?:[-_\u2010\u2011/.][^\W_]+){0,6}(?:(?<=n)['\u2019]t(?!\w))?|&")
_NEGATED = re.compile(r"n['\u2019]t$")
_POSSESSIVE = re.compile(r"['\u2019]s(?!\w)|(?<=s)['\u2019](?!\w)")
_ADDRESS = re.compile(r"(?:\b[a-z]{2,8}://|\bwww\.)[^\s|]{1,500}")
_EMPHASIS = " \t\n\u00ad*_`\"'\u201c\u201d\u2018\u2019"


@dataclass(frozen=True)
class SentenceWord:
    """The word text[start:end] of a sentence."""

    start: int
    end: int
    written: str
    low: str
    """The word in lower case; "cannot" for "can't", and "not" for other contractions such as "isn't"."""
    separator: str
    """The punctuation between this word and the previous word, such as a comma; empty if there is none."""
    possessive: bool
    """Whether the word has a possessive ending: "the club's"."""

    @property
    def capital(self) -> bool:
        """Whether the word starts with a capital letter."""
        return self.written[:1].isupper()


def sentence_words(text: str, start: int = 0) -> list[SentenceWord]:
    """Return the words of a sentence from `start` on, without web addresses.

    Quotation marks and emphasis marks do not separate words; all other signs do.
    """
    found: list[SentenceWord] = []
    position = start
    text = _ADDRESS.sub(lambda address: "|" * len(address.group()), text)
    while match := _WORD.search(text, position):
        separator = text[position : match.start()].strip(_EMPHASIS)
        quoted = text[max(0, match.start() - 1) : match.start()] in {"'", "\u2018"}
        possessive = None if quoted else _POSSESSIVE.match(text, match.end())
        position = possessive.end() if possessive else match.end()
        written, low = match.group(), match.group().casefold()
        if _NEGATED.search(low):
            low = "cannot" if low.startswith("ca") else "not"
        found.append(SentenceWord(match.start(), match.end(), written, low, separator, possessive is not None))
    return found


_LISTS: Final = tomllib.loads(
    files("elt_llm_consumer.sentences").joinpath("word_lists.toml").read_text(encoding="utf-8")
)


def word_list(name: str) -> frozenset[str]:
    """Return the words of the list `name` in `word_lists.toml`. Raises KeyError if the file has no such list."""
    return frozenset(_LISTS[name].split())


ARTICLES: Final = language_words("articles")
QUANTIFIERS: Final = language_words("quantifiers")
DETERMINERS: Final = ARTICLES | QUANTIFIERS | language_words("determiners")
PREPOSITIONS: Final = language_words("prepositions")
PRONOUNS: Final = language_words("pronouns")
MODALS: Final = language_words("modals")
CONDITIONALS: Final = language_words("conditionals")
BE: Final = language_words("be")
HAVE: Final = language_words("have")
DO: Final = language_words("do")
NEGATIONS: Final = language_words("negations")
PROTOCOLS: Final = word_list("protocols")
ADVERBS: Final = language_words("adverbs")
PLAIN_ADJECTIVES: Final = language_words("plain_adjectives")
NAME_PREPOSITIONS: Final = frozenset({"of", "for"})
"""Prepositions that may be part of a name: "Register of Interests", "Fund for Members"."""
ING_NOUNS: Final = frozenset("meeting hearing building training standing ruling finding filing housing grading".split())
_OTHER_AUXILIARIES = {"need", "needs", "wird", "werden"}
FINITE_VERBS: Final = BE - {"been", "being"} | HAVE - {"having"} | DO | MODALS | CONDITIONALS | _OTHER_AUXILIARIES
"""Auxiliaries and modal verbs that show where the subject of a sentence ends."""


VerbForm = Literal["base", "third", "participle", "past", "gerund"]

_VERBS: Final = tomllib.loads(files("elt_llm_consumer.sentences").joinpath("verbs.toml").read_text(encoding="utf-8"))
_IRREGULAR: Final[Mapping[str, tuple[str, str]]] = _VERBS["irregular"]
GERMAN_VERBS: Final[Mapping[str, str]] = _VERBS["german"]
"""German verbs of appointment in the present tense, with their infinitives."""
_DOUBLED: Final = frozenset(_VERBS["doubled"].split())
_VOWELS: Final = frozenset("aeiou")
_NO_VERBS: Final = BE | ADVERBS | NEGATIONS | DETERMINERS | PREPOSITIONS
_MIN_LEARNED = 2  # minimum number of uses from which a word counts as a verb


class VerbLexicon:
    """The words that may be verbs, with the base forms of the verbs.

    Words that often occur between a modal verb and an object in `sentences` must be verbs. They are added to the
    shipped verbs.
    """

    def __init__(self, sentences: Iterable[Sequence[SentenceWord]] = ()) -> None:
        self._forms: dict[str, dict[VerbForm, str]] = {}
        learned: Counter[str] = Counter()
        for words in sentences:
            for before, word, following in zip(words, words[1:], words[2:], strict=False):
                verbal = word.low.isalpha() and word.low not in _NO_VERBS and not word.low.endswith("ly")
                if verbal and before.low in MODALS and not word.separator and following.low in DETERMINERS:
                    learned[word.low] += 1
        often = (word for word, times in learned.items() if times >= _MIN_LEARNED)
        for base in sorted({*_VERBS["regular"].split(), *_IRREGULAR, *often}):
            for form, written in _forms_of(base).items():
                self._forms.setdefault(written, {}).setdefault(form, base)

    def base(self, word: str, *forms: VerbForm) -> str | None:
        """Return the base form of a lower-case word if the word may be one of the given verb forms, else None."""
        known = self._forms.get(word, {})
        return next((known[form] for form in forms if form in known), None)


@cache
def listed_verbs() -> VerbLexicon:
    """Return a lexicon with only the shipped verbs, without verbs learned from texts."""
    return VerbLexicon()


def has_verb_with_object(words: Sequence[str]) -> bool:
    """Return whether a verb and its object are in a text, as in "sent a letter", but not in "sent by the clerk"."""
    verbs = listed_verbs()
    return any(after.casefold() in ARTICLES and verbs.base(word, "third", "past") for word, after in pairwise(words))


def past_participle(base: str) -> str:
    """Return the past participle of a verb, such as "kept" for "keep"."""
    return _forms_of(base)["participle"]


def _forms_of(base: str) -> dict[VerbForm, str]:
    """Return the forms of a verb, such as "carry", "carries", "carried", "carried" and "carrying"."""
    stem = base[:-1] + "i" if base.endswith("y") and base[-2:-1] not in _VOWELS else base
    third = stem + ("es" if stem != base or base.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
    regular = base + "d" if base.endswith("e") else (base + base[-1] if base in _DOUBLED else stem) + "ed"
    past, participle = _IRREGULAR.get(base, (regular, regular))
    third = "has" if base == "have" else third
    gerund = base.removesuffix("e") if not base.endswith("ee") else base
    gerund = f"{base + base[-1] if base in _DOUBLED else gerund}ing"
    return {"base": base, "third": third, "participle": participle, "past": past, "gerund": gerund}


_ENDING = r"\w{0,20}"
_WORDS_BETWEEN = r"(?:[^\s.;]{1,30}\s{1,3}){0,6}"
_YEAR, _NUMBER = r"(?:1[5-9]|20)\d\d", r"\d{1,4}[a-zA-Z]{0,2}(?:\([a-z0-9]{1,4}\)){0,3}"
_IN_NAME = re.compile(r"[ -][A-Z][a-z]")
_ZU_INFINITIVE = " ... zu *"
# "Ist leicht zu öffnen", "ist schwerer einzustellen", "ist es möglich zu prüfen" and "ist zu erwarten" are no duties.
_EASY = rf"(?:{'|'.join(language_words('easy'))})\s{{1,3}}[a-zäöüß]{{0,12}}zu"
_OPEN = rf"(?:{'|'.join(language_words('before_infinitive'))})\s"
# What may follow "unverzüglich": "sind unverzüglich, spätestens am 5. Mai, zu melden".
_DEADLINE = (
    r"(?:(?<=unverzüglich)|(?<=umgehend)|(?<=sofort)),\s{1,3}(?:spätestens|längstens)\s(?:\d{1,2}\.|[^.,:;]){1,80}"
    r"(?:,(?!\s{1,3}(?:um|ohne|anstatt|statt)\s)|(?=\s))"
)
_IN_CLAUSE = rf"(?:(?!{_EASY}|{_OPEN})(?:\d{{1,2}}\.|[^\s.,:;()]{{1,40}})(?:{_DEADLINE})?\s{{1,3}}){{0,15}}?"
_NO_DUTY = rf"(?:{alternatives(language_words('no_duty'))})(?!\w)"
# "hinzugekommen" is a participle, "zu löschen" and "aufzubewahren" are infinitives. They end the clause.
_INFINITIVE = (
    rf"(?-i:(?!{_NO_DUTY})(?:zu\s{{1,3}}(?!{_NO_DUTY})|(?!(?:hin|da)zuge)[a-zäöüß]{{2,12}}zu)[a-zäöüß]{{2,30}}(?:en|ern|eln))"
    r"(?=\s{0,3}(?:[.,:;!?()\n|]|$|(?:und|oder|sowie|bzw)(?!\w)))"
)


class CueMatcher:
    """Finds listed cue words in a text.

    `*` at the end of a cue matches any ending, and ` ... ` between two words matches up to six words. `#` matches a
    number such as 12 or 4(a), and `####` a year. ` ... zu *` at the end matches the rest of a German clause up to an
    infinitive with "zu": "sind ... zu *" matches "sind zehn Jahre aufzubewahren". A cue in lower case ignores case. A
    cue with a capital letter respects case, so that "Act" does not match "act".
    """

    def __init__(self, listed: Iterable[str]) -> None:
        self.listed = tuple(dict.fromkeys(cue.strip() for cue in listed if cue.strip(" *")))
        self._whole = frozenset(cue.casefold() for cue in self.listed if not cue.endswith("*"))
        by_length = sorted(self.listed, key=lambda cue: (-len(cue), cue))
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(_as_pattern, by_length))})(?!\w)")

    def outside_names(self, text: str, sentence_start: int) -> list[tuple[int, int]]:
        """Return the spans of the cues, except words that start a longer name, as "Authority" in "Authority Manager".

        A cue with `*` counts even there, since an "Appointments Officer" appoints. The first word of the sentence, at
        `sentence_start`, always counts, because its capital letter does not show that it is a name.
        """
        return [
            (start, end)
            for start, end in self.spans(text)
            if start == sentence_start
            or not (text[start].isupper() and _IN_NAME.match(text, end) and text[start:end].casefold() in self._whole)
        ]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of all cues in the text, in order."""
        return [match.span() for match in self._pattern.finditer(text)] if self.listed else []


@cache
def finite_verbs() -> CueMatcher:
    """Return a matcher for the words that end the subject of a sentence: finite verbs and "not"."""
    return CueMatcher(FINITE_VERBS | {"not"})


def _as_pattern(cue: str) -> str:
    if cue.endswith(_ZU_INFINITIVE):
        return rf"(?i:{re.escape(cue.removesuffix(_ZU_INFINITIVE))}\s{{1,3}}{_IN_CLAUSE}{_INFINITIVE})"
    parts = [r"\s{1,3}".join(map(re.escape, part.split())) for part in cue.rstrip("*").split(" ... ")]
    pattern = (r"\s{1,3}" + _WORDS_BETWEEN).join(parts).replace(r"\#" * 4, _YEAR).replace(r"\#", _NUMBER)
    pattern += _ENDING if cue.endswith("*") else ""
    return f"(?i:{pattern})" if cue == cue.lower() else pattern
