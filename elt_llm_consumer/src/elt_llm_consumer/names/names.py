"""Compare names and find them in texts, with word keys, similarity scores and mentions.

Similarity measures that count shared words, such as token_set_ratio, confuse "Data Owner" with "Data Steward", because
names in one domain often differ in a single word. Here, every word of a name must match a word of the other name, and
both names must have the same head noun.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, Literal

from elt_llm_core.text.language import SAMPLE_CHARACTERS, detect_language
from elt_llm_core.text.languages import words as language_words
from elt_llm_core.text.normalise import CHARACTER, fold, split_words
from elt_llm_core.text.stems import stopwords_of
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases
from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from elt_llm_consumer.jobs.corpus import Corpus
from elt_llm_consumer.sentences.words import PROTOCOLS

# Words may contain invisible characters. In a script without spaces, each character is a word.
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
_TOKEN = re.compile(
    rf"{_UNSPACED}|(?:(?!{_UNSPACED}){CHARACTER}|(?<=\w)[\u00ad\u200b-\u200d\u2060])+(?:['\u2019]s(?!\w))?|&"
)
_ARTICLES = language_words("articles")
_AND = dict.fromkeys(language_words("and") | {"&"}, "and")
_IRREGULAR: Final[Mapping[str, str]] = tomllib.loads(
    files("elt_llm_consumer.names").joinpath("irregular_plurals.toml").read_text(encoding="utf-8")
)
_SIBILANTS = ("sses", "shes", "ches", "xes", "zzes")
_NO_PLURAL = ("ss", "us", "is", "ics")
# Last parts of German compounds with a plural in -er. In other nouns, -er is not a plural ending.
_GERMAN_ER = ("glied", "kind", "bild", "buch", "haus", "land", "blatt", "wort", "amt", "band", "fach", "feld", "geld")
_GERMAN_MARKS = re.compile(r"[äöüß]|(?:ung|heit|keit|schaft|tät|lich|isch)(?:en|e|er|es)?$", re.IGNORECASE)
# Ends of German nouns with the endings of adjectives, which `fold` has folded: "die Beauftragte, ein Beauftragter".
_ADJECTIVAL = re.compile(r"(vorsitzende|beauftragte|bevollmachtigte|angestellte|beschaftigte|verantwortliche)[nr]$")
_GERMAN_SHARE = 0.2
_SHORT = 3


@dataclass(frozen=True)
class NameToken:
    """The word text[start:end] as it is written, and the key by which it is compared with other words."""

    start: int
    end: int
    written: str
    key: str


def name_tokens(text: str, *, german: bool = False) -> list[NameToken]:
    """Return the words of a text in order. The sign '&' is a word too."""
    return [
        NameToken(match.start(), match.end(), match.group(), word_key(match.group(), german=german))
        for match in _TOKEN.finditer(text)
    ]


@lru_cache(maxsize=20_000)
def name_key(name: str, *, german: bool = False) -> tuple[str, ...]:
    """Return the keys of a name's words without leading articles: "The Case Files" -> ("case", "file")."""
    keys = tuple(token.key for token in name_tokens(name, german=german))
    while len(keys) > 1 and keys[0] in _ARTICLES:
        keys = keys[1:]
    return keys


def joined_key(name: str) -> str:
    """Return the key of a name as one string, which is equal for names that differ only in hyphens or spaces."""
    return "".join(name_key(name))


@lru_cache(maxsize=100_000)
def word_key(word: str, *, german: bool = False) -> str:
    """Return a word in lower case and singular, without diacritics and possessive ending: "Café's" -> "cafe"."""
    folded = fold(word).removesuffix("'s")
    folded = _AND.get(folded, folded)
    if folded in PROTOCOLS:
        return folded
    if word.endswith("s") and word[:-1].isupper() and len(word) >= _SHORT:
        return folded[:-1]  # "IDs" and "APIs" are plurals of abbreviations
    if len(folded) <= _SHORT or not folded.isalpha():
        return folded
    folded = _ADJECTIVAL.sub(r"\1", folded)
    return _german_singular(folded) if german else _singular(folded)


def is_german(names: Sequence[str]) -> bool:
    """Return whether at least a fifth of the names contain German letters or endings."""
    marked = sum(any(_GERMAN_MARKS.search(word) for word in name.split()) for name in names)
    return bool(names) and marked >= _GERMAN_SHARE * len(names)


