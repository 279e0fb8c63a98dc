"""Read the formats of the extra `formats`: older Office files, e-mail, pictures, archives, notebooks, LaTeX and others.

Kreuzberg (https://kreuzberg.dev, MIT) converts most of these formats to Markdown, which is then read like a Markdown
file. This package itself reads pictures, and e-mails and archives, whose attachments and members become documents.
"""

from pathlib import Path
from typing import ClassVar

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsing.document_builder import DocumentBuilder
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import ARCHIVES, PICTURES, ReaderOptions
from elt_llm_ingest.readers.formats.converted import ConvertedReader
from elt_llm_ingest.readers.formats.mail import EmailReader, OutlookReader
from elt_llm_ingest.readers.formats.members import ArchiveReader
from elt_llm_ingest.readers.pdf.reader import DOTS_PER_INCH, PageOcr, ocr_paragraphs
from elt_llm_ingest.readers.tesseract import NOT_INSTALLED, OCR_IS_OFF, TesseractFailed, recognise

_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"RIFF")


class PictureReader(DocumentReader):
    """Reads the text in a picture with tesseract, if OCR is on."""

    name: ClassVar[str] = "picture"
    version: ClassVar[int] = 2

    def __init__(self, options: ReaderOptions) -> None:
        self._ocr = PageOcr(options.ocr_languages, options.ocr_engine) if options.ocr else None

    @property
    def identity(self) -> str:
        """Identifies the reader: its name, its version and, if OCR is on, the OCR languages and engine."""
        return f"{super().identity}-{self._ocr.identity}" if self._ocr else super().identity

    def read(self, path: Path) -> ParsedDocument:
        """Recognise the text in the picture. If OCR is off, the text is empty, and a note names the setting."""
        data, builder = read_bytes(path), DocumentBuilder()
        if data and not data.startswith(_SIGNATURES):
            raise UnreadableDocument("is not a picture: its content has another format", hint="rename the file")
        if self._ocr is None:
            return builder.build(path.stem, {}, (f"is a picture; {OCR_IS_OFF}",))
        if not self._ocr.engine:
            return builder.build(path.stem, {}, (f"the text of the picture is not read: {NOT_INSTALLED}",))
        try:
            table = recognise(data, self._ocr.languages, DOTS_PER_INCH)
        except TesseractFailed as error:
            raise UnreadableDocument(f"cannot be read as a picture: {error}") from error
        for paragraph in ocr_paragraphs(table):
            builder.add(paragraph.text, paragraph.kind, tight=paragraph.tight)
        return builder.build(path.stem, {}, (f"the text was recognised by {self._ocr.described}",))


def create_formats_reader(suffix: str, options: ReaderOptions | None) -> DocumentReader:
    """Create the reader for one of the FORMAT_SUFFIXES. `options` decides whether pictures are read by OCR."""
    chosen = options or ReaderOptions()
    if suffix in PICTURES:
        return PictureReader(chosen)
    if suffix in ARCHIVES:
        return ArchiveReader(chosen)
    if suffix == ".eml":
        return EmailReader(chosen)
    return OutlookReader(chosen) if suffix == ".msg" else ConvertedReader()
