"""The cells of a diagram: shapes, connectors and labels, and which of them is inside which."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.drawio_labels import plain_lines, short_name
from elt_llm_ingest.unique_names import UniqueNames

if TYPE_CHECKING:
    from lxml.etree import _Element

_CELL = "mxCell"
_DEEPEST = 100  # cells within cells; no drawing comes near, and a circle of parents ends here at the latest


@dataclass(frozen=True)
class Cell:
    """A shape, a connector or a label. `data` are the attributes of the object around it, if there is one.

    `x` and `y` are those of its geometry: pixels within its parent; for the label of a connector `x` is its place
    from -1 (source) to 1 (target).
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
        """Its label in one line."""
        return " ".join(self.label.split())

    @property
    def name(self) -> str:
        """Its label in one line, cut off where it is longer than any name."""
        return short_name(self.words)


@dataclass(frozen=True)
class Diagram:
    """One page of a file; `number` counts from 1. `notes` say what was wrong with its cells."""

    number: int
    name: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, Cell]:
        """Cells by their id, which is unique here."""
        return {cell.id: cell for cell in self.cells}

    @cached_property
    def children(self) -> dict[str, list[Cell]]:
        """Cells by the id of what they are in, in the order of the file."""
        found: dict[str, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.parent, []).append(cell)
        return found

    def around(self, cell: Cell) -> Iterator[Cell]:
        """What a cell is in, innermost first; ends where a parent is missing, or met for the second time."""
        seen = {cell.id}
        while (parent := self.by_id.get(cell.parent)) and parent.id not in seen and len(seen) <= _DEEPEST:
            seen.add(parent.id)
            yield parent
            cell = parent

    def inside(self, cell: Cell) -> Iterator[Cell]:
        """Everything in a cell, at any depth, each once."""
        seen = {cell.id}
        waiting = [cell]
        while waiting:
            for child in self.children.get(waiting.pop().id, ()):
                if child.id not in seen:
                    seen.add(child.id)
                    waiting.append(child)
                    yield child

    def labels_of(self, edge: Cell) -> list[Cell]:
        """The labels along a connector, from source to target."""
        return sorted((cell for cell in self.children.get(edge.id, ()) if cell.label), key=lambda cell: cell.x)


def read_cells(model: "_Element", number: int, name: str) -> Diagram:
    """The cells of an mxGraphModel. An id that stands twice is given to the first, the second gets another."""
    cells: list[Cell] = []
    doubled: list[str] = []
    names = UniqueNames()
    for position, element in enumerate(model.iterfind("./root/*")):
        cell = _cell(element, position)
        if cell is None:
            continue
        unique = names.take(cell.id)
        if unique != cell.id:
            doubled.append(cell.id)
        cells.append(replace(cell, id=unique))
    diagram = Diagram(number, name, tuple(cells))
    return Diagram(number, name, diagram.cells, tuple(_notes(diagram, doubled)))


def _cell(element: "_Element", position: int) -> Cell | None:
    inner = element if element.tag == _CELL else element.find(_CELL)
    if inner is None:
        return None
    data = {} if inner is element else {str(key): str(value) for key, value in element.attrib.items()}
    geometry = inner.find("mxGeometry")
    label = data.get("label", "") or inner.get("value") or ""
    return Cell(
        id=data.get("id") or inner.get("id") or f"cell {position + 1}",
        parent=inner.get("parent") or data.get("parent") or "",
        label=plain_lines(label),
        style=_style(inner.get("style") or ""),
        vertex=inner.get("vertex") == "1",
        edge=inner.get("edge") == "1",
        source=inner.get("source") or "",
        target=inner.get("target") or "",
        x=_number(geometry, "x"),
        y=_number(geometry, "y"),
        data=data,
    )


def _style(text: str) -> dict[str, str]:
    parts = (part.partition("=") for part in text.split(";") if part)
    return {key.strip(): value.strip() for key, _, value in parts}


def _number(geometry: "_Element | None", name: str) -> float:
    try:
        value = float((geometry.get(name) if geometry is not None else None) or 0)
    except ValueError:
        return 0.0
    return value if abs(value) < 1e9 else 0.0


def _notes(diagram: Diagram, doubled: list[str]) -> Iterator[str]:
    place = f"diagram {diagram.number}"
    missing = [cell.id for cell in diagram.cells if cell.parent and cell.parent not in diagram.by_id]
    circles = [cell.id for cell in diagram.cells if _is_in_itself(diagram, cell)]
    for problem, ids in (
        ("cells that share an id with an earlier one", doubled),
        ("cells inside one that does not exist", missing),
        ("cells inside themselves, or too deep inside others", circles),
    ):
        if ids:
            yield f"{place}: {problem}: {len(ids)} ({listed(ids)})"


def _is_in_itself(diagram: Diagram, cell: Cell) -> bool:
    *_, outermost = (cell, *diagram.around(cell))
    return outermost.parent in diagram.by_id


def listed(names: list[str], most: int = 5) -> str:
    """The first few of `names` for a sentence, each cut at 60 characters, and how many more there are."""
    shown = [name if len(name) <= 60 else f"{name[:59]}…" for name in names[:most]]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown) + more
