"""Every statement of the texts that speaks of a name, found in one pass over each document."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elt_llm_query.answer.pieces import Piece

from elt_llm_consumer.corpus import Corpus, CorpusDocument
from elt_llm_consumer.names import Mention, Names
from elt_llm_consumer.rows import Evidence

# "A3 Definitions | 8", "Fees .......... 12": a row of a table of contents.
_CONTENTS_ROW = re.compile(r"[^\n]{1,300}?(?:\||\.{3,200}|\t)[ .]{0,200}\d{1,4}\s{0,3}\|?\s{0,3}$")
_SURE, _UNSURE = 1.0, 0.5


@dataclass(frozen=True)
class Statement:
    """A sentence, list item or table row that speaks of a name; `certain` if one of its mentions is."""

    document: CorpusDocument
    piece: Piece
    name: str
    mentions: tuple[Mention, ...]

    @property
    def certain(self) -> bool:
        """Whether it speaks of this and hardly of anything else."""
        return any(mention.certain for mention in self.mentions)

    @property
    def weight(self) -> float:
        """1 for a certain statement, half for one whose words may mean something else."""
        return _SURE if self.certain else _UNSURE

    @property
    def section(self) -> str:
        """Headings above it, joined by ' > '; empty above the first."""
        return self.document.outline.section_at(self.piece.start) or ""

    def evidence(self, score: float, about: str = "") -> Evidence:
        """The whole statement as evidence."""
        return self.document.evidence(self.piece.start, self.piece.end, score, about)


class MentionIndex:
    """Which statements speak of which name. Headings and tables of contents name things and state nothing."""

    def __init__(self, corpus: Corpus, names: Names) -> None:
        self._key = names.key
        self._stating: dict[tuple[str, ...], list[Statement]] = {}
        self._headed: dict[tuple[str, ...], list[Statement]] = {}
        # A name that stands only within longer ones, as a ground does in a ground grade, is met in a later pass.
        left = names
        while left.names and self._read(corpus, left):
            left = names.only([name for name in left.names if not self.of(name) and not self.headed(name)])

    def of(self, name: str) -> Sequence[Statement]:
        """The statements that speak of a name, in order of document and place."""
        return self._stating.get(self._key(name), ())

    def headed(self, name: str) -> Sequence[Statement]:
        """The headings and rows of contents that name it."""
        return self._headed.get(self._key(name), ())

    def _read(self, corpus: Corpus, names: Names) -> bool:
        """Add what speaks of these names; tells whether anything does."""
        anything = False
        for document in corpus.documents:
            for statement in _statements(document, names):
                anything = True
                states = statement.piece.kind not in {"heading", "rule"} and not is_contents_row(statement.piece.text)
                place = self._stating if states else self._headed
                place.setdefault(self._key(statement.name), []).append(statement)
        return anything


def is_contents_row(text: str) -> bool:
    """Whether a line is a row of a table of contents: a title, and the number of a page."""
    return bool(_CONTENTS_ROW.fullmatch(text.strip())) and text.count("|") <= 3


def _statements(document: CorpusDocument, names: Names) -> Iterator[Statement]:
    pieces = document.pieces
    starts = [piece.start for piece in pieces]
    found: dict[tuple[int, str], list[Mention]] = {}
    for mention in names.mentions(document.text):
        number = bisect_right(starts, mention.start) - 1
        if number >= 0 and mention.start < pieces[number].end:
            found.setdefault((number, mention.name), []).append(mention)
    for (number, name), mentions in sorted(found.items()):
        yield Statement(document, pieces[number], name, tuple(mentions))
