"""CSV: a file for each table, and one with all evidence."""

import csv
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from elt_llm_consumer.export.atomic import write_whole
from elt_llm_consumer.export.columns import EVIDENCE_COLUMNS, Line, evidence_lines, header, line
from elt_llm_consumer.export.texts import guarded
from elt_llm_consumer.rows import JobResult

_BYTE_ORDER_MARK = "\ufeff"  # without it spreadsheets take UTF-8 for something else


def write_csv(result: JobResult, path: Path) -> list[Path]:
    """Write `NAME.TABLE.csv` for each table and `NAME.evidence.csv`; returns their paths. `path` is NAME.csv.

    RFC 4180 with UTF-8 and a byte order mark; what a spreadsheet would take for a formula begins with an apostrophe.
    """
    files = {table.name: (header(table), [line(table, row) for row in table.rows]) for table in result.tables}
    files["evidence"] = (EVIDENCE_COLUMNS, list(evidence_lines(result)))
    written = []
    for name, (names, lines) in files.items():
        target = path.with_suffix(f".{name}.csv")
        write_whole(target, as_csv([names, *lines], mark=True))
        written.append(target)
    return written


def as_csv(lines: Iterable[Line], *, mark: bool = False, guard: bool = True) -> bytes:
    """Lines as UTF-8 bytes; numbers as they are, text guarded unless a program and no person is to read it."""
    buffer = StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    for one in lines:
        writer.writerow([guarded(value) if guard and isinstance(value, str) else value for value in one])
    return ((_BYTE_ORDER_MARK if mark else "") + buffer.getvalue()).encode("utf-8", "replace")
