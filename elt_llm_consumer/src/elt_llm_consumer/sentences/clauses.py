"""Find the role of a mentioned thing in its sentence: whether a verb describes it, and whether a rule is about it.

In "the Loan ends", the verb describes what happens to the loan. In "the Clerk must cancel the Loan", the clerk and the
loan are the subject and the object of a rule.
"""

import re
from typing import Final

from elt_llm_core.text.languages import word_pattern
from elt_llm_core.text.outline import Span

from elt_llm_consumer.sentences.words import word_list

_PREPOSITIONS: Final = word_list("clause_prepositions")
_NEAR_BEFORE, _OBJECT_WORDS = 3, 8
_STOPS = re.compile(r"[,;:.()|]")
_PRONOUNS = frozenset({"it", "they", "he", "she", "this", "es", "er", "sie"})
_DETERMINERS: Final = word_list("clause_determiners")
# These words start a subordinate clause; the subject of the clause follows.
_SUBORDINATE = word_pattern(
    r"(?<!\w)@clause_openers@\s{1,3}(\w{1,30})(?![\w,])",  # the clause "if lost, ..." has no subject
    re.IGNORECASE,
)
_COORDINATE = word_pattern(r"[,;]\s{1,3}@coordinators@?\s{0,3}(\w{1,30})", re.IGNORECASE)
_MODAL = word_pattern(r"(?<!\w)@clause_modals@(?!\w)")
_RELATIVE = re.compile(r"(?<!\w)(?:that|which|who|where|whose)\s{1,3}$", re.IGNORECASE)


def follows_preposition(before: str, allowed: frozenset[str] = frozenset()) -> bool:
    """Return whether the last three words of `before` contain a preposition that is not in `allowed`."""
    return any(word.casefold() in _PREPOSITIONS - allowed for word in before.split()[-_NEAR_BEFORE:])


def describes_mention(text: str, mention: Span, word: Span, start: int = 0) -> bool:
    """Return whether `word` describes what happens to the mentioned thing.

    "A Loan ends", "the Clerk cancels the Loan" and "the end of the Loan" describe what happens to a loan. "Opened with
    a Loan Card", "a Book without a Loan Card must be closed" and "the Reader pays before work starts" do not describe
    what happens to the card or the reader. The sentence starts, after its number, at the offset `start`.
    """
    if word[1] <= mention[0]:
        between = text[word[1] : mention[0]]
        near = len(between.split()) <= _OBJECT_WORDS and not _STOPS.search(between)
        return near and not _has_preposition(between) and not _SUBORDINATE.search(f"{between} it")
    if follows_preposition(_last_clause(text[start : mention[0]]), frozenset({"of"})):
        return False
    return not _has_other_subject(text[mention[1] : word[1]], word[0] - mention[1])


def is_party_to_rule(text: str, mention: Span, start: int = 0) -> bool:
    """Return whether the mentioned thing is subject or object of a clause that demands, allows or forbids something."""
    for modal in _MODAL.finditer(text, start):
        if _RELATIVE.search(text[max(start, modal.start() - 10) : modal.start()]):
            continue
        if modal.end() <= mention[0]:
            between = text[modal.end() : mention[0]]
            near = len(between.split()) <= _OBJECT_WORDS and not _STOPS.search(between)
            if near and not _has_preposition(between, "of"):
                return True
        elif mention[1] <= modal.start() and describes_mention(text, mention, modal.span(), start):
            return not follows_preposition(_last_clause(text[start : mention[0]]))
    return False


def _has_preposition(between: str, also: str = "") -> bool:
    words = {word.casefold() for word in between.split()}
    return not words.isdisjoint((_PREPOSITIONS - {"of"}) | {also})


def _last_clause(before: str) -> str:
    return re.split(r"[,;:]", before)[-1]


def _has_other_subject(between: str, word: int) -> bool:
    """Return whether a clause with another subject starts in `between` before the offset `word`."""
    for clause in _SUBORDINATE.finditer(between):
        if clause.start(1) < word and clause[1].casefold() not in _PRONOUNS:
            return True
    return any(
        clause.start(1) < word and (clause[1].casefold() in _DETERMINERS or clause[1][0].isupper())
        for clause in _COORDINATE.finditer(between)
    )
