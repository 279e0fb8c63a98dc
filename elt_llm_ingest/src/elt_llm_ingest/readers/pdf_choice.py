"""Which reader PDFs get: pdfium's text layer, that with tesseract for pages that are pictures, or docling."""

from typing import TYPE_CHECKING

from elt_llm_ingest.readers.options import ReaderOptions

if TYPE_CHECKING:
    from elt_llm_ingest.readers.document_reader import DocumentReader


def create_pdf_reader(options: ReaderOptions | None = None) -> "DocumentReader":
    """The reader that the options ask for. Raises SettingsError if docling is asked for and not installed."""
    chosen = options or ReaderOptions()
    if chosen.pdf_reader == "docling":
        from elt_llm_ingest.readers.docling import DoclingReader, create_converter, require_docling

        require_docling()
        return DoclingReader(create_converter)
    from elt_llm_ingest.readers.pdf import PdfReader

    if chosen.ocr:
        from elt_llm_ingest.readers.ocr import PageOcr

        return PdfReader(PageOcr(chosen.ocr_languages, chosen.ocr_engine))
    return PdfReader()
