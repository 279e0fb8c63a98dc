"""Write the whole result as JSON, with entities nested by domain. Schema: `docs/schemas/job_result.schema.json`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elt_llm_consumer.evidence import JobResult, Row, Table, rows_by_group
from elt_llm_consumer.export.text import write_atomically

FORMAT_VERSION = 1
_TEXT = {"type": "string"}


def job_result_schema() -> dict[str, Any]:
    """Return the JSON Schema of a result. Its rows follow the types of `elt_llm_consumer.evidence`."""
    row = Row.model_json_schema(mode="serialization", ref_template="#/$defs/{model}")
    definitions = row.pop("$defs")
    flat = _closed_object({"columns": _list_of(_TEXT), "rows": _list_of(_reference("Row"))})
    nested = _closed_object({"columns": _list_of(_TEXT), "domains": _list_of(_reference("Domain"))})
    subgroup = {**_TEXT, "description": "Empty for rows of the domain itself."}
    domain = {**_TEXT, "description": "Empty for rows without a domain."}
    definitions |= {
        "Row": row,
        "Subgroup": _closed_object({"name": subgroup, "entities": _list_of(_reference("Row"))}),
        "Domain": _closed_object({"name": domain, "subgroups": _list_of(_reference("Subgroup"))}),
        "Table": {"oneOf": [flat, nested]},
    }
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Result of a batch job",
        "description": "A table with grouped rows is nested by domain and subgroup; any other is a list of rows.",
    }
    properties = {
        "format": {"const": FORMAT_VERSION},
        "job": _TEXT,
        "kind": _TEXT,
        "description": _TEXT,
        "figures": {"type": "object", "additionalProperties": {"type": ["number", "string"]}},
        "notes": _list_of(_TEXT),
        "tables": {"type": "object", "additionalProperties": _reference("Table")},
    }
    return {**about, **_closed_object(properties), "$defs": dict(sorted(definitions.items()))}


def _closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def _list_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


_SEPARATE_TABLE = "relationships"


def write_json(result: JobResult, path: Path) -> list[Path]:
    """Write the result to one file, and its relationships also to a file of their own; return the paths."""
    written = {path: result_json(result)}
    if any(table.name == _SEPARATE_TABLE for table in result.tables):
        written[path.with_suffix(f".{_SEPARATE_TABLE}.json")] = result_json(result, only=_SEPARATE_TABLE)
    for target, value in written.items():
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        write_atomically(target, text.encode("utf-8", "backslashreplace"))
    return list(written)


def result_json(result: JobResult, *, only: str = "") -> dict[str, Any]:
    """Return the result as JSON values. A table with grouped rows has the key `domains`, any other the key `rows`."""
    return {
        "format": FORMAT_VERSION,
        "job": result.job,
        "kind": result.kind,
        "description": result.description,
        "figures": dict(result.figures),
        "notes": list(result.notes),
        "tables": {table.name: _table(table) for table in result.tables if only in ("", table.name)},
    }


def _table(table: Table) -> dict[str, Any]:
    head: dict[str, Any] = {"columns": list(table.columns)}
    if not any(row.group for row in table.rows):
        return {**head, "rows": _rows(table.rows)}
    domains = [
        {
            "name": name,
            "subgroups": [{"name": inner, "entities": _rows(found)} for inner, found in rows_by_group(rows, 1).items()],
        }
        for name, rows in rows_by_group(table.rows, 0).items()
    ]
    return {**head, "domains": domains}


def _rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [row.model_dump(mode="json") for row in rows]
