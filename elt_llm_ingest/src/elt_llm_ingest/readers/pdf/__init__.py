"""Read PDFs with pdfium, with pdfium and OCR, or with docling."""

from typing import TYPE_CHECKING

from elt_llm_ingest.readers.options import ReaderOptions

if TYPE_CHECKING:
    from elt_llm_ingest.parsing.document_reader import DocumentReader


def create_pdf_reader(options: ReaderOptions | None = None) -> "DocumentReader":
    """Create the reader that the options choose; raise SettingsError if docling is chosen but not installed."""
    chosen = options or ReaderOptions()
    if chosen.pdf_reader == "docling":
        from elt_llm_ingest.readers.docling import DoclingReader, create_converter, require_docling

        require_docling()
        return DoclingReader(create_converter)
    from elt_llm_ingest.readers.pdf.reader import PdfReader

    if chosen.ocr:
        from elt_llm_ingest.readers.pdf.ocr import PageOcr

        return PdfReader(PageOcr(chosen.ocr_languages, chosen.ocr_engine))
    return PdfReader()
