"""Diagrams written by hand, cell by cell."""

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

from elt_llm_core.enterprise import EnterpriseModel
from elt_llm_ingest.leanix.model import build_model
from elt_llm_ingest.parsing.diagram import Diagram, read_cells
from elt_llm_ingest.parsing.xml_guard import parse_xml


def attributes(values: Mapping[str, str]) -> str:
    """Format attributes as in a tag."""
    return "".join(f" {key}={quoteattr(value)}" for key, value in values.items())


def cell(identifier: str, parent: str = "1", *, x: str = "", **values: str) -> str:
    """Return the XML of a draw.io cell; for the label of an edge, `x` is its position along the edge."""
    geometry = f'<mxGeometry x="{x}" relative="1" as="geometry"/>' if x else ""
    return f"<mxCell{attributes({'id': identifier, 'parent': parent, **values})}>{geometry}</mxCell>"


def shape(identifier: str, value: str = "", parent: str = "1", **values: str) -> str:
    """Return a shape that does not represent a fact sheet."""
    return cell(identifier, parent, value=value, vertex="1", **values)


def edge(identifier: str, source: str = "", target: str = "", **values: str) -> str:
    """Return an edge (a line between two shapes) that carries no data."""
    ends = {"source": source, "target": target}
    return cell(identifier, edge="1", **{key: end for key, end in ends.items() if end}, **values)


def fact_sheet(identifier: str, label: str, fact_sheet_id: str = "", parent: str = "1", **inner: str) -> str:
    """A shape that draws a data object."""
    data = {"type": "factSheet", "factSheetType": "DataObject", "factSheetId": fact_sheet_id}
    inner = {"parent": parent, "vertex": "1", **inner}
    return f"<object{attributes({'label': label, **data, 'id': identifier})}><mxCell{attributes(inner)}/></object>"


def relation(identifier: str, data: Mapping[str, str], **inner: str) -> str:
    """Return an edge whose data name the relation that it draws."""
    outer = {"type": "relation", **data, "id": identifier}
    return f"<object{attributes(outer)}><mxCell{attributes({'parent': '1', 'edge': '1', **inner})}/></object>"


def diagram(*cells: str, number: int = 1, name: str = "One") -> Diagram:
    """Return a diagram of these cells and the two root cells of every diagram."""
    return read_cells(parse_xml(model_xml(*cells).encode()), number, name)


def model_xml(*cells: str) -> str:
    """Return the XML of a model with these cells."""
    roots = '<mxCell id="0"/><mxCell id="1" parent="0"/>'
    return f"<mxGraphModel><root>{roots}{''.join(cells)}</root></mxGraphModel>"


def model(*cells: str) -> EnterpriseModel:
    """The model of one diagram of these cells."""
    return build_model([diagram(*cells)])
