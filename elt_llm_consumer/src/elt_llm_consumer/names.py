"""Names of things: when two are the same, how alike others are, and where a text speaks of one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from typing import Literal

from elt_llm_core.text.stopwords import stopwords_of
from elt_llm_query.understanding.aliases import NO_ALIASES, Aliases

from elt_llm_consumer.name_likeness import How, Likeness, fuzzy_likeness
from elt_llm_consumer.name_words import Token, is_german, name_key, tokens

__all__ = ["How", "Likeness", "Mention", "Names"]

_BRACKETED = re.compile(r"^([^()]{2,200}?) ?\(([^()]{1,60})\)$")
# What may stand between the words of a name wherever it is written: spaces, one line break, hyphens, slashes, and
# the end of emphasis on its first word.
_GAP = re.compile(r"[\"\u201d*_`]{0,2}[^\S\n]{0,20}[-\u2010-\u2015/'\u2019]?[^\S\n]{0,20}\n?[^\S\n]{0,20}[\u00ad]?")
_SENTENCE_BEGINS = re.compile(
    r"(?:^|[.!?:;|\u2022\n]|\(\w{1,3}\)|(?:^|\n)[A-Z]{0,3}\d[\d.]{0,8})[\s\"'\u2018\u201c(*_\[#>-]{0,20}$"
)
_LOOK_BACK = 24
_CODE = 5  # letters of an abbreviation at most
_LEAST_JOINED = 6

Doubt = Literal["", "small letters", "first word", "kind of it", "longer name"]


@dataclass(frozen=True)
class Mention:
    """The words text[start:end] stand for `name`; `written` is how they are written there.

    `form` is the name or other name that was met. `doubt` says why one word may well mean something else: in small
    letters it may be an ordinary word, and the first of a sentence too; "Youth Player" is a kind of player; a "Player
    Register" is none.
    """

    start: int
    end: int
    name: str
    written: str
    form: str = ""
    doubt: Doubt = ""

    @property
    def certain(self) -> bool:
        """Whether it can hardly mean anything else."""
        return not self.doubt


@dataclass
class _Node:
    """A place in the tree of all forms: where each next word leads, and the form that ends here."""

    after: dict[str, "_Node"] = field(default_factory=dict)
    ends: tuple[str, str] | None = None
    """Name and form."""


class Names:
    """Knows a set of names with their other names; finds them in texts and compares them with others."""

    def __init__(self, names: Iterable[str], aliases: Aliases = NO_ALIASES, *, german: bool | None = None) -> None:
        """`german` cuts German plurals instead of English ones; unset, it is told by the names."""
        self.names = tuple(dict.fromkeys(names))
        self._aliases = aliases
        self._german = is_german(self.names) if german is None else german
        self._groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for group in aliases.groups:
            for name in group:
                self._groups.setdefault(self.key(name), []).append(group)

    def only(self, names: Iterable[str]) -> "Names":
        """The same knowledge of other names, for these names alone."""
        return Names(names, self._aliases, german=self._german)

    def key(self, name: str) -> tuple[str, ...]:
        """What a name is compared by: names with equal keys are the same."""
        return name_key(name, german=self._german)

    def forms(self, name: str) -> tuple[str, ...]:
        """The name and its other names, each once; of "Long Name (LN)" also both its parts."""
        own = [name]
        if bracketed := _BRACKETED.match(name):
            own += [bracketed[1], bracketed[2]]
        others = [other for one in own for group in self._groups.get(self.key(one), ()) for other in group]
        seen: dict[tuple[str, ...], str] = {}
        for form in (*own, *others):
            seen.setdefault(self.key(form), form)
        return tuple(seen.values())

    def likeness(self, left: str, right: str) -> Likeness:
        """How alike two names are: the same when folded, known by an alias, or similar word by word."""
        if self._same(left, right):
            return Likeness(1.0, "same")
        keys = {self.key(form) for form in self.forms(left)}
        if not keys.isdisjoint(self.key(form) for form in self.forms(right)):
            return Likeness(1.0, "alias")
        return fuzzy_likeness(self.key(left), self.key(right), (left, right))

    def mentions(self, text: str) -> list[Mention]:
        """Where `text` speaks of one of the names, in order; of two that overlap the longer counts, then the first."""
        return list(self._mentions(text)) if self.names else []

    def _mentions(self, text: str) -> Iterator[Mention]:
        words = tokens(text, german=self._german)
        position = 0
        while position < len(words):
            met = self._longest(text, words, position)
            if met is None:
                position += 1
                continue
            last, (name, form) = met
            start, end = words[position].start, words[last].end
            yield Mention(start, end, name, text[start:end], form, _doubt(text, words, position, last))
            position = last + 1

    def _longest(self, text: str, words: Sequence[Token], first: int) -> tuple[int, tuple[str, str]] | None:
        """The last word of the longest form that begins at a word, with its name and form."""
        node, found = self._tree.after.get(words[first].key), None
        for position in range(first, len(words)):
            if node is None:
                break
            if node.ends and _is_written_as(words[first : position + 1], node.ends[1]):
                found = position, node.ends
            if position + 1 == len(words) or not self._is_gap(text[words[position].end : words[position + 1].start]):
                break
            node = node.after.get(words[position + 1].key)
        return found

    def _is_gap(self, between: str) -> bool:
        return between == " " or bool(_GAP.fullmatch(between)) or between.strip() in self._own_gaps

    def _same(self, left: str, right: str) -> bool:
        keys = self.key(left), self.key(right)
        return bool(keys[0]) and (keys[0] == keys[1] or "".join(keys[0]) == "".join(keys[1]))

    @cached_property
    def _tree(self) -> _Node:
        """All forms by their words; a name's own writing goes before another's alias, the first before later ones."""
        root = _Node()
        own = [(name, name) for name in self.names]
        others = [(name, form) for name in self.names for form in self.forms(name)]
        for name, form in [*own, *others]:
            key = self.key(form)
            for path in (key, ("".join(key),)) if len(key) > 1 and len("".join(key)) >= _LEAST_JOINED else (key,):
                node = root
                for word in path:
                    node = node.after.setdefault(word, _Node())
                if path:
                    node.ends = node.ends or (name, form)
        return root

    @cached_property
    def _own_gaps(self) -> frozenset[str]:
        """Signs that stand between the words of some name, such as a comma, and so may stand there in a text."""
        forms = [form for name in self.names for form in self.forms(name)]
        between = [
            form[left.end : right.start].strip()
            for form in forms
            for left, right in pairwise(tokens(form, german=self._german))
        ]
        return frozenset(sign for sign in between if sign and len(sign) <= 2)


def _is_written_as(words: Sequence[Token], form: str) -> bool:
    """A short form in capitals, such as TD or IT, is met in capitals only: in small letters it is another word."""
    if len(words) > 1 or not (form.isupper() and len(form) <= _CODE):
        return True
    written = words[0].written
    return written.removesuffix("'s").removesuffix("\u2019s").removesuffix("s").isupper()


def _doubt(text: str, words: Sequence[Token], first: int, last: int) -> Doubt:
    written = text[words[first].start : words[last].end]
    following = _neighbour(text, words, last, last + 1)
    if following is not None and written[:1].isupper() and _is_part_of_name(following):
        return "longer name"
    if last > first or (written.isupper() and len(written) > 1):
        return ""
    if not written[:1].isupper():
        return "small letters"
    if _begins_sentence(text, words[first].start):
        return "first word"
    before = _neighbour(text, words, first, first - 1)
    return "kind of it" if before is not None and _is_part_of_name(before) else ""


def _is_part_of_name(word: Token) -> bool:
    """Whether a word beside a name makes a longer name of it; "The" does not, nor the letter of a grade."""
    return len(word.written) > 1 and word.written[0].isupper() and word.written.casefold() not in _small_words()


@cache
def _small_words() -> frozenset[str]:
    return stopwords_of("en") | stopwords_of("de")


def _neighbour(text: str, words: Sequence[Token], own: int, other: int) -> Token | None:
    """The word next to one, if only a space or a hyphen stands between them."""
    if not 0 <= other < len(words):
        return None
    left, right = sorted((own, other))
    return words[other] if text[words[left].end : words[right].start] in {" ", "-", "\u2010", "\u2011"} else None


def _begins_sentence(text: str, start: int) -> bool:
    return bool(_SENTENCE_BEGINS.search(text[max(0, start - _LOOK_BACK) : start])) or start == 0
