"""The fact sheets of one diagram: which cells draw them, and in which containers they are."""

from dataclasses import dataclass
from functools import cached_property

from elt_llm_ingest.readers.drawio_cells import Cell, Diagram
from elt_llm_ingest.readers.drawio_labels import plain_name

NO_NAME = "(no name)"
_CONTAINER_STYLE = "leanix_fs_container"


def is_fact_sheet(cell: Cell) -> bool:
    """Whether a cell draws a fact sheet, be it a shape or a line."""
    return cell.data.get("type", "").lower() == "factsheet" or "factSheetId" in cell.data


@dataclass(frozen=True)
class Drawn:
    """A fact sheet where it is drawn."""

    cell: Cell
    name: str
    domain: str
    subgroup: str
    container: bool

    @property
    def type(self) -> str:
        """Such as DataObject."""
        return plain_name(self.cell.data.get("factSheetType", ""))

    @property
    def fact_sheet_id(self) -> str:
        """Its id in the inventory, empty if the cell does not say it."""
        return plain_name(self.cell.data.get("factSheetId", ""))


class DrawnFactSheets:
    """What stands where in one diagram."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram

    @cached_property
    def drawn(self) -> dict[str, Drawn]:
        """Fact sheets by the id of their cell, in the order of the file."""
        return {cell.id: self._drawn(cell) for cell in self.diagram.cells if is_fact_sheet(cell)}

    @cached_property
    def holders(self) -> dict[str, list[str]]:
        """Cells that hold fact sheets at any depth, with the ids of the cells of these."""
        found: dict[str, list[str]] = {}
        for cell in self.diagram.cells:
            if is_fact_sheet(cell):
                for around in self.diagram.around(cell):
                    found.setdefault(around.id, []).append(cell.id)
        return found

    @property
    def texts(self) -> list[Cell]:
        """Shapes with words that are neither fact sheets nor containers of some nor labels of lines."""
        return [cell for cell in self.diagram.cells if self._is_text(cell)]

    def at_end(self, cell_id: str) -> Drawn | None:
        """The fact sheet that a line is attached to: the cell, the only one in it, or the one it is a part of."""
        cell = self.diagram.by_id.get(cell_id)
        if cell is None or cell_id in self.drawn:
            return self.drawn.get(cell_id)
        held = self.holders.get(cell_id, [])
        if len(held) == 1:
            return self.drawn[held[0]]
        around = next((outer for outer in self.diagram.around(cell) if outer.id in self.drawn), None)
        return self.drawn[around.id] if around and around.id not in self.holders else None

    def _drawn(self, cell: Cell) -> Drawn:
        around = [outer.name for outer in self.diagram.around(cell) if outer.vertex and outer.label]
        name = cell.name or self._name_along(cell) or NO_NAME
        container = cell.id in self.holders or any(key.startswith(_CONTAINER_STYLE) for key in cell.style)
        return Drawn(
            cell=cell,
            name=name,
            domain=around[-1] if around else "",
            subgroup=around[-2] if len(around) > 1 else "",
            container=container,
        )

    def _name_along(self, cell: Cell) -> str:
        return next((label.name for label in self.diagram.labels_of(cell)), "") if cell.edge else ""

    def _is_text(self, cell: Cell) -> bool:
        if not cell.label or not cell.vertex or cell.id in self.drawn or cell.id in self.holders:
            return False
        parent = self.diagram.by_id.get(cell.parent)
        return parent is None or not parent.edge
