"""Read the numbers of rules, such as "A3.1", "§ 4", "D1" and "12.", at the start of their paragraphs."""

import re
from collections import Counter

from elt_llm_query.grounding.sentences import TextPiece

from elt_llm_consumer.jobs.corpus import CorpusDocument
from elt_llm_consumer.sentences.statements import is_contents_row

# The number in "12 clubs" is a count; those in "§ 4 Abs. 2" and "3. May 2026" belong to a reference and to a date.
_LABEL = re.compile(
    r"\s{0,4}(?P<series>(?:§\s?|[A-Z]{1,3}[-.]?)(?:\d{1,3}\.){0,4}|(?:\d{1,3}\.){1,4}|(?=\d{1,3}[.)]))"
    r"(?P<last>\d{1,3})(?P<letter>[a-z]?)[.)]?\s+(?!\w+\.?\s\d)"
)
_OPENING, _CLOSING = "\"'“„«(", "\"'”“»)"


class RuleNumbers:
    """The numbers at the start of a document's paragraphs and headings."""

    def __init__(self, document: CorpusDocument) -> None:
        pieces = (one for one in document.pieces if one.kind != "row" and not is_contents_row(one.text))
        found = [(piece, match) for piece in pieces if (match := _LABEL.match(piece.text))]
        self._uses = Counter(_label(match) for _, match in found)
        self._paragraphs = {_place(match) for piece, match in found if piece.new_paragraph}

    def of(self, piece: TextPiece) -> str:
        """Return the number of a piece, such as "A3.1"; empty if it has none, or if another piece has the same."""
        found = _LABEL.match(piece.text)
        return _label(found) if found and self._uses[_label(found)] == 1 else ""

    def is_numbered_rule(self, piece: TextPiece) -> bool:
        """Return whether a piece is a numbered paragraph: a sentence whose own number continues a series of paragraphs.

        The items of ordinary lists are shorter, follow each other without blank lines, or have the numbers of another
        list in the document.
        """
        found = _LABEL.match(piece.text)
        if not found or not piece.new_paragraph or not self.of(piece):
            return False
        series, last = _place(found)
        in_series = not self._paragraphs.isdisjoint({(series, last - 1), (series, last + 1)})
        return in_series and _is_sentence(piece.text[found.end() :])


def _is_sentence(text: str) -> bool:
    """Return whether a text is a whole sentence: a capital letter, a later word in lower case, and an end."""
    is_ended = text.rstrip().rstrip(_CLOSING).endswith((".", "!", ";"))
    return is_ended and text.lstrip(_OPENING)[:1].isupper() and any(word[0].islower() for word in text.split()[3:])


def _place(found: "re.Match[str]") -> tuple[str, int]:
    """Return the place of a number in its series: ("A3.", 1) for "A3.1"."""
    return found["series"].strip(), int(found["last"])


def _label(found: "re.Match[str]") -> str:
    return f"{found['series'].replace(' ', '')}{found['last']}{found['letter']}"
