"""Detect refusals, in which a model states that the sources do not contain the answer."""

import re

from elt_llm_core.text.normalise import fold

from elt_llm_query.grounding.citations import AnswerStatement, split_statements
from elt_llm_query.understanding.patterns import PatternFile

_MARK = re.compile(r"\[\d{1,3}\]")
_PATTERNS = PatternFile(__file__)
_REFUSALS = tuple(refusal for (refusal,) in _PATTERNS.rows("refusals"))
_SHORT = 40  # words; a longer text is an answer, even if it mentions in passing what the sources lack


def is_blank(text: str) -> bool:
    """Whether the text contains no word."""
    return not _words(text)


def is_refusal(text: str) -> bool:
    """Whether the text is only a refusal: it starts with a known refusal, or is short and claims nothing.

    "A loan lasts four weeks. The sources do not mention films." is a partial answer, not a refusal.
    """
    words = _words(text)
    if not words or words.startswith(_REFUSALS):
        return True
    return mentions_refusal(text) and not any(map(_makes_claim, split_statements(text)))


def mentions_refusal(text: str) -> bool:
    """Return whether a text is short and mentions that the sources do not contain something."""
    words = _words(text)
    return len(words.split()) <= _SHORT and bool(_PATTERNS["hedges"].search(words))


def goes_beyond_refusal(text: str) -> bool:
    """Return whether a text that starts with a refusal also makes a claim after its first sentence."""
    return any(map(_makes_claim, split_statements(text)[1:]))


def _makes_claim(statement: AnswerStatement) -> bool:
    pieces = map(_words, statement.clauses or [statement.claim])
    return any(words and not _PATTERNS["hedges"].search(words) for words in pieces)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", fold(_MARK.sub(" ", text))))
