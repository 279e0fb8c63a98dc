"""JSON: the whole result, entities nested by where they stand, shaped as `docs/schemas/job_result.schema.json` says."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elt_llm_consumer.export.atomic import write_whole
from elt_llm_consumer.export.schema import FORMAT, job_result_schema
from elt_llm_consumer.rows import JobResult, Row, Table

_APART = "relationships"


def write_json(result: JobResult, path: Path) -> list[Path]:
    """Write the result, and its relationships once more in a file of their own; returns the paths.

    Raises jsonschema.ValidationError if the shape is not the documented one, which is a fault of this program.
    """
    written = {path: document(result)}
    if any(table.name == _APART for table in result.tables):
        written[path.with_suffix(f".{_APART}.json")] = document(result, only=_APART)
    for target, value in written.items():
        _check(value)
        write_whole(target, as_json(value))
    return list(written)


def document(result: JobResult, *, only: str = "") -> dict[str, Any]:
    """The result as JSON: a table whose rows have a place has `domains`, any other has `rows`."""
    return {
        "format": FORMAT,
        "job": result.job,
        "kind": result.kind,
        "description": result.description,
        "figures": dict(result.figures),
        "notes": list(result.notes),
        "tables": {table.name: _table(table) for table in result.tables if only in ("", table.name)},
    }


def as_json(value: Mapping[str, Any]) -> bytes:
    """JSON with two spaces a level, keys as they come, UTF-8, a line break at the end."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _table(table: Table) -> dict[str, Any]:
    head: dict[str, Any] = {"columns": list(table.columns)}
    if not any(row.group for row in table.rows):
        return {**head, "rows": [_row(row) for row in table.rows]}
    return {**head, "domains": [_domain(name, rows) for name, rows in _by_group(table.rows, 0).items()]}


def _domain(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    subgroups = _by_group(rows, 1)
    listed = [{"name": inner, "entities": [_row(row) for row in found]} for inner, found in subgroups.items()]
    return {"name": name, "subgroups": listed}


def _by_group(rows: Sequence[Row], depth: int) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.group[depth] if len(row.group) > depth else "", []).append(row)
    return grouped


def _row(row: Row) -> dict[str, Any]:
    return row.model_dump(mode="json")


def _check(value: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator(job_result_schema()).validate(value)
