"""A sentence taken apart for comparison: its words, names, numbers, and what of it is denied."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from elt_llm_core.text.normalise import fold
from elt_llm_core.text.stems import KeywordTokeniser

from elt_llm_query.answer.claim_numbers import MEASURES, Number, numbers_in
from elt_llm_query.answer.claim_rules import Rules, read_rules
from elt_llm_query.answer.contraries import DENYING, NEGATED_ENDING, NEGATORS

_WORD = re.compile(r"[^\W_](?:[\w'\u2019]|[.&+#/-](?=\w)){0,60}|[%$€£]")
_CLAUSE_END = re.compile(r"[,;:.!?()\u2013\u2014]")
_SCOPE = 5
_LIMITS = frozenset("only merely just more less fewer later earlier longer until before unless except nur mehr".split())  # noqa: SIM905
_POSSESSIVE = re.compile(r"['\u2019]s?$")


@dataclass(frozen=True)
class Token:
    """One word: as it stands, folded, its stems (none for a stopword), whether it names something or is denied."""

    text: str
    word: str
    stems: tuple[str, ...]
    start: int
    end: int
    name: bool
    number: bool
    denied: bool
    denies: bool


@dataclass(frozen=True)
class Sentence:
    """The tokens of a text in order, its numbers, and the stems and words it has."""

    text: str
    tokens: tuple[Token, ...]
    numbers: tuple[Number, ...]
    stems: frozenset[str]
    words: frozenset[str]
    denied: frozenset[str]
    rules: Rules

    @property
    def without_rules(self) -> "Sentence":
        """The sentence without the words that allow, demand, forbid or limit; its rules hold what they deny."""
        kept = [token for token in self.tokens if token.start not in self.rules.places]
        tokens = tuple(
            replace(token, denied=False, denies=False) if token.start in self.rules.inside else token for token in kept
        )
        return replace(
            self, tokens=tokens, denied=frozenset(stem for token in tokens if token.denied for stem in token.stems)
        )

    @property
    def names(self) -> list[Token]:
        """The tokens that name something."""
        return [token for token in self.tokens if token.name]


def read_sentence(text: str, tokeniser: KeywordTokeniser, is_name: Callable[[str, bool], bool]) -> Sentence:
    """Take a text apart. `is_name(word, at_start)` says whether a capitalised word, as it stands, names something."""
    numbers = tuple(numbers_in(text))
    covered = {place for number in numbers for place in range(number.start, number.end)}
    denied, denying = _denial(text)
    tokens: list[Token] = []
    opens = True
    for found in _WORD.finditer(text):
        surface = _POSSESSIVE.sub("", found.group().rstrip(".")) or found.group()
        is_number = found.start() in covered or surface[0].isdigit()
        name = not is_number and surface[0].isupper() and fold(surface) not in MEASURES and is_name(surface, opens)
        tokens.append(
            Token(
                surface,
                fold(surface),
                tuple(tokeniser.stems(surface)),
                found.start(),
                found.end(),
                name,
                is_number,
                found.start() in denied,
                found.start() in denying,
            )
        )
        opens = text[found.end() : found.end() + 2].strip()[:1] in (".", "!", "?", ":") and not surface.isupper()
    return Sentence(
        text,
        tuple(tokens),
        numbers,
        frozenset(stem for token in tokens for stem in token.stems),
        frozenset(token.word for token in tokens),
        frozenset(stem for token in tokens if token.denied for stem in token.stems),
        read_rules(text, numbers, tokeniser.stems),
    )


def _denial(text: str) -> tuple[set[int], set[int]]:
    """Where the words begin that stand after a negation in its clause, and where the negations do."""
    denied, denying = set[int](), set[int]()
    found = list(_WORD.finditer(text))
    for position, one in enumerate(found):
        word = fold(one.group())
        if not (word in NEGATORS or word in DENYING or word.endswith(NEGATED_ENDING)):
            continue
        following = found[position + 1 : position + 1 + _SCOPE]
        if following and fold(following[0].group()) in _LIMITS:
            continue
        denying.add(one.start())
        last = one.end()
        for other in following:
            if _CLAUSE_END.search(text[last : other.start()]):
                break
            denied.add(other.start())
            last = other.end()
        if fold(one.group()) == "nicht":  # stands behind the verb and its objects as often as before them
            denied |= {other.start() for other in found[max(0, position - 2) : position]}
    return denied, denying
