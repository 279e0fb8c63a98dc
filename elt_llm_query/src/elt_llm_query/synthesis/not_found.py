"""Whether a model says that the sources do not hold the answer."""

import re

from elt_llm_core.text.normalise import fold

from elt_llm_query.answer.statements import Statement, statements

_MARK = re.compile(r"\[\d{1,3}\]")
_REFUSALS = (
    "not found in these documents",
    "not found in the documents",
    "not found in the sources",
    "in diesen dokumenten nicht gefunden",
    "in den dokumenten nicht gefunden",
    "in den quellen nicht gefunden",
    "siuose dokumentuose nerasta",
    "introuvable dans ces documents",
    "non trouve dans ces documents",
)
_HEDGES = re.compile(
    r"\b(?:(?:the|these|provided|given) (?:sources|documents|passages|texts?) (?:do|does) not"
    r" (?:say|state|mention|contain|hold|specify|provide|answer|include|give)"
    r"|(?:is|are|was) not (?:mentioned|stated|specified|given|found|contained|included|provided) in"
    r" (?:the|these|any|any of the) (?:\w+ )?(?:sources|documents|passages|texts?)"
    r"|(?:die|diese|den) (?:quellen|dokumente|texte) (?:sagen|nennen|enthalten|geben|erwahnen) (?:dazu )?"
    r"(?:nichts|kein\w*|nicht)"
    r"|(?:saltini|dokument|tekst)\w{1,6} (?:\w{1,20} ){0,3}"
    r"(?:nera|neras|nenurod|nemini|nepamin|nepateik|nesako|nepasak)\w{0,12})"
)
_SHORT = 40  # words; a longer text that says so in passing answers nevertheless


def says_nothing(text: str) -> bool:
    """Whether the text has no word, whatever marks stand in it."""
    return not _words(text)


def says_not_found(text: str) -> bool:
    """Whether the text is a refusal and nothing else: the agreed sentence first, or short, and no claim beside it.

    "A loan lasts four weeks. The sources do not say whether films may be lent." answers what it can.
    """
    said = _words(text)
    if not said or any(said.startswith(refusal) for refusal in _REFUSALS):
        return True
    return denies_in_passing(text) and not any(map(_tells, statements(text)))


def denies_in_passing(text: str) -> bool:
    """Whether a short text says somewhere that the sources do not hold something."""
    said = _words(text)
    return len(said.split()) <= _SHORT and bool(_HEDGES.search(said))


def has_more_than_a_refusal(text: str) -> bool:
    """Whether a text that begins as a refusal goes on to claim something."""
    return any(map(_tells, statements(text)[1:]))


def _tells(statement: Statement) -> bool:
    pieces = statement.clauses or [statement.claim]
    return any(_words(piece) and not _HEDGES.search(_words(piece)) for piece in pieces)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", fold(_MARK.sub(" ", text))))
