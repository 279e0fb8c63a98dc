"""EPUB: the pages of a book in the order they are read, each with the blocks an HTML page has."""

from pathlib import Path
from typing import ClassVar

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.archive import Archive, guarded_archive
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.readers.epub_package import Book, Chapter, open_book
from elt_llm_ingest.readers.html import parse_page, visible_part
from elt_llm_ingest.readers.html_blocks import BlockWriter

_HEADINGS = "h1, h2, h3, h4, h5, h6"


class EpubReader(DocumentReader):
    """Reads .epub; never anything outside of the file. A chapter without a heading gets that of the contents."""

    name: ClassVar[str] = "epub"
    version: ClassVar[int] = 2

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument if it is broken, hostile or protected against copying."""
        with guarded_archive(path) as archive:
            book = open_book(archive)
            builder = DocumentBuilder()
            notes = [note for chapter in book.chapters for note in _write(builder, archive, chapter)]
        return builder.build(book.title or path.stem, book.metadata, (*dict.fromkeys(notes), *_missing(book)))


def _write(builder: DocumentBuilder, archive: Archive, chapter: Chapter) -> tuple[str, ...]:
    """Append a chapter; what is to be noted about its charset."""
    tree, notes = parse_page(archive.read_member(chapter.member))
    part = visible_part(tree)
    if part is None:
        return notes
    if part.css_first(_HEADINGS) is None and part.text().strip():
        builder.add_heading(chapter.title, 1)
    BlockWriter(builder).write(part)
    return notes


def _missing(book: Book) -> tuple[str, ...]:
    count = len(book.missing)
    return (f"{count} page{'s are' if count > 1 else ' is'} listed and not in the file",) if count else ()
