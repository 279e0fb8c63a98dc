"""Where the entities of a relationship graph stand on the page: each domain is a box that lists them."""

from collections.abc import Mapping, Sequence
from typing import Any

from elt_llm_consumer.export.texts import shown
from elt_llm_consumer.rows import JobResult, Row

_ENDS = {"source": ("source", "source_entity"), "target": ("target", "target_entity")}
"""Columns that an end may be told in."""
_COLUMNS = 4
_WIDTH, _LINE, _HEAD, _INDENT = 230, 18, 34, 14  # units of the drawing, as all here
_APART, _MARGIN = 60, 20
_LEFT = 90  # room for lines that bend out of the first column


def relationship_graph(result: JobResult) -> dict[str, Any] | None:
    """Nodes and domains with their places, edges by the numbers of their nodes; None where nothing is related.

    Entities that only relationships name stand in a box without a name. Equal results give equal drawings.
    """
    edges = [row for table in result.tables if table.name == "relationships" for row in table.rows if _has_ends(row)]
    if not edges:
        return None
    domains = _domains(result, edges)
    nodes, boxes, width, height = _placed(domains)
    numbers = {node["name"]: number for number, node in enumerate(nodes)}
    joined = [{"name": row.name, **{end: numbers[_end(row, end)] for end in _ENDS}} for row in edges]
    return {"nodes": nodes, "edges": joined, "domains": boxes, "width": width, "height": height}


def _has_ends(row: Row) -> bool:
    return all(_end(row, end) for end in _ENDS)


def _end(row: Row, end: str) -> str:
    return next((shown(row.cells[column].value) for column in _ENDS[end] if column in row.cells), "")


def _domains(result: JobResult, edges: Sequence[Row]) -> Mapping[str, list[str]]:
    """Names of the entities by their domain."""
    known = {row.name: row.group[0] if row.group else "" for table in result.tables for row in table.rows}
    found: dict[str, list[str]] = {}
    for name in sorted({_end(row, end) for row in edges for end in _ENDS}):
        found.setdefault(known.get(name, ""), []).append(name)
    return dict(sorted(found.items(), key=lambda item: (not item[0], item[0])))


def _placed(domains: Mapping[str, Sequence[str]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int, int]:
    """Nodes and boxes: each box goes under the column that is shortest so far, the first of equal ones."""
    columns = [_MARGIN] * min(_COLUMNS, len(domains))
    nodes: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    for domain, names in domains.items():
        column = columns.index(min(columns))
        x, y = _LEFT + column * (_WIDTH + _APART), columns[column]
        height = _HEAD + len(names) * _LINE
        boxes.append({"name": domain, "x": x, "y": y, "width": _WIDTH, "height": height})
        for number, name in enumerate(names):
            nodes.append({"name": name, "x": x + _INDENT, "y": y + _HEAD + number * _LINE})
        columns[column] = y + height + _APART
    width = _LEFT + len(columns) * (_WIDTH + _APART) - _APART + _MARGIN
    return nodes, boxes, width, max(columns)
