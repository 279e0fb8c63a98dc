"""Draw fact sheets and relations as a diagram file, in every form in which such files are met."""

from __future__ import annotations

import base64
import html
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

ARROWS = {
    "": "none",
    "1": "ERmandOne",
    "0..1": "ERzeroToOne",
    "*": "ERmany",
    "0..*": "ERzeroToMany",
    "1..*": "ERoneToMany",
}
IN_LABELS = {"1": "1", "0..1": "0..1", "*": "n", "0..*": "0..n", "1..*": "1..*"}
RELATION_FORMS = ("metadata", "plain", "labels", "pair", "rich", "ids")
Attributes = dict[str, str]


@dataclass(frozen=True)
class Shape:
    """A fact sheet to draw. `again` are further pages on which it is drawn outside every container."""

    name: str
    type: str = "DataObject"
    fact_sheet_id: str = ""
    domain: str = ""
    subgroup: str = ""
    container: bool = False
    page: int = 1
    again: tuple[int, ...] = ()


@dataclass(frozen=True)
class Line:
    """A relation to draw from one shape to another, by their places in the list; None is an end in the air."""

    source: int | None
    target: int | None
    name: str = ""
    source_cardinality: str = ""
    target_cardinality: str = ""
    page: int = 1
    form: str = "metadata"
    relation_id: str = ""


@dataclass(frozen=True)
class Interface:
    """A fact sheet that is drawn as a line between two shapes."""

    name: str
    fact_sheet_id: str
    source: int
    target: int
    page: int = 1


@dataclass(frozen=True)
class Plan:
    """All that is to be drawn. `deflated` are the pages to pack."""

    diagrams: Sequence[str]
    shapes: Sequence[Shape]
    lines: Sequence[Line]
    interfaces: Sequence[Interface] = ()
    texts: Sequence[str] = ()
    deflated: frozenset[int] = frozenset()


@dataclass
class Drawing:
    """The cells of one page, and which of them is which shape, line or interface."""

    number: int
    shuffle: Callable[[Attributes], Attributes]
    cells: list[str] = field(default_factory=list)
    holders: dict[tuple[str, str], str] = field(default_factory=dict)
    shapes: dict[int, str] = field(default_factory=dict)
    lines: list[tuple[Line, str]] = field(default_factory=list)
    interfaces: list[tuple[Interface, str]] = field(default_factory=list)
    count: int = 1

    def next_id(self) -> str:
        """Ids count within a page, so that two pages use the same ones."""
        self.count += 1
        return str(self.count)

    def element(self, tag: str, attributes: Attributes, *inner: str) -> str:
        """One element with its attributes in any order."""
        written = "".join(f" {key}={quoteattr(value)}" for key, value in self.shuffle(attributes).items())
        return f"<{tag}{written}>{''.join(inner)}</{tag}>" if inner else f"<{tag}{written}/>"

    def add(self, cell: Attributes, wrapper: Attributes | None = None, *, tag: str = "object", x: float = 0) -> str:
        """Add a cell, in an object if it has data; its id stands at the outer of the two."""
        identifier = self.next_id()
        place = {"x": str(x), "y": "0", "as": "geometry"} | ({"relative": "1"} if "edge" in cell or x else {})
        geometry = self.element("mxGeometry", place)
        if wrapper is None:
            self.cells.append(self.element("mxCell", {"id": identifier, **cell}, geometry))
        else:
            inner = self.element("mxCell", cell, geometry)
            self.cells.append(self.element(tag, {**wrapper, "id": identifier}, inner))
        return identifier


def draw(plan: Plan, shuffled_by: Random | None = None) -> str:
    """The text of the file. With `shuffled_by` attributes stand in random order."""
    pages = []
    for number, name in enumerate(plan.diagrams, start=1):
        drawing = draw_page(plan, number, shuffled_by)
        model = drawing.element("mxGraphModel", {"lxXmlVersion": "1", "grid": "1"}, "<root>", *drawing.cells, "</root>")
        content = deflate(model) if number in plan.deflated else model
        pages.append(drawing.element("diagram", {"id": f"page-{number}", "name": name}, content))
    return f'<mxfile host="example">{"".join(pages)}</mxfile>\n'


