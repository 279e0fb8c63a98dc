"""PDF through docling, which is installed apart: it brings models and a deep learning library with it.

    uv pip install docling

Its models have to be on the machine already, since workers that read files have no network, and take more than the
usual limits: set ingest.parse_memory_mb to 8192 and ingest.parse_seconds to 600 or so.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Protocol

from elt_llm_core.errors import SettingsError, UnreadableDocument

from elt_llm_ingest.parsed_document import BlockKind, ParsedDocument
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.document_reader import DocumentReader

_KINDS: dict[str, BlockKind] = {"list_item": "list", "code": "code", "formula": "code"}
_FURNITURE = ("page_header", "page_footer")
_HEADINGS = ("title", "section_header")


class Converter(Protocol):
    """What is used of docling's DocumentConverter."""

    def convert(self, source: Path) -> "Conversion":
        """Read a file. Raises ValueError or RuntimeError if it cannot."""


class Conversion(Protocol):
    """What it returns."""

    @property
    def document(self) -> "ConvertedDocument":
        """The document it made of the file."""


class ConvertedDocument(Protocol):
    """What is used of docling's DoclingDocument."""

    def iterate_items(self) -> Iterable[tuple[object, int]]:
        """Texts and tables in reading order, each with its depth."""


class DoclingReader(DocumentReader):
    """Reads PDFs with a converter, which is made when the first one is read and kept, for its models are large."""

    name: ClassVar[str] = "docling"
    version: ClassVar[int] = 1

    def __init__(self, create: Callable[[], Converter]) -> None:
        self._create = create

    @cached_property
    def _converter(self) -> Converter:
        return self._create()

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument if docling cannot."""
        try:
            document = self._converter.convert(path).document
        except (ValueError, RuntimeError, OSError) as error:
            raise UnreadableDocument(f"docling cannot read it: {error}") from error
        builder, title = _PagedBuilder(), ""
        for item, _ in document.iterate_items():
            label = str(getattr(item, "label", ""))
            text = str(getattr(item, "text", ""))
            builder.turn_to(item)
            if label in _HEADINGS:
                title = title or text
                builder.add_heading(text, int(getattr(item, "level", 1)) + (label != "title"))
            elif label == "table":
                _add_rows(builder, item)
            elif label not in _FURNITURE:
                builder.add(text, _KINDS.get(label, "prose"))
        return builder.build(title or path.stem)


class _PagedBuilder(DocumentBuilder):
    def __init__(self) -> None:
        super().__init__()
        self._page = 0

    def turn_to(self, item: object) -> None:
        """Begin pages up to the one that the item stands on."""
        for place in getattr(item, "prov", ())[:1]:
            while self._page < place.page_no:
                self.begin_page()
                self._page += 1


def _add_rows(builder: DocumentBuilder, table: object) -> None:
    grid = getattr(getattr(table, "data", None), "grid", ())
    rows = [" | ".join(" ".join(str(cell.text).split()) for cell in row) for row in grid]
    for number, row in enumerate(rows):
        builder.add(row, "table", header=rows[0] if number else "", tight=number > 0)


def require_docling() -> None:
    """Raises SettingsError if docling is not installed."""
    if find_spec("docling") is None:
        raise SettingsError(
            "ingest.pdf_reader is docling, which is not installed.",
            hint="Run: uv pip install docling; or set ingest.pdf_reader: pdfium.",
        )


def create_converter() -> Converter:
    """Docling's own converter, with its own choice of models."""
    converter: Converter = import_module("docling.document_converter").DocumentConverter()
    return converter
