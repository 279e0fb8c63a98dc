"""A diagram of any kind as text: containers as headings, shapes by their words, connectors as "A -> B: label"."""

from collections.abc import Iterator
from itertools import chain

from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.drawio_cells import Cell, Diagram

_UNNAMED = "(no name)"
_DEEPEST_HEADING = 6


def write_diagram(builder: DocumentBuilder, diagram: Diagram) -> None:
    """Append one diagram as one page: what is in it, then what is connected."""
    builder.begin_page()
    if not any(cell.label and (cell.vertex or cell.edge) for cell in diagram.cells):
        return
    builder.add_heading(diagram.name or f"Diagram {diagram.number}", 1)
    _Writer(builder, diagram).write()
    connectors = [line for cell in diagram.cells if cell.edge and (line := connector_line(diagram, cell))]
    for number, line in enumerate(connectors):
        builder.add(line, "list", tight=number > 0)


def connector_line(diagram: Diagram, edge: Cell) -> str:
    """Such as "Order -> Invoice: leads to"; empty if nothing about the connector is named."""
    ends = [_end_name(diagram, end) for end in (edge.source, edge.target)]
    labels = [cell.words for cell in (edge, *diagram.labels_of(edge)) if cell.label]
    if not labels and not all(ends):
        return ""
    arrow = "-" if edge.style.get("endArrow") == "none" else "->"
    line = f"{ends[0] or _UNNAMED} {arrow} {ends[1] or _UNNAMED}"
    return f"{line}: {', '.join(labels)}" if labels else line


def _end_name(diagram: Diagram, cell_id: str) -> str:
    cell = diagram.by_id.get(cell_id)
    around = () if cell is None else chain((cell,), diagram.around(cell))
    return next((found.name for found in around if found.label and found.vertex), "")


class _Writer:
    """Goes through the shapes of one diagram from the outside in, siblings from top to bottom and left to right."""

    def __init__(self, builder: DocumentBuilder, diagram: Diagram) -> None:
        self._builder = builder
        self._diagram = diagram
        self._written: set[str] = set()

    def write(self) -> None:
        shapes = [cell for cell in self._diagram.cells if cell.vertex and not self._is_label(cell)]
        # What a circle of parents keeps from being reached from the outside is written after all the rest.
        self._write_all((cell for cell in shapes if not self._holder(cell)), 2)
        for cell in shapes:
            self._write_all((cell,), 2)

    def _write_all(self, cells: Iterator[Cell] | tuple[Cell, ...], level: int) -> None:
        # A stack and not recursion: nesting is the file's to choose.
        waiting = [(cell, level) for cell in reversed(_by_place(cells))]
        while waiting:
            cell, level = waiting.pop()
            if cell.id in self._written:
                continue
            self._written.add(cell.id)
            children = [child for child in self._diagram.children.get(cell.id, ()) if child.vertex]
            if cell.style.get("shape") == "table":
                self._write_table(cell, children)
                continue
            self._write_shape(cell, level, is_container=bool(children))
            inner = level + 1 if children and cell.label else level
            waiting += [(child, inner) for child in reversed(_by_place(children))]

    def _write_shape(self, cell: Cell, level: int, *, is_container: bool) -> None:
        if is_container:
            self._builder.add_heading(cell.words, min(level, _DEEPEST_HEADING))
        else:
            self._builder.add(cell.label, "prose")

    def _write_table(self, table: Cell, rows: list[Cell]) -> None:
        self._builder.add(table.words)
        header = ""
        for number, row in enumerate(_by_place(rows)):
            cells = list(self._diagram.inside(row))
            self._written.update((row.id, *(cell.id for cell in cells)))
            line = " | ".join(cell.words for cell in sorted(cells, key=lambda cell: cell.x) if cell.label) or row.words
            self._builder.add(line, "table", header=header, tight=number > 0)
            header = header or line

    def _holder(self, cell: Cell) -> Cell | None:
        return next((around for around in self._diagram.around(cell) if around.vertex), None)

    def _is_label(self, cell: Cell) -> bool:
        holder = self._diagram.by_id.get(cell.parent)
        return holder is not None and holder.edge


def _by_place(cells: Iterator[Cell] | tuple[Cell, ...] | list[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: (cell.y, cell.x))
