"""Read the cells of a draw.io diagram: shapes, connectors and labels, their nesting and their plain text."""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from elt_llm_ingest.parsing.document_builder import UniqueNames, list_names

if TYPE_CHECKING:
    from lxml.etree import _Element

# The tags that format labels; any other "<" is text. All repetitions are bounded, so that the time is linear.
_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|code|div|em|font|h[1-6]|hr|i|img|li|o:p|ol|p|pre|s|small|span|strike|strong|sub|sup|table"
    r"|tbody|td|th|thead|tr|u|ul)(?=[\s/>])[^<>]{0,5000}>",
    re.IGNORECASE,
)
_NOT_TEXT = re.compile(r"<(style|script)\b[^<>]{0,500}>[^<]{0,20000}</\1>|<!--[^<>]{0,1000}-->", re.IGNORECASE)
_LONGEST_NAME = 1000
_CELL = "mxCell"
_MAX_DEPTH = 100  # levels of nested cells, so that cells that contain each other cause no endless loop
_ENDS_A_LINE = re.compile(r"</?(?:blockquote|br|div|h[1-6]|hr|li|ol|p|pre|table|tr|ul)\b", re.IGNORECASE)


def label_lines(label: str) -> str:
    """Return the plain text of a label: one line for each line or paragraph, with single blanks between words."""
    if "<" in label:
        label = _TAG.sub(_tag_replacement, _NOT_TEXT.sub(" ", label))
    lines = (" ".join(line.split()) for line in html.unescape(label).splitlines())
    return "\n".join(line for line in lines if line)


def label_name(label: str) -> str:
    """Return the text of a label in one line, shortened to at most 1,000 characters."""
    return shorten_name(" ".join(label_lines(label).split()))


def shorten_name(name: str) -> str:
    """Shorten a name to 1,000 characters, since the text of an enterprise model repeats the name for each relation."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _tag_replacement(tag: re.Match[str]) -> str:
    """Return what replaces a tag: nothing inside a word, as in `<b>M</b>ember`, but a blank between table cells."""
    if _ENDS_A_LINE.match(tag.group()):
        return "\n"
    return " " if tag.group().lower().startswith(("<td", "</td", "<th", "</th", "<img")) else ""


@dataclass(frozen=True)
class DiagramCell:
    """A shape, a connector or a label of a diagram.

    `data` contains the attributes of the XML element around the cell, if there is one. `x` and `y` are pixels
    within the parent cell. For the label of a connector, `x` is its position from -1 (source) to 1 (target).
    """

    id: str
    parent: str = ""
    label: str = ""
    style: Mapping[str, str] = field(default_factory=dict)
    vertex: bool = False
    edge: bool = False
    source: str = ""
    target: str = ""
    x: float = 0.0
    y: float = 0.0
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The label in one line."""
        return " ".join(self.label.split())

    @property
    def name(self) -> str:
        """The label in one line, shortened to at most 1,000 characters."""
        return shorten_name(self.words)


@dataclass(frozen=True)
class Diagram:
    """One page of a draw.io file. `number` counts pages from 1. `notes` report problems with the cells."""

    number: int
    name: str
    cells: tuple[DiagramCell, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, DiagramCell]:
        """The cells of the diagram by id. Each id is unique in the diagram."""
        return {cell.id: cell for cell in self.cells}

    @cached_property
    def children(self) -> dict[str, list[DiagramCell]]:
        """The child cells of each parent id, in the order of the file."""
        children: dict[str, list[DiagramCell]] = {}
        for cell in self.cells:
            children.setdefault(cell.parent, []).append(cell)
        return children

    def around(self, cell: DiagramCell) -> Iterator[DiagramCell]:
        """Yield the cells that contain a cell, innermost first, until a parent is missing or repeated."""
        seen = {cell.id}
        while (parent := self.by_id.get(cell.parent)) and parent.id not in seen and len(seen) <= _MAX_DEPTH:
            seen.add(parent.id)
            yield parent
            cell = parent

    def inside(self, cell: DiagramCell) -> Iterator[DiagramCell]:
        """Yield each cell that is inside the given cell, at any depth."""
        seen = {cell.id}
        waiting = [cell]
        while waiting:
            for child in self.children.get(waiting.pop().id, ()):
                if child.id not in seen:
                    seen.add(child.id)
                    waiting.append(child)
                    yield child

    def labels_of(self, edge: DiagramCell) -> list[DiagramCell]:
        """Return the labels along a connector, ordered from source to target."""
        return sorted((cell for cell in self.children.get(edge.id, ()) if cell.label), key=lambda cell: cell.x)


def read_cells(model: "_Element", number: int, name: str) -> Diagram:
    """Read the cells of an mxGraphModel element. A cell whose id is already in use gets another id."""
    cells: list[DiagramCell] = []
    repeated: list[str] = []
    names = UniqueNames()
    for position, element in enumerate(model.iterfind("./root/*")):
        cell = _read_cell(element, position)
        if cell is None:
            continue
        unique = names.take(cell.id)
        if unique != cell.id:
            repeated.append(cell.id)
        cells.append(replace(cell, id=unique))
    diagram = Diagram(number, name, tuple(cells))
    return replace(diagram, notes=tuple(_diagram_notes(diagram, repeated)))


def _read_cell(element: "_Element", position: int) -> DiagramCell | None:
    inner = element if element.tag == _CELL else element.find(_CELL)
    if inner is None:
        return None
    data = {} if inner is element else {str(key): str(value) for key, value in element.attrib.items()}
    geometry = inner.find("mxGeometry")
    styles = (part.partition("=") for part in (inner.get("style") or "").split(";") if part)
    return DiagramCell(
        id=data.get("id") or inner.get("id") or f"cell {position + 1}",
        parent=inner.get("parent") or data.get("parent") or "",
        label=label_lines(data.get("label", "") or inner.get("value") or ""),
        style={key.strip(): value.strip() for key, _, value in styles},
        vertex=inner.get("vertex") == "1",
        edge=inner.get("edge") == "1",
        source=inner.get("source") or "",
        target=inner.get("target") or "",
        x=_coordinate(geometry, "x"),
        y=_coordinate(geometry, "y"),
        data=data,
    )


def _coordinate(geometry: "_Element | None", name: str) -> float:
    try:
        value = float((geometry.get(name) if geometry is not None else None) or 0)
    except ValueError:
        return 0.0
    return value if abs(value) < 1e9 else 0.0  # pixels; a larger value is an error in the file


def _diagram_notes(diagram: Diagram, repeated: list[str]) -> Iterator[str]:
    missing = [cell.id for cell in diagram.cells if cell.parent and cell.parent not in diagram.by_id]
    outermost = {cell.id: (cell, *diagram.around(cell))[-1] for cell in diagram.cells}
    circles = [cell.id for cell in diagram.cells if outermost[cell.id].parent in diagram.by_id]
    for problem, ids in (
        ("cells that share an id with an earlier cell", repeated),
        ("cells inside a cell that does not exist", missing),
        ("cells inside themselves, or nested too deeply", circles),
    ):
        if ids:
            yield f"diagram {diagram.number}: {problem}: {len(ids)} ({list_names(ids)})"
