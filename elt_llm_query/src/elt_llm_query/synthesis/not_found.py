"""Whether a model says that the sources do not hold the answer."""

import re

from elt_llm_core.text.normalise import fold

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
    r"(?:nichts|kein\w*|nicht))"
)
_SHORT = 40  # words; a longer text that says so in passing answers nevertheless


def says_not_found(text: str) -> bool:
    """Whether the text is a refusal and nothing else: the agreed sentence, or a short one to that effect."""
    said = " ".join(re.findall(r"\w+", fold(_MARK.sub(" ", text))))
    if not said:
        return True
    if any(said.startswith(refusal) for refusal in _REFUSALS):
        return True
    return len(said.split()) <= _SHORT and bool(_HEDGES.search(said))
