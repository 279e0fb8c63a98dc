"""Write a self-contained HTML page with search, filters, the evidence of every cell, a heat map and a graph."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from elt_llm_consumer.evidence import JobResult, Row, rows_by_group
from elt_llm_consumer.export.text import printable, value_text, write_atomically
from elt_llm_consumer.jobs.sections import CoverageClass

_END_COLUMNS = {"source": ("source", "source_entity"), "target": ("target", "target_entity")}
"""The columns that may contain the name of a relationship's source or target."""
_COLUMNS = 4
_WIDTH, _LINE, _HEAD, _INDENT = 230, 18, 34, 14  # in drawing units, as are the constants below
_BOX_GAP, _MARGIN = 60, 20
_LEFT = 90  # space for lines that curve to the left of the first column


def relationship_graph(result: JobResult) -> dict[str, Any] | None:
    """Return the positions of nodes, domains and edges; None if there are no relationships.

    Each domain is a box. Entities without a row of their own are in a box without a name. The result is repeatable.
    """
    edges = [row for table in result.tables if table.name == "relationships" for row in table.rows]
    edges = [row for row in edges if all(_end_name(row, end) for end in _END_COLUMNS)]
    if not edges:
        return None
    known = {row.name: row.group[0] if row.group else "" for table in result.tables for row in table.rows}
    domains: dict[str, list[str]] = {}
    for name in sorted({_end_name(row, end) for row in edges for end in _END_COLUMNS}):
        domains.setdefault(known.get(name, ""), []).append(name)
    domains = dict(sorted(domains.items(), key=lambda item: (not item[0], item[0])))
    nodes, boxes, width, height = _layout_boxes(domains)
    numbers = {node["name"]: number for number, node in enumerate(nodes)}
    joined = [{"name": row.name, **{end: numbers[_end_name(row, end)] for end in _END_COLUMNS}} for row in edges]
    return {"nodes": nodes, "edges": joined, "domains": boxes, "width": width, "height": height}


def _end_name(row: Row, end: str) -> str:
    return next((value_text(row.cells[column].value) for column in _END_COLUMNS[end] if column in row.cells), "")


def _layout_boxes(domains: Mapping[str, Sequence[str]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int, int]:
    """Return the positions of nodes and boxes, and the width and height of the drawing.

    Each box (domain) is added to the column of boxes that is shortest so far, or to the first of equally short ones.
    """
    columns = [_MARGIN] * min(_COLUMNS, len(domains))
    nodes: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    for domain, names in domains.items():
        column = columns.index(min(columns))
        x, y = _LEFT + column * (_WIDTH + _BOX_GAP), columns[column]
        height = _HEAD + len(names) * _LINE
        boxes.append({"name": domain, "x": x, "y": y, "width": _WIDTH, "height": height})
        for number, name in enumerate(names):
            nodes.append({"name": name, "x": x + _INDENT, "y": y + _HEAD + number * _LINE})
        columns[column] = y + height + _BOX_GAP
    width = _LEFT + len(columns) * (_WIDTH + _BOX_GAP) - _BOX_GAP + _MARGIN
    return nodes, boxes, width, max(columns)


CLASS_COLUMN = "coverage"


def heat_map(result: JobResult) -> dict[str, Any] | None:
    """Return, for each domain, counts and shares (0 to 1) of coverage classes or found values; None without domains."""
    grouped = (it for it in result.tables if it.name != "relationships" and any(row.group for row in it.rows))
    table = next(grouped, None)
    if table is None:
        return None
    by_class = CLASS_COLUMN in table.columns

    def fits(row: Row, name: str) -> bool:
        if by_class:
            return CLASS_COLUMN in row.cells and value_text(row.cells[CLASS_COLUMN].value) == name
        return name in row.cells and row.cells[name].verdict == "found"

    # Columns without a "found" cell are left out: they are inferred by design, and shares of 0 would look like gaps.
    found = [name for name in table.columns if any(fits(row, name) for row in table.rows)]
    columns = list(get_args(CoverageClass)) if by_class else found
    lines: list[dict[str, Any]] = []
    for domain, rows in sorted(rows_by_group(table.rows, 0).items(), key=lambda item: (not item[0], item[0])):
        counts = [sum(fits(row, name) for row in rows) for name in columns]
        cells = [{"count": count, "share": round(count / len(rows), 4)} for count in counts]
        lines.append({"domain": domain, "total": len(rows) if columns else 0, "cells": cells})
    by = CLASS_COLUMN if by_class else "verdict"
    return {"table": table.name, "by": by, "group": table.groups[0], "columns": columns, "rows": lines}


def write_html(result: JobResult, path: Path) -> list[Path]:
    """Write the report page and return its path. Text from documents is escaped and cannot load or run anything."""
    write_atomically(path, html_report(result).encode("utf-8", "replace"))
    return [path]


def html_report(result: JobResult) -> str:
    """Return the page. Its content security policy allows only the page's own script and style, by their hashes."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    data = {
        "tables": [table.model_dump(mode="json") for table in result.tables],
        "heat": heat_map(result),
        "graph": relationship_graph(result),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # Without these characters, the data can neither open nor close markup.
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    script, style = _read_part("report.js"), _read_part("report.css")
    frame = Environment(autoescape=True, undefined=StrictUndefined).from_string(_read_part("page.html"))
    return frame.render(
        title=f"{result.kind.capitalize()}: {printable(result.job)}",
        subtitle=printable(result.description),
        figures=[
            (name.replace("_", " "), f"{value:.3g}" if isinstance(value, float) else str(value))
            for name, value in result.figures.items()
        ],
        notes=[printable(note) for note in result.notes],
        script=Markup(script),  # noqa: S704 - a file of this package
        style=Markup(style),  # noqa: S704 - our own file
        script_hash=_hash(script),
        style_hash=_hash(style),
        data=Markup(safe),  # noqa: S704 - it cannot close the element that contains it
    )


def _read_part(name: str) -> str:
    return files("elt_llm_consumer.export.report").joinpath(name).read_text(encoding="utf-8").strip("\n")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{b64encode(digest).decode('ascii')}"
