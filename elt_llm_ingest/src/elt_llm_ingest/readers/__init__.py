"""Readers: one file in, one text with pages, sections and blocks out; nothing heavy is imported until one is made."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elt_llm_ingest.readers.document_reader import DocumentReader
    from elt_llm_ingest.readers.options import ReaderOptions

# Taken, but refused by name with the cure, unless a file of that name is a newer one in truth.
REFUSED_SUFFIXES: frozenset[str] = frozenset((".doc", ".ppt"))
SUPPORTED_SUFFIXES: frozenset[str] = frozenset(
    (
        *(".md", ".markdown", ".txt", ".text", ".rst", ".html", ".htm", ".xhtml", ".pdf"),
        *(".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".xls", ".ods", ".epub"),
        *(".docx", ".docm", ".dotx", ".dotm", ".pptx", ".pptm", ".ppsx", ".potx", ".odt", ".ott"),
        *REFUSED_SUFFIXES,
        *(".drawio", ".xml"),
    )
)


def create_reader(path: Path, options: "ReaderOptions | None" = None) -> "DocumentReader | None":
    """The reader for a file by its suffix, or None if there is none."""
    match path.suffix.lower():
        case ".md" | ".markdown":
            from elt_llm_ingest.readers.markdown import MarkdownReader

            return MarkdownReader()
        case ".txt" | ".text" | ".rst":
            from elt_llm_ingest.readers.plain import PlainTextReader

            return PlainTextReader()
        case ".html" | ".htm" | ".xhtml":
            from elt_llm_ingest.readers.html import HtmlReader

            return HtmlReader()
        case ".pdf":
            from elt_llm_ingest.readers.pdf_choice import create_pdf_reader

            return create_pdf_reader(options)
        case ".csv" | ".tsv" | ".tab":
            from elt_llm_ingest.readers.delimited import DelimitedReader

            return DelimitedReader()
        case suffix:
            return _office_reader(suffix)


def _office_reader(suffix: str) -> "DocumentReader | None":
    """The reader for what office programs write."""
    reader: DocumentReader | None = None
    match suffix:
        case ".xlsx" | ".xlsm" | ".xls" | ".ods":
            from elt_llm_ingest.readers.sheets import SheetsReader

            reader = SheetsReader()
        case ".docx" | ".docm" | ".dotx" | ".dotm" | ".doc":
            from elt_llm_ingest.readers.docx import DocxReader

            reader = DocxReader()
        case ".pptx" | ".pptm" | ".ppsx" | ".potx" | ".ppt":
            from elt_llm_ingest.readers.pptx import PptxReader

            reader = PptxReader()
        case ".odt" | ".ott":
            from elt_llm_ingest.readers.odt import OdtReader

            reader = OdtReader()
        case ".epub":
            from elt_llm_ingest.readers.epub import EpubReader

            reader = EpubReader()
        case ".drawio" | ".xml":
            from elt_llm_ingest.readers.drawio import DrawioReader

            reader = DrawioReader()
    return reader


def reader_called(name: str, path: Path, options: "ReaderOptions | None" = None) -> "DocumentReader | None":
    """The reader of that name, such as "html" or "docx", whatever the file's suffix; "auto" goes by the suffix."""
    match name:
        case "leanix_model":
            from elt_llm_ingest.leanix.model_reader import LeanixModelReader

            return LeanixModelReader()
        case "leanix_inventory":
            from elt_llm_ingest.leanix.inventory_reader import LeanixInventoryReader

            return LeanixInventoryReader()
    named = {"auto": path.suffix, "markdown": ".md", "plain": ".txt", "sheets": ".xlsx", "delimited": ".csv"}
    return create_reader(Path(f"file{named.get(name, f'.{name}')}"), options)
