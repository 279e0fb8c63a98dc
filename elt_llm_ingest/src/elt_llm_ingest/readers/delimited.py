"""Read CSV and TSV: one table, row by row, with a detected charset and delimiter."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import ClassVar

from elt_llm_ingest.parsing.charset import decode
from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.tables import write_sheet_table

_DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS = 65_536
_SAMPLE_ROWS = 300
# A character in a cell that may be the real delimiter: no decimal or thousands separator, no comma in prose.
_SUSPECT_CELL = re.compile(r"[;\t|]|,(?![\s\d])|,\d{0,2},")
_MAX_LINES_IN_CELL = 200
_DECLARATION = "sep="


def detect_delimiter(text: str, preferred: str = ",") -> str:
    """Return the delimiter that gives the most regular rows, or `preferred` if no delimiter separates columns."""
    sample = text[:_SAMPLE_CHARACTERS]
    if len(text) > len(sample):
        sample = sample[: sample.rfind("\n") + 1] or sample
    scores = {delimiter: _score_delimiter(_sample_rows(sample, delimiter)) for delimiter in _DELIMITERS}
    best = max(scores, key=lambda delimiter: (scores[delimiter], delimiter == preferred))
    return best if scores[best] > 0 else preferred


def parse_rows(text: str, delimiter: str) -> tuple[list[list[str]], tuple[str, ...]]:
    """Return all rows that are not blank. A line with an unclosed quote is read as one row, and noted."""
    lines = [f"{line}\n" for line in text.split("\n")]
    usual = Counter(line.count(delimiter) for line in lines if line.strip()).most_common(1)
    rows: list[list[str]] = []
    unclosed: list[int] = []
    start = 0
    while start < len(lines):
        row, end = _next_row(lines, start, delimiter)
        if end - start != 1 and _is_unclosed(lines[start:end], delimiter, usual[0][0] if usual else 0):
            row, end = next(_parse_unquoted(lines[start].rstrip("\n"), delimiter), []), start + 1
            unclosed.append(end)
        rows += [row] if row else []
        start = end
    more = f" and {len(unclosed) - 1} more" if len(unclosed) > 1 else ""
    notes = (f"line {unclosed[0]}{more}: a quote is not closed, so the line is read as a row",) if unclosed else ()
    return rows, notes


def _next_row(lines: Sequence[str], start: int, delimiter: str) -> tuple[list[str], int]:
    """Return the row that starts at a line, and the number of the line after it (`start` if a cell is too long)."""
    reader = csv.reader((lines[number] for number in range(start, len(lines))), delimiter=delimiter)
    try:
        return next(reader), start + reader.line_num
    except csv.Error:
        return [], start


def _is_unclosed(lines: Sequence[str], delimiter: str, usual: int) -> bool:
    """Return whether a row is too long, or malformed with a line below that has the `usual` number of delimiters."""
    if not lines or len(lines) > _MAX_LINES_IN_CELL:
        return True
    if not usual or all(line.count(delimiter) != usual for line in lines[1:]):
        return False
    try:
        return not list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return True


def _parse_unquoted(text: str, delimiter: str) -> Iterator[list[str]]:
    for line in text.split("\n"):
        if line.strip():
            yield [cell.strip('"') for cell in line.split(delimiter)]


def _sample_rows(sample: str, delimiter: str) -> list[list[str]]:
    try:
        return list(islice(filter(None, csv.reader(StringIO(sample, newline=""), delimiter=delimiter)), _SAMPLE_ROWS))
    except csv.Error:
        return list(_parse_unquoted(sample, delimiter))[:_SAMPLE_ROWS]


def _score_delimiter(rows: Sequence[Sequence[str]]) -> float:
    """Return a score from 0 to 1: high if most rows have equally many cells and few cells contain other delimiters."""
    lengths = Counter(len(row) for row in rows if len(row) > 1)
    if not lengths:
        return 0.0
    usual, count = max(lengths.items(), key=lambda item: (item[1], item[0]))
    cells = [cell for row in rows for cell in row]
    clean = sum(not _SUSPECT_CELL.search(cell) for cell in cells) / len(cells)
    return count / len(rows) * clean * (1 - 1 / (2 * usual))


class DelimitedReader(DocumentReader):
    """Reads .csv, .tsv and .tab files. A cell of several lines becomes one line."""

    name: ClassVar[str] = "delimited"
    version: ClassVar[int] = 2

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is not text."""
        text, notes = decode(read_bytes(path))
        declared, body = _declared_delimiter(text)
        delimiter = declared or detect_delimiter(body, "," if path.suffix.lower() == ".csv" else "\t")
        rows, row_notes = parse_rows(body, delimiter)
        builder = DocumentBuilder()
        write_sheet_table(builder, rows)
        return builder.build(path.stem, notes=notes + row_notes)


def _declared_delimiter(text: str) -> tuple[str, str]:
    """Return the delimiter that a first line such as `sep=;` declares, and the text below; else "" and all text."""
    first, _, rest = text.partition("\n")
    bare = first.strip('" ')
    if bare.casefold().startswith(_DECLARATION) and len(bare) == len(_DECLARATION) + 1 and bare[-1] in ",;\t|:^~":
        return bare[-1], rest
    return "", text