def has_german_texts(corpus: Corpus) -> bool | None:
    """Return True if more than half of the characters are in German texts, else None: the names decide."""
    texts = [one.text for one in corpus.documents]
    german = (one for one in texts if detect_language(one) == "de" or is_german(split_words(one[:SAMPLE_CHARACTERS])))
    return 2 * sum(map(len, german)) > sum(map(len, texts)) or None


def _singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_SIBILANTS):
        return word[:-2]
    if word.endswith("s") and not word.endswith(_NO_PLURAL):
        return _IRREGULAR.get(word[:-1], word[:-1])
    return word


def _german_singular(word: str) -> str:
    if word.endswith("innen"):
        return word[:-3]
    if word.endswith("er") and word[:-2].endswith(_GERMAN_ER):
        return word[:-2]
    if word.endswith(("ern", "eln")):
        return _german_singular(word[:-1])
    for ending in ("en", "es", "e", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORT and not word.endswith(("ss", "us", "is")):
            return word[: -len(ending)]
    return word


LikenessKind = Literal["same", "alias", "fuzzy", "none"]

_TURNED_SCORE = 0.95
"""The score of two names with the same words in another order: "Register of Interests" and "Interests Register"."""
_ABBREVIATED_SCORE = 0.9
_NARROWER_SCORE = 0.8
"""The score if one name has an additional first word. This name may be a kind of the other: "Youth Player"."""
_TURNING = frozenset({"of", "for", "to", "on", "about", "from"})
_FILLING = language_words("articles", ["en"])
_LIKELY = 0.85
_UNLIKELY = 0.6  # factor for letter similarity, which is used only to rank names that do not match
_MIN_LETTERS = 6
_MIN_SLIP = 5
_TWO_SLIPS = 10  # minimum letters of a word in which two letters may be misspelt
_CODE_LETTERS = (2, 6)


@dataclass(frozen=True)
class Likeness:
    """The similarity of two names: a score from 0 to 1, and the kind of the match.

    The kind `fuzzy` means that both names probably mean the same thing, and `none` that they mean different things.
    """

    score: float
    how: LikenessKind


def blocking_keys(words: Sequence[str], written: str) -> frozenset[tuple[str, ...]]:
    """Return keys that limit comparisons: two names that probably match share at least one of these keys."""
    ordered, _ = _words_in_order(words)
    initials = _initials(words)
    keys = {("all", *ordered), ("initials", written.lower() if written.isupper() else initials)}
    for position, word in enumerate(ordered):
        keys.add(("slip", str(position), word[0], *ordered[:position], *ordered[position + 1 :]))
    if len(ordered) > 1:
        keys |= {("narrower", *ordered), ("narrower", *ordered[1:])}
    return frozenset(keys)


def _initials(words: Sequence[str]) -> str:
    return "".join(word[0] for word in words if word not in _TURNING | _FILLING | {"and"})


def _words_in_order(words: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return the words without articles and with the head noun last, and whether the order was changed.

    For example, "report of concern" becomes "concern report".
    """
    kept = [word for word in words if word not in _FILLING]
    for position, word in enumerate(kept[1:-1], start=1):
        if word in _TURNING:
            rest = [one for one in kept[position + 1 :] if one not in _TURNING]
            return (*rest, *kept[:position]), True
    return tuple(kept), False


def _word_likeness(left: tuple[tuple[str, ...], bool], right: tuple[tuple[str, ...], bool]) -> float:
    (one, turned_one), (other, turned_other) = left, right
    if not one or not other:
        return 0.0
    if one == other:
        return _TURNED_SCORE if turned_one != turned_other else 1.0
    if len(one) == len(other):
        shares = [_word_match(a, b) for a, b in zip(one, other, strict=True)]
        slips = sum(share < 1 for share in shares)
        return min(shares) * (_TURNED_SCORE if turned_one != turned_other else 1.0) if slips == 1 else 0.0
    short, long = sorted((one, other), key=len)
    return _NARROWER_SCORE if len(short) > 1 and long[-len(short) :] == short and len(long) == len(short) + 1 else 0.0


def _word_match(one: str, other: str) -> float:
    """Return 1 for equal words, less for a probable spelling error, else 0. Numbers and short words must be equal."""
    if one == other:
        return 1.0
    shorter = min(len(one), len(other))
    if shorter < _MIN_LETTERS or one[0] != other[0] or not (one.isalpha() and other.isalpha()):
        return 0.0
    slips = OSA.distance(one, other)
    return 1 - slips / (shorter + slips) if slips == 1 or (slips == 2 and shorter >= _TWO_SLIPS) else 0.0


def _is_slip(one: str, other: str) -> bool:
    """Return whether two words of five letters or more differ by one slip, or by two if they have ten or more."""
    shorter = min(len(one), len(other))
    most = 0 if shorter < _MIN_SLIP or one[0] != other[0] else 1 if shorter < _TWO_SLIPS else 2
    return one.isalpha() and other.isalpha() and 0 < OSA.distance(one, other, score_cutoff=most) <= most


def _initials_likeness(left: Sequence[str], right: Sequence[str], written: tuple[str, str]) -> float:
    """Return a score if one name, in capitals, consists of the initials of the other name; otherwise 0."""
    for short, long in ((written[0], right), (written[1], left)):
        initials = _initials(long)
        if short.isupper() and _CODE_LETTERS[0] < len(short) <= _CODE_LETTERS[1] and short.lower() == initials:
            return _ABBREVIATED_SCORE
    return 0.0


_BRACKETED = re.compile(r"^([^()]{2,200}?) ?\(([^()]{1,60})\)$")
# What may be between two words of a name: spaces, one line break, hyphens, slashes, and an emphasis mark after the
# first word.
_GAP = re.compile(r"[\"\u201d*_`]{0,2}[^\S\n]{0,20}[-\u2010-\u2015/'\u2019]?[^\S\n]{0,20}\n?[^\S\n]{0,20}[\u00ad]?")
_SENTENCE_START = re.compile(
    r"(?:^|[.!?:;|\u2022\n]|\(\w{1,3}\)|(?:^|\n)[A-Z]{0,3}\d[\d.]{0,8})[\s\"'\u2018\u201c(*_\[#>-]{0,20}$"
)
_LOOK_BACK = 24
_CODE = 5  # maximum letters of an abbreviation
_MIN_JOINED = 6
_MAX_TURNED = 4  # words of a name that texts may write in the other order
_HYPHENS = frozenset("-\u2010\u2011")

MentionDoubt = Literal["", "small letters", "first word", "kind of it", "longer name"]


@dataclass(frozen=True)
class Mention:
    """A mention of `name`: the words text[start:end], as `written` in the text.

    `form` is the name or alias that matches the words. `doubt` is the reason why they may mean something else: a word
    in lower case or, except in German, at the start of a sentence may be an ordinary word, a "Youth Player" is only a
    kind of player, and a "Player Register" is not a player.
    """

    start: int
    end: int
    name: str
    written: str
    form: str = ""
    doubt: MentionDoubt = ""

    @property
    def certain(self) -> bool:
        """Whether the words surely mean the name: `doubt` is empty."""
        return not self.doubt


@dataclass
class _Node:
    """A node of the prefix tree of names and aliases: a child node for each next word, and the form that ends here.

    If `turned`, the form has its words in another order here, and counts only with a capital letter.
    """

    after: dict[str, "_Node"] = field(default_factory=dict)
    ends: tuple[str, str] | None = None
    """The name that ends at this node, and the form (name or alias) in which it is written here."""
    turned: bool = False


class Names:
    """A set of names with their aliases, which finds these names in texts and compares them."""

    def __init__(self, names: Iterable[str], aliases: Aliases = NO_ALIASES, *, german: bool | None = None) -> None:
        """`german` selects German instead of English plurals. If it is None, the language of the names is detected."""
        self.names = tuple(dict.fromkeys(names))
        self._aliases = aliases
        self._german = is_german(self.names) if german is None else german
        self._groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for group in aliases.groups:
            for name in group:
                self._groups.setdefault(self.key(name), []).append(group)

    def only(self, names: Iterable[str]) -> "Names":
        """Return a copy with only these names, and with all aliases and the language of this set."""
        return Names(names, self._aliases, german=self._german)

    def key(self, name: str) -> tuple[str, ...]:
        """Return the key of a name. Names with equal keys are the same name."""
        return name_key(name, german=self._german)

    def forms(self, name: str) -> tuple[str, ...]:
        """Return the name and its aliases, each once. "Long Name (LN)" also has the forms "Long Name" and "LN".

        An abbreviation within a name is spelled out, and the reverse: "LN Log" is the "Long Name Log".
        """
        own = [name]
        if bracketed := _BRACKETED.match(name):
            own += [bracketed[1], bracketed[2]]
        padded = f" {name} "
        for short, long in self._abbreviations:
            for part, other in ((f" {short} ", long), (f" {long} ", short)):
                if part in padded and part != padded:
                    own.append(padded.replace(part, f" {other} ").strip())
        others = [other for one in own for group in self._groups.get(self.key(one), ()) for other in group]
        seen: dict[tuple[str, ...], str] = {}
        for form in (*own, *others):
            seen.setdefault(self.key(form), form)
        return tuple(seen.values())

    def joined_keys(self, name: str) -> frozenset[str]:
        """Return the keys of all forms of a name, also with turned words, as strings that ignore hyphens and spaces."""
        keys = [self.key(form) for form in self.forms(name)]
        return frozenset("".join(one) for key in keys for one in (key, _turned(key)) if one)

    def likeness(self, left: str, right: str) -> Likeness:
        """Return the similarity of two names. They match by equal keys, by a common alias, or by similar words."""
        one, other = self.key(left), self.key(right)
        if one and (one == other or "".join(one) == "".join(other)):
            return Likeness(1.0, "same")
        keys = {self.key(form) for form in self.forms(left)}
        if not keys.isdisjoint(self.key(form) for form in self.forms(right)):
            return Likeness(1.0, "alias")
        score = max(
            _word_likeness(_words_in_order(one), _words_in_order(other)), _initials_likeness(one, other, (left, right))
        )
        if score >= _LIKELY:
            return Likeness(round(score, 4), "fuzzy")
        letters = _UNLIKELY * fuzz.WRatio(*sorted((" ".join(one), " ".join(other)))) / 100
        return Likeness(round(max(score, letters), 4), "none")

    def other_spellings(self, name: str, vocabulary: AbstractSet[str]) -> Iterator[str]:
        """Yield spellings of a name that texts with this vocabulary (word keys) may have instead.

        One word is spelt slightly differently ("Doner", "donor"), is two words in the texts ("Dataset", "data set"), or
        has an alias; or the texts have the initials of three or more words: "VTS" for "Vessel Traffic Services".
        """
        key = self.key(name)
        initials = _initials(key)
        if len(initials) > _CODE_LETTERS[0] and initials in vocabulary:
            yield initials.upper()
        for position, word in enumerate(key):
            instead = [form for group in self._groups.get((word,), ()) for form in group if self.key(form) != (word,)]
            if word not in vocabulary:
                instead += sorted(other for other in vocabulary if _is_slip(word, other))
                halves = ((word[:end], word[end:]) for end in range(_SHORT, len(word) - _SHORT + 1))
                instead += [" ".join(parts) for parts in halves if set(parts) <= vocabulary]
            for other in instead:
                yield " ".join((*key[:position], other, *key[position + 1 :]))

    def mentions(self, text: str) -> list[Mention]:
        """Return the mentions in order. Of overlapping mentions, the first is kept; at the same start, the longest."""
        words = name_tokens(text, german=self._german) if self.names else []
        found: list[Mention] = []
        position = 0
        while position < len(words):
            match = self._longest(text, words, position)
            if match is None:
                position += 1
                continue
            last, (name, form) = match
            start, end = words[position].start, words[last].end
            doubt = _doubt(text, words, position, last)
            # All German nouns are capitalized, so the capital letter of a first word is no reason for doubt.
            doubt = "" if doubt == "first word" and self._german else doubt
            found.append(Mention(start, end, name, text[start:end], form, doubt))
            position = last + 1
        return found

    def _longest(self, text: str, words: Sequence[NameToken], first: int) -> tuple[int, tuple[str, str]] | None:
        """Find the longest name or alias that starts at a word.

        Return the position of its last word, the name, and the matching form.
        """
        node, found = self._tree.after.get(words[first].key), None
        if first + 1 < len(words) and text[words[first].end : words[first + 1].start] in _HYPHENS:
            joined = self._tree.after.get(words[first].key + words[first + 1].key)
            found = (first + 1, joined.ends) if joined and joined.ends and not joined.turned else None
        for position in range(first, len(words)):
            if node is None:
                break
            capital = words[first].written[:1].isupper() or not node.turned
            if node.ends and capital and _is_written_as(words[first : position + 1], node.ends[1]):
                found = position, node.ends
            if position + 1 == len(words):
                break
            between = text[words[position].end : words[position + 1].start]
            if between != " " and not _GAP.fullmatch(between) and between.strip() not in self._own_gaps:
                break
            node = node.after.get(words[position + 1].key)
        return found

    @cached_property
    def _tree(self) -> _Node:
        """The prefix tree of all forms. Names take precedence over aliases, and earlier names over later names."""
        root = _Node()
        own = [(name, name) for name in self.names]
        others = [(name, form) for name in self.names for form in self.forms(name)]
        for name, form in [*own, *others]:
            key = self.key(form)
            for path in (key, ("".join(key),)) if len(key) > 1 and len("".join(key)) >= _MIN_JOINED else (key,):
                node = root
                for word in path:
                    node = node.after.setdefault(word, _Node())
                if path:
                    node.ends = node.ends or (name, form)
        for name, form in others:
            node = root
            for word in _turned(self.key(form)):
                node = node.after.setdefault(word, _Node())
            if node is not root and node.ends is None:
                node.ends, node.turned = (name, form), True
        return root

    @cached_property
    def _abbreviations(self) -> tuple[tuple[str, str], ...]:
        """The pairs of an abbreviation in capitals and its long form among the aliases."""
        return tuple(
            (short, long)
            for group in self._aliases.groups
            for short in group
            if short.isupper() and short.isalpha() and _CODE_LETTERS[0] <= len(short) <= _CODE_LETTERS[1]
            for long in group
            if " " in long
        )

    @cached_property
    def _own_gaps(self) -> frozenset[str]:
        """The signs, apart from spaces, that names contain between words, such as the comma in "Gate, closed"."""
        between = (
            form[left.end : right.start].strip()
            for name in self.names
            for form in self.forms(name)
            for left, right in pairwise(name_tokens(form, german=self._german))
        )
        return frozenset(sign for sign in between if 0 < len(sign) <= 2)


def _turned(key: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a name in the other order: "register of interest" for "interest register", and the reverse.

    Return () if the name has one word, or more than four, or another preposition.
    """
    ordered, turned = _words_in_order(key)
    if not 1 < len(ordered) <= _MAX_TURNED or (not turned and not _TURNING.isdisjoint(key)):
        return ()
    return ordered if turned else (ordered[-1], "of", *ordered[:-1])


def _is_written_as(words: Sequence[NameToken], form: str) -> bool:
    if len(words) > 1 or not (form.isupper() and len(form) <= _CODE):
        return True
    written = words[0].written
    return written.removesuffix("'s").removesuffix("\u2019s").removesuffix("s").isupper()


def _doubt(text: str, words: Sequence[NameToken], first: int, last: int) -> MentionDoubt:
    written = text[words[first].start : words[last].end]
    following = _neighbour(text, words, last, last + 1)
    if following is not None and written[:1].isupper() and _is_part_of_name(following):
        return "longer name"
    if last > first or (written.isupper() and len(written) > 1):
        return ""
    if not written[:1].isupper():
        return "small letters"
    start = words[first].start
    if start == 0 or _SENTENCE_START.search(text[max(0, start - _LOOK_BACK) : start]):
        return "first word"
    before = _neighbour(text, words, first, first - 1)
    return "kind of it" if before is not None and _is_part_of_name(before) else ""


def _is_part_of_name(word: NameToken) -> bool:
    """Return whether a word beside a name makes a longer name: "Form" after "Result", but not "The" or "A"."""
    small = any(word.written.casefold() in stopwords_of(language) for language in ("en", "de"))
    return len(word.written) > 1 and word.written[0].isupper() and not small


def _neighbour(text: str, words: Sequence[NameToken], own: int, other: int) -> NameToken | None:
    """Return the word at position `other` if only a space or hyphen separates it from the word at `own`; else None."""
    if not 0 <= other < len(words):
        return None
    left, right = sorted((own, other))
    return words[other] if text[words[left].end : words[right].start] in {" ", "-", "\u2010", "\u2011"} else None
