"""Where the entities of a relationship graph stand on the page: each domain a circle, the domains in a ring."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from elt_llm_consumer.export.texts import shown
from elt_llm_consumer.rows import JobResult, Row

_ENDS = ("source", "target")
_APART, _MARGIN, _LABEL = 26.0, 40.0, 110.0  # units of the drawing
_SMALLEST = 60.0


def relationship_graph(result: JobResult) -> dict[str, Any] | None:
    """Nodes and domains with their places, edges by the numbers of their nodes; None where nothing is related.

    Entities that only relationships name stand in a circle without a name. Equal results give equal drawings.
    """
    edges = [row for table in result.tables if table.name == "relationships" for row in table.rows if _has_ends(row)]
    if not edges:
        return None
    domains = _domains(result, edges)
    nodes, circles, width, height = _placed(domains)
    numbers = {node["name"]: number for number, node in enumerate(nodes)}
    joined = [{"name": row.name, **{end: numbers[_end(row, end)] for end in _ENDS}} for row in edges]
    return {"nodes": nodes, "edges": joined, "domains": circles, "width": width, "height": height}


def _has_ends(row: Row) -> bool:
    return all(end in row.cells and _end(row, end) for end in _ENDS)


def _end(row: Row, end: str) -> str:
    return shown(row.cells[end].value)


def _domains(result: JobResult, edges: Sequence[Row]) -> Mapping[str, list[str]]:
    """Names of the entities by their domain."""
    known = {row.name: row.group[0] if row.group else "" for table in result.tables for row in table.rows}
    found: dict[str, list[str]] = {}
    for name in sorted({_end(row, end) for row in edges for end in _ENDS}):
        found.setdefault(known.get(name, ""), []).append(name)
    return dict(sorted(found.items()))


def _placed(
    domains: Mapping[str, Sequence[str]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], float, float]:
    radii = [max(_SMALLEST, len(names) * _APART / (2 * math.pi)) for names in domains.values()]
    around = sum(2 * (radius + _LABEL) for radius in radii)
    ring = around / (2 * math.pi) if len(radii) > 1 else 0.0
    size = 2 * (ring + max(radii) + _LABEL + _MARGIN)
    nodes: list[dict[str, Any]] = []
    circles: list[dict[str, Any]] = []
    passed = 0.0
    for (domain, names), radius in zip(domains.items(), radii, strict=True):
        angle = 2 * math.pi * (passed + radius + _LABEL) / around
        passed += 2 * (radius + _LABEL)
        x, y = size / 2 + ring * math.cos(angle), size / 2 + ring * math.sin(angle)
        circles.append({"name": domain, "x": round(x, 1), "y": round(y, 1)})
        for number, name in enumerate(names):
            turn = 2 * math.pi * number / len(names)
            place = {"x": round(x + radius * math.cos(turn), 1), "y": round(y + radius * math.sin(turn), 1)}
            nodes.append({"name": name, **place})
    return nodes, circles, round(size, 1), round(size, 1)