def deflate(model: str) -> str:
    """A model as it is packed: percent signs, deflate without a header, base64."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = packer.compress(quote(model, safe="~()*!.'").encode()) + packer.flush()
    return base64.b64encode(data).decode()


def draw_page(plan: Plan, number: int, shuffled_by: Random | None = None) -> Drawing:
    """The cells of one page."""

    def shuffle(attributes: Attributes) -> Attributes:
        items = list(attributes.items())
        if shuffled_by is not None:
            shuffled_by.shuffle(items)
        return dict(items)

    drawing = Drawing(number, shuffle)
    drawing.cells += ['<lx-settings id="0"><mxCell/></lx-settings>', '<mxCell id="1" parent="0"/>']
    _draw_shapes(drawing, plan)
    _draw_lines(drawing, plan)
    return drawing


def _draw_shapes(drawing: Drawing, plan: Plan) -> None:
    for place, shape in enumerate(plan.shapes):
        if shape.page == drawing.number:
            _draw_shape(drawing, place, shape)
        elif drawing.number in shape.again:
            drawing.shapes[place] = _add_fact_sheet(drawing, place, shape, "1")
    for text in plan.texts if drawing.number == 1 else ():
        drawing.add({"style": "text;html=1", "vertex": "1", "parent": "1"}, {"label": text}, tag="UserObject")


def _draw_lines(drawing: Drawing, plan: Plan) -> None:
    for place, line in enumerate(plan.lines):
        if line.page == drawing.number:
            drawing.lines.append((line, _draw_line(drawing, plan, place, line)))
    for interface in plan.interfaces:
        if interface.page == drawing.number:
            drawing.interfaces.append((interface, _draw_interface(drawing, interface)))


def _draw_shape(drawing: Drawing, place: int, shape: Shape) -> None:
    parent = _holder(drawing, shape)
    if not shape.container and place % 4 == 1:  # some shapes are in a group without a label
        parent = drawing.add({"style": "group", "vertex": "1", "connectable": "0", "parent": parent})
    drawing.shapes[place] = _add_fact_sheet(drawing, place, shape, parent)
    if shape.container:
        drawing.holders[shape.name, ""] = drawing.shapes[place]


def _add_fact_sheet(drawing: Drawing, place: int, shape: Shape, parent: str) -> str:
    style = f"leanix_fs_container_{shape.type};" if shape.container else f"leanix_fs_{shape.type};html=1"
    wrapper = {
        "type": "factSheet",
        "label": formatted(shape.name, place),
        "factSheetType": shape.type,
        "factSheetId": shape.fact_sheet_id,
    } | ({"lxCustomLabel": "1"} if place % 5 == 0 else {})
    return drawing.add({"style": style, "vertex": "1", "parent": parent}, wrapper)


def formatted(name: str, place: int) -> str:
    """A label as people leave it behind: plain, bold, in lines of its own."""
    safe = html.escape(name)
    first, _, rest = name.partition(" ")
    forms = (
        safe,
        f"<div><b>{safe}</b></div>",
        f"{html.escape(first)}<br/>{html.escape(rest)}" if rest else f'<span style="font-size: 12px">{safe}</span>',
        f'<p class="name">{safe}&nbsp;</p>',
    )
    return forms[place % len(forms)]


def _holder(drawing: Drawing, shape: Shape) -> str:
    """The cell of the container a shape belongs in, drawn when it is needed first."""
    parent = "1"
    for level, key in enumerate(((shape.domain, ""), (shape.domain, shape.subgroup))):
        if not key[level]:
            continue
        if key not in drawing.holders:
            drawing.holders[key] = _add_holder(drawing, key[level], parent)
        parent = drawing.holders[key]
    return parent


def _add_holder(drawing: Drawing, name: str, parent: str) -> str:
    form = len(drawing.holders) % 3
    safe = html.escape(name)
    if form == 0:
        return drawing.add({"value": safe, "style": "swimlane;html=1", "vertex": "1", "parent": parent})
    if form == 1:
        return drawing.add({"value": f"<b>{safe}</b>", "style": "group", "vertex": "1", "parent": parent})
    return drawing.add({"style": "rounded=1", "vertex": "1", "parent": parent}, {"label": safe}, tag="UserObject")


def _draw_line(drawing: Drawing, plan: Plan, place: int, line: Line) -> str:
    torn = line.source is None or line.target is None
    written_out = line.form in {"labels", "pair"} and not torn
    cell = {"edge": "1", "parent": "1", "style": _line_style(line, with_arrows=not written_out)}
    wrapper = {"type": "relation", "dependencyRelation": "relDataObjectToDataObject", "relationId": line.relation_id}
    for side, end in (("source", line.source), ("target", line.target)):
        if end is None:
            continue
        if line.form != "ids":
            cell[side] = drawing.shapes[end]
        wrapper[f"{side}FactSheetId"] = plan.shapes[end].fact_sheet_id
    label = formatted(line.name, place) if line.form == "rich" else html.escape(line.name)
    if line.form in {"metadata", "ids", "rich"} or torn:
        return drawing.add(cell, {**wrapper, "label": label})
    if not written_out:
        return drawing.add({**cell, "value": label})
    edge = drawing.add(cell)
    _add_labels(drawing, edge, line)
    return edge


def _add_labels(drawing: Drawing, edge: str, line: Line) -> None:
    """The name in the middle; cardinalities at the ends, or both in one label."""
    both = line.source_cardinality and line.target_cardinality
    labels = [(html.escape(line.name), 0.0)]
    ends = [IN_LABELS.get(each, "") for each in (line.source_cardinality, line.target_cardinality)]
    if line.form == "pair" and both:
        labels.append((":".join(ends), 0.1))
    else:
        labels += [(ends[0], -0.8), (ends[1], 0.8)]
    for label, x in reversed(labels):
        if label:
            style = "edgeLabel;html=1;resizable=0"
            drawing.add({"value": label, "style": style, "vertex": "1", "parent": edge, "connectable": "0"}, x=x)


def _line_style(line: Line, *, with_arrows: bool) -> str:
    ends = (line.source_cardinality, line.target_cardinality) if with_arrows else ("", "")
    return f"leanix_dependency;startArrow={ARROWS[ends[0]]};endArrow={ARROWS[ends[1]]}"


def _draw_interface(drawing: Drawing, interface: Interface) -> str:
    wrapper = {
        "type": "factSheet",
        "label": f"<div><b>{html.escape(interface.name)}</b></div>",
        "factSheetType": "Interface",
        "factSheetId": interface.fact_sheet_id,
    }
    ends = {"source": drawing.shapes[interface.source], "target": drawing.shapes[interface.target]}
    return drawing.add({"edge": "1", "parent": "1", "style": "leanix_fs_Interface", **ends}, wrapper)
