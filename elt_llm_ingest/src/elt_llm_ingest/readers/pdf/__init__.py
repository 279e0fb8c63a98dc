"""Read PDFs with pdfium, with pdfium and OCR, or with docling."""

from collections.abc import Callable, Iterable
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from elt_llm_core.errors import SettingsError, UnreadableDocument

from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader
from elt_llm_ingest.parsing.parsed_document import BlockKind, ParsedDocument
from elt_llm_ingest.readers import ReaderOptions


def create_pdf_reader(options: ReaderOptions | None = None) -> DocumentReader:
    """Create the PDF reader that the options select. Raises SettingsError if docling is selected but not installed."""
    chosen = options or ReaderOptions()
    if chosen.pdf_reader == "docling":
        if find_spec("docling") is None:
            raise SettingsError(
                "ingest.pdf_reader is docling, but docling is not installed.",
                hint="Run: uv pip install docling; or set ingest.pdf_reader: pdfium.",
            )
        return DoclingReader(create_converter)
    from elt_llm_ingest.readers.pdf.reader import PageOcr, PdfReader

    return PdfReader(PageOcr(chosen.ocr_languages, chosen.ocr_engine) if chosen.ocr else None)


_KINDS: dict[str, BlockKind] = {"list_item": "list", "code": "code", "formula": "code"}


# Converts a file to texts and tables in reading order; raises ValueError or RuntimeError if that fails.
DoclingConverter = Callable[[Path], Iterable[object]]


class DoclingReader(DocumentReader):
    """Reads PDFs with a docling converter, which is created for the first file and kept for further files."""

    name: ClassVar[str] = "docling"
    version: ClassVar[int] = 1

    def __init__(self, create: Callable[[], DoclingConverter]) -> None:
        self._create = create

    @cached_property
    def _converter(self) -> DoclingConverter:
        return self._create()

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if docling cannot parse it."""
        try:
            items = self._converter(path)
        except (ValueError, RuntimeError, OSError) as error:
            raise UnreadableDocument(f"docling cannot read the file: {error}") from error
        builder, title, page = DocumentBuilder(), "", 0
        for item in items:
            label = str(getattr(item, "label", ""))
            text = str(getattr(item, "text", ""))
            for provenance in getattr(item, "prov", ())[:1]:
                for _ in range(page, provenance.page_no):
                    builder.start_page()
                page = max(page, provenance.page_no)
            if label in ("title", "section_header"):
                title = title or text
                builder.add_heading(text, int(getattr(item, "level", 1)) + (label != "title"))
            elif label == "table":
                _add_rows(builder, item)
            elif label not in ("page_header", "page_footer"):
                builder.add(text, _KINDS.get(label, "prose"))
        return builder.build(title or path.stem)


def _add_rows(builder: DocumentBuilder, table: object) -> None:
    grid = getattr(getattr(table, "data", None), "grid", ())
    rows = [" | ".join(" ".join(str(cell.text).split()) for cell in row) for row in grid]
    for number, row in enumerate(rows):
        builder.add(row, "table", header=rows[0] if number else "", tight=number > 0)


def create_converter() -> DoclingConverter:
    """Create a converter with docling's default models."""
    converter = import_module("docling.document_converter").DocumentConverter()
    return lambda path: [item for item, _ in converter.convert(path).document.iterate_items()]
