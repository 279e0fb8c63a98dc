"""The shape of the JSON that jobs write, as JSON Schema (draft 2020-12); a copy to read is in docs/schemas."""

from typing import Any

from elt_llm_consumer.rows import Row

FORMAT = 1
_TEXT = {"type": "string"}


def job_result_schema() -> dict[str, Any]:
    """The schema; rows as `elt_llm_consumer.rows` describes them."""
    row = Row.model_json_schema(mode="serialization", ref_template="#/$defs/{model}")
    definitions = row.pop("$defs")
    definitions |= {"Row": row, "Subgroup": _subgroup(), "Domain": _domain(), "Table": _table()}
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Result of a batch job",
        "description": "A table whose rows have a place in a model is nested by domain and subgroup; any other is a"
        " list of rows.",
    }
    properties = {
        "format": {"const": FORMAT},
        "job": _TEXT,
        "kind": _TEXT,
        "description": _TEXT,
        "figures": {"type": "object", "additionalProperties": {"type": ["number", "string"]}},
        "notes": _list_of(_TEXT),
        "tables": {"type": "object", "additionalProperties": _reference("Table")},
    }
    return {**about, **_closed(properties), "$defs": dict(sorted(definitions.items()))}


def _subgroup() -> dict[str, Any]:
    name = {**_TEXT, "description": "Empty for what stands in the domain itself."}
    return _closed({"name": name, "entities": _list_of(_reference("Row"))})


def _domain() -> dict[str, Any]:
    name = {**_TEXT, "description": "Empty for what stands in no domain."}
    return _closed({"name": name, "subgroups": _list_of(_reference("Subgroup"))})


def _table() -> dict[str, Any]:
    flat = _closed({"columns": _list_of(_TEXT), "rows": _list_of(_reference("Row"))})
    nested = _closed({"columns": _list_of(_TEXT), "domains": _list_of(_reference("Domain"))})
    return {"oneOf": [flat, nested]}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def _list_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}
