"""The map by domain: how many entities are of each class, or for how many each field was found."""

from typing import Any

from elt_llm_consumer.export.texts import shown
from elt_llm_consumer.rows import JobResult, Row, Table

CLASS_COLUMN = "coverage"
CLASSES = ("STRONG", "MODERATE", "THIN", "ABSENT")


def heat_map(result: JobResult) -> dict[str, Any] | None:
    """A line for each domain with counts and shares, 0 to 1; None where no table has domains."""
    for table in result.tables:
        if table.name != "relationships" and any(row.group for row in table.rows):
            return _classes(table) if CLASS_COLUMN in table.columns else _verdicts(table)
    return None


def _classes(table: Table) -> dict[str, Any]:
    def fits(row: Row, name: str) -> bool:
        return CLASS_COLUMN in row.cells and shown(row.cells[CLASS_COLUMN].value) == name

    lines = [_line(domain, [[fits(row, name) for row in rows] for name in CLASSES]) for domain, rows in _domains(table)]
    return {"table": table.name, "by": CLASS_COLUMN, "group": table.groups[0], "columns": list(CLASSES), "rows": lines}


def _verdicts(table: Table) -> dict[str, Any]:
    def fits(row: Row, name: str) -> bool:
        return name in row.cells and row.cells[name].verdict == "found"

    # A field that is never found is one that is always concluded, and a row of noughts would read as a lack.
    columns = [name for name in table.columns if any(fits(row, name) for row in table.rows)]
    lines = [_line(domain, [[fits(row, name) for row in rows] for name in columns]) for domain, rows in _domains(table)]
    return {"table": table.name, "by": "verdict", "group": table.groups[0], "columns": columns, "rows": lines}


def _line(domain: str, fitting: list[list[bool]]) -> dict[str, Any]:
    total = len(fitting[0]) if fitting else 0
    counts = [sum(column) for column in fitting]
    cells = [{"count": count, "share": round(count / total, 4)} for count in counts]
    return {"domain": domain, "total": total, "cells": cells}


def _domains(table: Table) -> list[tuple[str, list[Row]]]:
    found: dict[str, list[Row]] = {}
    for row in table.rows:
        found.setdefault(row.group[0] if row.group else "", []).append(row)
    return sorted(found.items(), key=lambda item: (not item[0], item[0]))
