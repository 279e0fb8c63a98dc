"""English and German patterns for definitions, and for sentences that only look like definitions."""

import re
import tomllib
from importlib.resources import files
from typing import Final

from elt_llm_core.text.languages import alternatives
from elt_llm_core.text.languages import words as language_words

from elt_llm_consumer.sentences.words import FINITE_VERBS, word_list

_FILE: Final = tomllib.loads(
    files("elt_llm_consumer.definitions").joinpath("patterns.toml").read_text(encoding="utf-8")
)
_PART: Final = re.compile(r"@(\w+)@")


def pattern(name: str) -> "re.Pattern[str]":
    """Compile the pattern `name` of `patterns.toml`. Raises KeyError if the file has no such pattern."""
    if name in _FILE["any_case"]:
        return re.compile(_expanded(_FILE["any_case"][name]), re.IGNORECASE)
    return re.compile(_expanded(_FILE["exact_case"][name]))


def patterns(name: str) -> "tuple[re.Pattern[str], ...]":
    """Compile the pattern list `name` of `patterns.toml`, ignoring case. Raises KeyError for an unknown name."""
    return tuple(re.compile(_expanded(text), re.IGNORECASE) for text in _FILE["any_case"][name])


def _expanded(text: str) -> str:
    joined = "".join(line.strip() for line in text.splitlines())
    return _PART.sub(lambda part: _expanded(_FILE["parts"][part[1]]), joined)


ARTICLE: Final = pattern("article_before_word")
CONTEXT_IN_BRACKETS: Final = re.compile(r"\s{0,9}\(([^()]{1,80})\)\s{0,9}$")


VERB: Final = pattern("defining_verb")

# A subject that starts with one of these words is not a term.
NOT_FIRST: Final = word_list("not_first_in_term")
# A subject directly before a verb that starts with one of these words is not a term.
NOT_BEFORE_VERB: Final = frozenset(map(str.casefold, word_list("not_before_verb")))
# A subject that contains one of these words is a clause.
NOT_WITHIN: Final = word_list("not_within_term")
STRUCTURE: Final = language_words("document_parts")
STRONGLY_DISTINGUISHING: Final = pattern("strongly_distinguishing")
PRAISING: Final = pattern("praising")
FINITE: Final = re.compile(rf"\b(?:{alternatives(FINITE_VERBS)})\b", re.IGNORECASE)
DISTINGUISHING: Final = pattern("distinguishing")
PLACE: Final = pattern("reference_place")
SEE: Final = pattern("see_reference")
