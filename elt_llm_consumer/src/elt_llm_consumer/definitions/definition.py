"""A definition of a term in a document, and the key that all spellings of a term share."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from elt_llm_core.text.languages import words as language_words
from elt_llm_core.text.normalise import words

from elt_llm_consumer.evidence import Evidence
from elt_llm_consumer.sentences.words import PROTOCOLS

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class Definition:
    """The definition of `term` in a document.

    `text` is the definition on one line, without emphasis and page headers. The verbatim definition is
    document.text[definition_span[0] : definition_span[1]]. `evidence` covers the term and the definition.
    """

    term: str
    text: str
    pattern: str
    """The pattern that found the definition: table, list, sentence, is, brackets, abbreviation or reference."""
    evidence: Evidence = field(repr=False)
    term_span: tuple[int, int]
    definition_span: tuple[int, int]
    abbreviation: str = ""
    """The short form of the term, if the text gives one. For the pattern `abbreviation`, the term itself."""
    refers_to: str = ""
    """The rule or term to which this definition only refers, such as `Rule A3`; empty if it gives a meaning."""
    aliases: tuple[str, ...] = ()
    """Other names of the term in the same sentence or row."""
    see_also: tuple[str, ...] = ()
    """The names of other terms in a column such as See also."""
    listed: bool = False
    """Whether this is a glossary entry that only spells out an abbreviation, as in "GM - General Meeting"."""
    unsure: bool = False
    """Whether the meaning, before a term in brackets, may start earlier or later in its sentence."""

    @property
    def gives_meaning(self) -> bool:
        """Whether it gives a meaning in several words, rather than another name or a reference to another place."""
        return not self.refers_to and self.pattern != "abbreviation" and " " in self.text

    @property
    def order(self) -> tuple[object, ...]:
        """The key by which definitions are sorted: by their places in the texts."""
        one = self.evidence
        return one.collection, one.source, one.document_id, self.term_span, self.definition_span, self.pattern


@dataclass(frozen=True)
class DefinitionDraft:
    """The spans of a possible definition in the text. `score` is the reliability of the matched pattern, 0 to 1."""

    term: tuple[int, int]
    body: tuple[int, int]
    pattern: str
    score: float
    abbreviation: str = ""
    refers_to: str = ""
    aliases: tuple[str, ...] = ()
    see_also: tuple[str, ...] = ()
    listed: bool = False
    unsure: bool = False
    closing: tuple[int, int] | None = None
    """The second part of a German verb, as in "wird ein Wert bezeichnet, der ...", which is not part of the meaning."""


def grouped(definitions: Iterable[Definition], key: Callable[[Definition], _Key]) -> dict[_Key, list[Definition]]:
    """Group the definitions by `key`. Groups and definitions keep the order of the input."""
    found: dict[_Key, list[Definition]] = {}
    for one in definitions:
        found.setdefault(key(one), []).append(one)
    return found


_ARTICLES = language_words("definite_articles") | language_words("indefinite_articles")
_NO_PLURALS = ("ss", "us", "is", "sis", "news", "as")


def term_key(term: str) -> tuple[str, ...]:
    """Return the key that all spellings of a term share: "The Case Files" -> ("case", "file")."""
    found = words(term)
    while len(found) > 1 and found[0] in _ARTICLES:
        found = found[1:]
    return tuple(_singular(word) for word in found)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")) and len(word) > 4:
        return word[:-2]
    if word.endswith("s") and len(word) > 3 and not word.endswith(_NO_PLURALS) and word not in PROTOCOLS:
        return word[:-1]
    return word
