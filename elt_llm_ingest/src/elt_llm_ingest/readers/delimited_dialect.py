"""Which character parts the cells of a CSV file, found by trying each and looking at the cells it gives."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO

_DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS = 65_536
_SAMPLE_ROWS = 300
# A decimal or thousands mark, and a mark within prose, part no cells: another delimiter elsewhere in a cell may.
_SUSPECT = re.compile(r"[;\t|]|,(?![\s\d])|,\d{0,2},")
_MOST_LINES_IN_A_CELL = 200


def delimiter_of(text: str, preferred: str = ",") -> str:
    """The delimiter whose rows agree best in length and whose cells hold no other; `preferred` if none parts cells."""
    sample = text[:_SAMPLE_CHARACTERS]
    if len(text) > len(sample):
        sample = sample[: sample.rfind("\n") + 1] or sample
    scores = {delimiter: _score(_sample_rows(sample, delimiter)) for delimiter in _DELIMITERS}
    best = max(scores, key=lambda delimiter: (scores[delimiter], delimiter == preferred))
    return best if scores[best] > 0 else preferred


def rows_of(text: str, delimiter: str) -> tuple[list[list[str]], tuple[str, ...]]:
    """All rows, blank lines left out, and a note if quotes do not balance, so that every line is a row of its own."""
    try:
        rows = [row for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error:
        rows = []
    swallowed = any(cell.count("\n") > _MOST_LINES_IN_A_CELL for row in rows for cell in row)
    if swallowed or (not rows and text.strip()):
        return list(_unquoted(text, delimiter)), ("quotes do not balance: each line is read as a row",)
    return rows, ()


def _unquoted(text: str, delimiter: str) -> Iterator[list[str]]:
    for line in text.split("\n"):
        if line.strip():
            yield [cell.strip('"') for cell in line.split(delimiter)]


def _sample_rows(sample: str, delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(StringIO(sample, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
    except csv.Error:
        return list(_unquoted(sample, delimiter))[:_SAMPLE_ROWS]
    return rows


def _score(rows: Sequence[Sequence[str]]) -> float:
    """From 0 to 1: the share of rows as long as most are, times that of cells that no other delimiter would part."""
    lengths = Counter(len(row) for row in rows if len(row) > 1)
    if not lengths:
        return 0.0
    usual, count = max(lengths.items(), key=lambda item: (item[1], item[0]))
    cells = [cell for row in rows for cell in row]
    clean = sum(not _SUSPECT.search(cell) for cell in cells) / len(cells)
    return count / len(rows) * clean * (1 - 1 / (2 * usual))
