"""A draw.io file and its pages: plain XML or packed, one or many, or a bare model."""

import base64
import binascii
import zlib
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.readers.document_reader import read_bytes
from elt_llm_ingest.readers.drawio_cells import Diagram, read_cells
from elt_llm_ingest.readers.drawio_labels import plain_name
from elt_llm_ingest.readers.xml_guard import parse_xml

if TYPE_CHECKING:
    from lxml.etree import _Element

LARGEST_SUM = 50_000_000  # unpacked bytes of all diagrams of a file
LARGEST_RATIO = 100  # unpacked to packed
_RATIO_FROM = 1_000_000  # unpacked bytes; a small diagram may well be packed tightly
_PIECE = 65_536


def read_diagrams(path: Path) -> list[Diagram]:
    """The diagrams of a file in their order.

    Raises:
        UnreadableDocument: the file is no XML or not to be trusted, is no diagram, or a diagram cannot be unpacked.
    """
    data = read_bytes(path)
    if not data.strip():
        return []
    root = parse_xml(data)
    if root.tag == "mxGraphModel":
        return [read_cells(root, 1, "")]
    if root.tag != "mxfile":
        raise UnreadableDocument(f"is XML, but no draw.io diagram: its root is {str(root.tag)[:60]!a}")
    diagrams: list[Diagram] = []
    left = LARGEST_SUM
    for number, element in enumerate(root.iterfind("diagram"), start=1):
        model, size = _model(element, number, left)
        left -= size
        name = plain_name(element.get("name") or "")
        diagrams.append(Diagram(number, name, ()) if model is None else read_cells(model, number, name))
    return diagrams


def _model(element: "_Element", number: int, most: int) -> "tuple[_Element | None, int]":
    """The model of a diagram, None for an empty one, and the bytes it was unpacked to."""
    model = element.find("mxGraphModel")
    if model is not None:
        return model, 0
    packed = (element.text or "").strip()
    if not packed:
        return None, 0
    data = _unpack(packed, number, most)
    model = parse_xml(data)
    if model.tag != "mxGraphModel":
        raise UnreadableDocument(f"holds no model in diagram {number}: its root is {str(model.tag)[:60]!a}")
    return model, len(data)


def _unpack(packed: str, number: int, most: int) -> bytes:
    try:
        deflated = base64.b64decode("".join(packed.split()), validate=True)
        data = _inflate(deflated, number, most)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise UnreadableDocument(f"is damaged: diagram {number} cannot be unpacked") from error
    return data if data.lstrip().startswith(b"<") else _unquote(data)


def _unquote(data: bytes) -> bytes:
    """Without percent signs; in pieces, as the library makes an object of every sign."""
    pieces: list[bytes] = []
    start = 0
    while start < len(data):
        end = start + _PIECE
        inside = data.rfind(b"%", end - 2, end)  # a sign of three bytes is not cut
        end = inside if inside >= 0 else end
        pieces.append(unquote_to_bytes(data[start:end]))
        start = end
    return b"".join(pieces)


def _inflate(deflated: bytes, number: int, most: int) -> bytes:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    most = min(most, max(_RATIO_FROM, LARGEST_RATIO * len(deflated)))
    pieces: list[bytes] = []
    size = 0
    piece = inflater.decompress(deflated, _PIECE)
    while piece:
        size += len(piece)
        if size > most:
            raise UnreadableDocument(f"unpacks to more than a diagram holds, as bombs do: diagram {number}")
        pieces.append(piece)
        piece = inflater.decompress(inflater.unconsumed_tail, _PIECE)
    if not inflater.eof:
        raise zlib.error("cut off")
    return b"".join(pieces)
