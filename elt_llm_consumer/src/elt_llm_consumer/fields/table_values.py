"""Values in tables: the cell under a header, in a row that is about a name or lists it."""

import re
from collections.abc import Iterable, Sequence

from elt_llm_consumer.fields.candidates import Candidate
from elt_llm_consumer.fields.statements import Statement, TableCell
from elt_llm_consumer.names import Names

_OWN_ROW, _OWN_RECORD, _LISTED, _LISTED_RECORD = 1.0, 0.9, 0.8, 0.75
_KIND = 0.86
"""Plain enough to stand beside sentences, and no value of the whole."""
_BETWEEN = re.compile(r"[,;]|\s(?:and|or|und|oder)\s")
_NUMBERED = re.compile(r"^[A-Z]{0,4}\s?[\d.]{1,8}[a-z]?$")


class TableField:
    """Finds the values of one field in tables whose columns are headed by it."""

    def __init__(self, headers: Sequence[str], record_words: Sequence[str], names: Names) -> None:
        self._names = names
        self._headers = {names.key(header) for header in headers}
        self._known = {names.key(name) for name in names.names}
        self._records = {names.key(word) for word in record_words}

    def rows(self, statements: Iterable[Statement]) -> list[tuple[Statement, TableCell]]:
        """The rows that have a value under one of the headers, with its cell."""
        return [
            (statement, cell)
            for statement in statements
            for cell in statement.cells
            if cell.text and cell.header and self._names.key(cell.header) in self._headers
        ]

    def candidates(self, name: str, rows: Sequence[tuple[Statement, TableCell]]) -> list[Candidate]:
        """The values of rows about a name, best first."""
        keys = {self._names.key(form) for form in self._names.forms(name)}
        found = []
        for statement, value in rows:
            others = [cell for cell in statement.cells if cell.start != value.start]
            score = max((self._score(cell, others, keys) for cell in others), default=0.0)
            if score:
                found.append(Candidate(statement, score, value.text, (f"under '{value.header}'",)))
        return sorted(found, key=lambda one: (-one.score, one.statement.number))

    def kinds(self, name: str, rows: Sequence[tuple[Statement, TableCell]]) -> list[Candidate]:
        """The values of rows about kinds of what is named: "Adult case files" under "Case File", with their names.

        A kind that has a name of its own is another thing.
        """
        keys = {self._names.key(form) for form in self._names.forms(name)}
        found = []
        for statement, value in rows:
            who = _subject(statement.cells)
            key = self._names.key(who.text)
            if who.start != value.start and key not in self._known and any(_is_kind(key, own) for own in keys):
                said = f"{who.text}: {value.text}"
                found.append(Candidate(statement, _KIND, said, (f"a kind of it, under '{value.header}'",)))
        return found

    def answering(self, name: str, rows: Sequence[tuple[Statement, TableCell]]) -> list[Candidate]:
        """Who is listed with a name among what he or she answers for, such as an office and its duties."""
        keys = {self._names.key(form) for form in self._names.forms(name)}
        found = []
        for statement, duties in rows:
            who = _subject(statement.cells)
            if who.start != duties.start and self._listed(duties, keys):
                value = f"{who.text}: {duties.header}: {duties.text}"
                found.append(Candidate(statement, _LISTED, value, (f"listed under '{duties.header}'",)))
        return found

    def _listed(self, cell: TableCell, keys: set[tuple[str, ...]]) -> float:
        items = _BETWEEN.split(cell.text)
        return max((self._is_about(item, keys, _LISTED, _LISTED_RECORD) for item in items), default=0.0)

    def _score(self, cell: TableCell, cells: Sequence[TableCell], keys: set[tuple[str, ...]]) -> float:
        if cell.start == _subject(cells).start:
            own = self._is_about(cell.text, keys, _OWN_ROW, _OWN_RECORD)
            if own:
                return own
        return self._listed(cell, keys)

    def _is_about(self, text: str, keys: set[tuple[str, ...]], itself: float, record: float) -> float:
        key = self._names.key(text)
        if key in keys:
            return itself
        return record if len(key) > 1 and key[-1:] in self._records and key[:-1] in keys else 0.0


def _subject(cells: Sequence[TableCell]) -> TableCell:
    """The first cell that says what the row is about: not its number."""
    return next((cell for cell in cells if cell.text and not _NUMBERED.match(cell.text)), cells[0])


def _is_kind(key: tuple[str, ...], own: tuple[str, ...]) -> bool:
    return len(own) > 1 and len(key) > len(own) and key[-len(own) :] == own
