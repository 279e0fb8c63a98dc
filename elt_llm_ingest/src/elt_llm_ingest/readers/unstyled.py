"""What a paragraph is where its author used no styles but bold type only."""

from elt_llm_ingest.readers.headings import begins_item, numbered_level

_LONGEST_HEADING = 100
_LONGEST_TERM = 60
_MEANS = (":", "means ", "\u2013 ", "\u2014 ", "- ", "= ")


def unstyled_level(text: str, *, bold: bool) -> int | None:
    """The level of a short line that is all bold, or None: it then is no heading."""
    if not bold or not text or "\n" in text or len(text) > _LONGEST_HEADING or text[-1] in ".,;:!?":
        return None
    if not any(letter.isalpha() for letter in text):
        return None
    return numbered_level(text) or (None if begins_item(text) else 1)


def is_definition(term: str, text: str) -> bool:
    """Whether a bold beginning is said to mean what follows it."""
    term = " ".join(term.split())
    rest = text[len(term) :].strip()
    if not term or not rest or len(term) > _LONGEST_TERM:
        return False
    return term.endswith(":") or rest.startswith(_MEANS)
