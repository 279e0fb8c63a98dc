"""What a reader must find in a drawing, told by who drew it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WITH_METADATA = {"metadata", "rich", "ids"}


class Names:
    """Ids as a reader makes them unique: the second of a name is name~2."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """`wanted`, numbered from its second use."""
        count = self.counts[wanted] = self.counts.get(wanted, 0) + 1
        return wanted if count == 1 else f"{wanted}~{count}"


def expected_model(plan: Any, draw_page: Callable[[Any, int], Any]) -> dict[str, Any]:
    """The enterprise model as JSON, but for the notes; `draw_page` tells which cell draws what."""
    pages = [draw_page(plan, number) for number in range(1, len(plan.diagrams) + 1)]
    names = Names()
    entities: dict[Any, dict[str, Any]] = {}
    for page in pages:
        for place, cell in page.shapes.items():
            if place not in entities:
                entities[place] = _entity(plan.shapes[place], cell, page.number, plan, names)
        for interface, cell in page.interfaces:
            shape = {"name": interface.name, "type": "Interface", "fact_sheet_id": interface.fact_sheet_id}
            entities[interface] = _placed(shape, interface.fact_sheet_id, cell, page.number, plan)
    whole, torn = [], []
    relation_names, torn_names = Names(), Names()
    for page in pages:
        for line, cell in page.lines:
            complete = line.source is not None and line.target is not None
            told = line.form in WITH_METADATA or not complete
            identifier = (relation_names if complete else torn_names).take(line.relation_id if told else cell)
            ends = [
                _end(entities.get(place), cardinality)
                for place, cardinality in (
                    (line.source, line.source_cardinality),
                    (line.target, line.target_cardinality),
                )
            ]
            kind = "relDataObjectToDataObject" if told else ""
            relation = _relation(identifier, ends, line.name, kind, cell, page.number, plan)
            (whole if complete else torn).append(relation)
        for interface, cell in page.interfaces:
            middle = _end(entities[interface], "")
            for side, ends in (
                ("source", [_end(entities[interface.source], ""), middle]),
                ("target", [middle, _end(entities[interface.target], "")]),
            ):
                identifier = f"{interface.fact_sheet_id}/{side}"
                whole.append(_relation(identifier, ends, "", "", cell, page.number, plan))
    return {
        "entities": sorted(entities.values(), key=_entity_order),
        "relationships": sorted(whole, key=_relation_order),
        "incomplete": sorted(torn, key=_relation_order),
        "diagrams": list(plan.diagrams),
        "texts": list(plan.texts),
    }


def _entity(shape: Any, cell: str, page: int, plan: Any, names: Names) -> dict[str, Any]:
    told = {key: getattr(shape, key) for key in ("name", "type", "fact_sheet_id", "domain", "subgroup", "container")}
    return _placed(told, names.take(shape.fact_sheet_id or cell), cell, page, plan)


def _placed(told: dict[str, Any], identifier: str, cell: str, page: int, plan: Any) -> dict[str, Any]:
    nothing = {"domain": "", "subgroup": "", "container": False}
    place = {"cell_id": cell, "page": page, "diagram": plan.diagrams[page - 1]}
    return {"id": identifier, **nothing, **told, **place}


def _end(entity: dict[str, Any] | None, cardinality: str) -> dict[str, str]:
    entity = entity or {"id": "", "name": ""}
    return {"entity_id": entity["id"], "name": entity["name"], "cardinality": cardinality}


def _relation(
    identifier: str, ends: list[dict[str, str]], name: str, kind: str, cell: str, page: int, plan: Any
) -> dict[str, Any]:
    return {
        "id": identifier,
        "source": ends[0],
        "target": ends[1],
        "name": name,
        "kind": kind,
        "cell_id": cell,
        "page": page,
        "diagram": plan.diagrams[page - 1],
    }


def _entity_order(entity: dict[str, Any]) -> tuple[str, ...]:
    return tuple(entity[key] for key in ("domain", "subgroup", "type", "name", "id"))


def _relation_order(relation: dict[str, Any]) -> tuple[str, ...]:
    return relation["source"]["name"], relation["target"]["name"], relation["name"], relation["id"]
