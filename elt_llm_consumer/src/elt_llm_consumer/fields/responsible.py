"""Who answers for something, where a sentence says so: "The Librarian is responsible for Loans"."""

import re
from collections.abc import Sequence

from elt_llm_consumer.fields.about import About
from elt_llm_consumer.fields.cues import Cues, verbs

_ARTICLE = re.compile(r"^(?:the|a|an|each|every|der|die|das)\s{1,3}", re.IGNORECASE)
_ONLY_ARTICLES = re.compile(
    r"^\s{0,3}(?:(?:the|a|an|all|any|each|every|such|der|die|das|alle)\s{1,3}){0,2}$", re.IGNORECASE
)
_NAME_ENDS = re.compile(
    r"^\s{0,3}(?:[,.;:)\n]|$|(?:and|or|in|of|that|which|who|under|from|until|within|und|oder|unter)(?!\w))",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:]\s{1,3}(?:and\s{1,3}|but\s{1,3}|und\s{1,3})?")
_NOBODY = re.compile(
    r"(?<!\w)(?:who\w{0,6}|that|which|nobody|none|no|one|it|they|he|she|we|you|this|these)(?!\w)", re.IGNORECASE
)
_MOST_WORDS = 8


class Responsible:
    """Reads the subject of sentences in which one of the listed words stands right before a name."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = Cues(answers)

    def who(self, about: About) -> str:
        """Who answers for what the statement is about, without an article; empty where it does not say.

        "Responsible for the yearly report on Loans" is nobody for loans.
        """
        statement = about.statement
        begins = statement.begins - statement.start
        if statement.cells:
            return ""
        for start, end in self._answers.spans(statement.text):
            for first, last in about.mentions:
                before, after = (
                    statement.text[end : max(0, first - statement.start)],
                    statement.text[last - statement.start :],
                )
                if first - statement.start >= end and _ONLY_ARTICLES.match(before) and _NAME_ENDS.match(after):
                    return _named(statement.text[begins:start])
        return ""


def _named(subject: str) -> str:
    """The subject of the last clause, if it is a name and no clause itself."""
    words = " ".join(_CLAUSE.split(subject)[-1].split())
    named = _ARTICLE.sub("", words)
    if not named[:1].isupper() or len(named.split()) > _MOST_WORDS:
        return ""
    return "" if _NOBODY.search(named) or verbs().spans(named) else named
