"""What leads from one passage to the next: the names it has and the question has not, and titles that are mentioned."""

import re
from collections.abc import Iterator

from elt_llm_core.store.records import StoredNode

from elt_llm_query.retrieve.searchable import Tokeniser

MOST_NAMES = 8
MOST_CHARACTERS = 3000  # of a passage that are read for names
SHORTEST_TITLE = 4  # characters: shorter titles stand in many passages by chance
MENTIONS = 1.0
IS_MENTIONED = 0.5
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_INNER = r"(?:[\w'\u2019-]|\.(?=\w))"
_NAME = re.compile(
    rf"\b{_CAPITAL}{_INNER}{{0,40}}(?:\s{{1,3}}(?:(?:of|the|and|de|la|von|der)\s{{1,3}})?"
    rf"(?:{_CAPITAL}|\d){_INNER}{{0,40}}){{0,6}}"
)
_ASIDE = re.compile(r"\s{0,3}\([^()]{0,80}\)\s{0,3}$")
_WORD = re.compile(r"\w{1,60}")


def bridge_names(text: str, question: str, tokeniser: Tokeniser) -> list[str]:
    """Names in a passage with words that the question lacks, in the order of the text, at most 8."""
    asked = set(tokeniser.stems(question))
    names: dict[str, str] = {}
    for found in _NAME.finditer(text[:MOST_CHARACTERS]):
        name = _trimmed(found.group(), tokeniser)
        if name and not set(tokeniser.stems(name)) <= asked:
            names.setdefault(name.casefold(), name)
        if len(names) == MOST_NAMES:
            break
    return list(names.values())


def unanswered(question: str, passage: str, tokeniser: Tokeniser) -> list[str]:
    """The words of the question that a passage does not have, stopwords left out."""
    there = set(tokeniser.stems(passage))
    words = (found.group() for found in _WORD.finditer(question))
    return [word for word in words if (stems := tokeniser.stems(word)) and not there & set(stems)]


def link(source: StoredNode, other: StoredNode, question: str) -> float:
    """1 if the source names the other's document, 0.5 if it is the other way round, else 0.

    Titles are compared word by word, without what they add in parentheses. A document that the question names itself
    needs no link, and passages of one title have none.
    """
    title, own = _title(other), _title(source)
    if title == own:
        return 0.0
    if _mentions(source.text, title) and not _mentions(question, title):
        return MENTIONS
    return IS_MENTIONED if _mentions(other.text, own) else 0.0


def _trimmed(name: str, tokeniser: Tokeniser) -> str:
    """A name without the stopwords it begins or ends with: "The Charmed" at the start of a sentence."""
    words = name.split()
    while words and not (words[0][0].isupper() and tokeniser.stems(words[0])):
        words = words[1:]
    while words and not tokeniser.stems(words[-1]):
        words = words[:-1]
    return " ".join(words).rstrip(".'-")


def _title(node: StoredNode) -> str:
    return _spaced(_ASIDE.sub("", node.title or ""))


def _mentions(text: str, title: str) -> bool:
    return len(title) - 2 >= SHORTEST_TITLE and title in _spaced(text)


def _spaced(text: str) -> str:
    """The words in lower case with a space around each, so that only whole words are found in it."""
    return f" {' '.join(_words(text))} "


def _words(text: str) -> Iterator[str]:
    return (found.group() for found in _WORD.finditer(text.casefold()))
