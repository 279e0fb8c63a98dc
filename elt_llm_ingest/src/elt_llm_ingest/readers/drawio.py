"""Read draw.io files: shapes and connectors as text, or the enterprise model of its fact sheets."""

import base64
import binascii
import zlib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import unquote_to_bytes

from elt_llm_core.errors import UnreadableDocument
from lxml.etree import _Element

from elt_llm_ingest.leanix.documents import model_document
from elt_llm_ingest.leanix.model import build_model, is_fact_sheet
from elt_llm_ingest.parsing.archive import LARGEST_RATIO, RATIO_FROM, inflate_pieces
from elt_llm_ingest.parsing.diagram import Diagram, DiagramCell, label_name, read_cells
from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.parsing.xml_guard import parse_xml

LARGEST_SUM = 50_000_000  # decompressed bytes of all diagrams of a file
_PIECE = 65_536
_UNNAMED = "(no name)"
_MAX_HEADING_LEVEL = 6


def read_diagrams(path: Path) -> list[Diagram]:
    """Read the diagrams of a file in order; raise UnreadableDocument if it is not a valid draw.io file."""
    data = read_bytes(path)
    if not data.strip():
        return []
    root = parse_xml(data)
    if root.tag == "mxGraphModel":
        return [read_cells(root, 1, "")]
    if root.tag != "mxfile":
        raise UnreadableDocument(f"is XML, but not a draw.io diagram: its root element is {str(root.tag)[:60]!a}")
    diagrams: list[Diagram] = []
    left = LARGEST_SUM
    for number, element in enumerate(root.iterfind("diagram"), start=1):
        model, size = _diagram_model(element, number, left)
        left -= size
        name = label_name(element.get("name") or "")
        diagrams.append(Diagram(number, name, ()) if model is None else read_cells(model, number, name))
    return diagrams


def _diagram_model(element: _Element, number: int, most: int) -> tuple[_Element | None, int]:
    """Return the mxGraphModel element (None if the diagram is empty) and the number of decompressed bytes."""
    model = element.find("mxGraphModel")
    if model is not None:
        return model, 0
    compressed = (element.text or "").strip()
    if not compressed:
        return None, 0
    data = _decompress(compressed, number, most)
    model = parse_xml(data)
    if model.tag != "mxGraphModel":
        raise UnreadableDocument(f"is damaged: diagram {number} has the root {str(model.tag)[:60]!a}, not mxGraphModel")
    return model, len(data)


def _decompress(compressed: str, number: int, most: int) -> bytes:
    data = bytearray()
    try:
        deflated = base64.b64decode("".join(compressed.split()), validate=True)
        most = min(most, max(RATIO_FROM, LARGEST_RATIO * len(deflated)))
        for piece in inflate_pieces(deflated):
            data += piece
            if len(data) > most:
                raise UnreadableDocument(f"holds diagram {number}, which decompresses to more than the limit: split it")
    except (binascii.Error, ValueError, zlib.error) as error:
        raise UnreadableDocument(f"is damaged: diagram {number} cannot be decompressed") from error
    return bytes(data) if data.lstrip().startswith(b"<") else _unquote(data)


def _unquote(data: bytearray) -> bytes:
    """Decode percent escapes in pieces, since Python's library creates an object for each escape."""
    pieces: list[bytes] = []
    start = 0
    while start < len(data):
        end = start + _PIECE
        inside = data.rfind(b"%", end - 2, end)  # an escape of three bytes, such as %20, is never split
        end = inside if inside >= 0 else end
        pieces.append(unquote_to_bytes(bytes(data[start:end])))
        start = end
    return b"".join(pieces)


def write_diagram(builder: DocumentBuilder, diagram: Diagram) -> None:
    """Append one diagram as one page: its shapes, then its connectors."""
    builder.start_page()
    if not any(cell.label and (cell.vertex or cell.edge) for cell in diagram.cells):
        return
    builder.add_heading(diagram.name or f"Diagram {diagram.number}", 1)
    _ShapeWriter(builder, diagram).write()
    connectors = (connector_line(diagram, cell) for cell in diagram.cells if cell.edge)
    builder.add_lines(filter(None, connectors), "list")


