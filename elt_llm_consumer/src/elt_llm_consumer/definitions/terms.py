"""When two spellings are of one term."""

from elt_llm_core.text.normalise import words

_ARTICLES = frozenset(("a", "an", "the", "der", "die", "das", "ein", "eine"))
_NO_PLURALS = ("ss", "us", "is", "sis", "news", "as")


def term_key(term: str) -> tuple[str, ...]:
    """What all spellings of a term have in common: no case, number, hyphen or article; empty without words."""
    found = words(term)
    while len(found) > 1 and found[0] in _ARTICLES:
        found = found[1:]
    return tuple(_singular(word) for word in found)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")) and len(word) > 4:
        return word[:-2]
    if word.endswith("s") and len(word) > 3 and not word.endswith(_NO_PLURALS):
        return word[:-1]
    return word
