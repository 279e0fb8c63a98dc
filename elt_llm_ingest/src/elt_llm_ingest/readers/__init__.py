"""Readers: one file in, one text with pages, sections and blocks out; nothing heavy is imported until one is made."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elt_llm_ingest.readers.document_reader import DocumentReader

SUPPORTED_SUFFIXES: frozenset[str] = frozenset(
    (".md", ".markdown", ".txt", ".text", ".rst", ".html", ".htm", ".xhtml", ".pdf")
)


def create_reader(path: Path) -> "DocumentReader | None":
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
            from elt_llm_ingest.readers.pdf import PdfReader

            return PdfReader()
        case _:
            return None
