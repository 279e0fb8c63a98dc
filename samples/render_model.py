"""Render the sample model and inventory, and write down beside them exactly what a reader must find in them."""

from __future__ import annotations

import importlib.util
import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

SAMPLES = Path(__file__).parent
SOURCE = SAMPLES / "source"
TARGET = SAMPLES / "enterprise"
# Ids are made from names, so that the model and the inventory agree and every rendering gives the same.
NAMESPACE = uuid.UUID("7c1d3a52-6f0e-5b7a-9d44-2f8e0b6a1c90")
FORMS = ("metadata", "plain", "labels", "rich", "pair", "ids")
MODEL, INVENTORY = "model.drawio", "inventory.xlsx"
EXPECTED_MODEL, EXPECTED_INVENTORY = "expected_model.json", "expected_inventory.json"


def load(name: str) -> ModuleType:
    """A script beside this one as a module, also where this one is itself loaded by its path."""
    full = f"samples_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, SAMPLES / f"{name}.py")
        if spec is None or spec.loader is None:
            raise ImportError(full)
        sys.modules[full] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[full]


def read_source(name: str) -> dict[str, Any]:
    """One of the two sources."""
    source: dict[str, Any] = yaml.safe_load((SOURCE / f"{name}.yaml").read_text(encoding="utf-8"))
    return source


def fact_sheet_id(kind: str, name: str, *, remade: bool = False) -> str:
    """The id of a fact sheet; `remade` gives the one it got when somebody made it anew."""
    return str(uuid.uuid5(NAMESPACE, f"{kind}/{name}{'/again' if remade else ''}"))


def plan_model(source: dict[str, Any]) -> Any:
    """What is to be drawn, in the order in which it is drawn."""
    drawing = load("drawing")
    shapes = [drawing.Shape(**shape) for shape in _shapes(source)]
    places = {shape.name: place for place, shape in enumerate(shapes)}
    lines = []
    for number, written in enumerate([*source["relationships"], *source["incomplete"]]):
        begin, name, end, *cardinalities = (part.strip() for part in written.split("|"))
        source_place, target_place = places[begin], places.get(end)
        pages = {shapes[place].page for place in (source_place, target_place) if place is not None}
        form = FORMS[number % len(FORMS)]
        ends = [shapes[place] for place in (source_place, target_place) if place is not None]
        if form == "ids" and (len(ends) < 2 or not all(shape.fact_sheet_id for shape in ends)):
            form = "plain"
        relation = fact_sheet_id("relation", f"{begin}/{name}/{end}")
        lines.append(drawing.Line(source_place, target_place, name, *cardinalities, max(pages), form, relation))
    interfaces = [
        drawing.Interface(name, fact_sheet_id("Interface", name), places[begin], places[end], 2)
        for name, begin, end in source["interfaces"]
    ]
    return drawing.Plan(source["diagrams"], shapes, lines, interfaces, source["texts"], frozenset({2}))


def _shapes(source: dict[str, Any]) -> Iterator[dict[str, Any]]:
    def shape(name: str, **where: Any) -> dict[str, Any]:
        kind = "Application" if name in source["applications"] else "DataObject"
        identifier = "" if name in source["without_id"] else fact_sheet_id(kind, name)
        again = (2,) if name in source["drawn_again"] else ()
        return {"name": name, "type": kind, "fact_sheet_id": identifier, "again": again, **where}

    for domain, subgroups in source["domains"].items():
        if domain in source["container_fact_sheets"]:
            yield shape(domain, container=True)
        for subgroup, names in subgroups.items():
            for name in names:
                yield shape(name, domain=domain, subgroup=subgroup)
    for name in source["without_domain"]:
        yield shape(name)
    for name in source["applications"]:
        yield shape(name, page=2)


def main() -> None:
    """Write the model, the inventory, and what a reader must find in them."""
    TARGET.mkdir(exist_ok=True)
    plan = plan_model(read_source("model"))
    drawing = load("drawing")
    (TARGET / MODEL).write_text(drawing.draw(plan), encoding="utf-8")
    _write_json(TARGET / EXPECTED_MODEL, load("expected").expected_model(plan, drawing.draw_page))
    exporting = load("exporting")
    sheets = exporting.fact_sheets(read_source("inventory"), read_source("model"), fact_sheet_id)
    exporting.write_workbook(TARGET / INVENTORY, sheets, read_source("inventory")["exported"])
    _write_json(TARGET / EXPECTED_INVENTORY, exporting.expected_inventory(sheets))
    for path in sorted(TARGET.iterdir()):
        sys.stdout.write(f"{path}: {path.stat().st_size} bytes\n")


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
