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
_SENTENCE = re.compile(r"[\"'“„«(]?[A-ZÄÖÜ](?:\S*\s+){3,}?[a-zäöü].*[.!;][\"'”“»)]*", re.DOTALL)


class RuleNumbers:
    """The numbers at the start of a document's paragraphs and headings."""

    def __init__(self, document: CorpusDocument) -> None:
        texts = (one.text for one in document.pieces if one.kind != "row" and not is_contents_row(one.text))
        found = [match for match in map(_LABEL.match, texts) if match]
        self._uses = Counter(map(_label, found))
        self._series = {(match["series"].strip(), int(match["last"])) for match in found}

    def of(self, piece: TextPiece) -> str:
        """Return the number of a piece, such as "A3.1"; empty if it has none, or if another piece has the same."""
        found = _LABEL.match(piece.text)
        return _label(found) if found and self._uses[_label(found)] == 1 else ""

    def is_numbered_rule(self, piece: TextPiece) -> bool:
        """Return whether a piece is a numbered paragraph: a sentence with a number of its own that is in a series.

        The items of ordinary lists are shorter, follow each other without blank lines, or have the numbers of another
        list in the document.
        """
        found = _LABEL.match(piece.text)
        if not found or not piece.new_paragraph or not self.of(piece):
            return False
        series, last = found["series"].strip(), int(found["last"])
        in_series = not self._series.isdisjoint({(series, last - 1), (series, last + 1)})
        return in_series and _SENTENCE.fullmatch(piece.text, found.end(), len(piece.text.rstrip())) is not None


def _label(found: "re.Match[str]") -> str:
    return f"{found['series'].replace(' ', '')}{found['last']}{found['letter']}"