def connector_line(diagram: Diagram, edge: DiagramCell) -> str:
    """Describe a connector, as in "Order -> Invoice: leads to"; "" if neither it nor both of its ends have a label."""
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
    return next((shape.name for shape in around if shape.label and shape.vertex), "")


class _ShapeWriter:
    """Writes the shapes of one diagram: outer shapes first, siblings from top to bottom and left to right."""

    def __init__(self, builder: DocumentBuilder, diagram: Diagram) -> None:
        self._builder = builder
        self._diagram = diagram
        self._written: set[str] = set()

    def write(self) -> None:
        edges = {cell.id for cell in self._diagram.cells if cell.edge}  # the shapes inside a connector are its labels
        shapes = [cell for cell in self._diagram.cells if cell.vertex and cell.parent not in edges]
        self._write_all(cell for cell in shapes if not any(around.vertex for around in self._diagram.around(cell)))
        # Shapes that contain each other have no outermost parent. They are written last.
        for cell in shapes:
            self._write_all((cell,))

    def _write_all(self, cells: Iterable[DiagramCell]) -> None:
        # A stack instead of recursion, since files may nest shapes to any depth.
        waiting = [(cell, 2) for cell in reversed(_reading_order(cells))]
        while waiting:
            cell, level = waiting.pop()
            if cell.id in self._written:
                continue
            self._written.add(cell.id)
            children = [child for child in self._diagram.children.get(cell.id, ()) if child.vertex]
            if cell.style.get("shape") == "table":
                self._write_table(cell, children)
                continue
            if children:
                self._builder.add_heading(cell.words, min(level, _MAX_HEADING_LEVEL))
            else:
                self._builder.add(cell.label)
            inner = level + 1 if children and cell.label else level
            waiting += [(child, inner) for child in reversed(_reading_order(children))]

    def _write_table(self, table: DiagramCell, rows: list[DiagramCell]) -> None:
        self._builder.add(table.words)
        header = ""
        for number, row in enumerate(_reading_order(rows)):
            cells = list(self._diagram.inside(row))
            self._written.update((row.id, *(cell.id for cell in cells)))
            line = " | ".join(cell.words for cell in sorted(cells, key=lambda cell: cell.x) if cell.label) or row.words
            self._builder.add(line, "table", header=header, tight=number > 0)
            header = header or line


def _reading_order(cells: Iterable[DiagramCell]) -> list[DiagramCell]:
    return sorted(cells, key=lambda cell: (cell.y, cell.x))


class LeanixModelReader(DocumentReader):
    """Reads a draw.io file as an enterprise model, and refuses a file without fact sheets."""

    name = "leanix_model"
    version = 1

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it contains no fact sheets."""
        diagrams = read_diagrams(path)
        if not _hold_fact_sheets(diagrams):
            raise UnreadableDocument("holds no fact sheets: no shape in it has a factSheetId")
        return model_document(build_model(diagrams), path.stem)


class DrawioReader(DocumentReader):
    """Reads each diagram as a page, but reads a file with fact sheets as an enterprise model."""

    name = "drawio"
    version = 1

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is not a safe, undamaged draw.io file."""
        diagrams = read_diagrams(path)
        if _hold_fact_sheets(diagrams):
            return model_document(build_model(diagrams), path.stem)
        builder = DocumentBuilder()
        for diagram in diagrams:
            write_diagram(builder, diagram)
        notes = tuple(note for diagram in diagrams for note in diagram.notes)
        name = diagrams[0].name if len(diagrams) == 1 else ""
        return builder.build(name or path.stem, {"page_unit": "diagram"}, notes)


def _hold_fact_sheets(diagrams: Sequence[Diagram]) -> bool:
    return any(is_fact_sheet(cell) for diagram in diagrams for cell in diagram.cells)
