"""Reader options: plain values, because they are sent to the parsing processes."""

from dataclasses import dataclass
from typing import Literal

from elt_llm_core.settings.tree import IngestSettings


@dataclass(frozen=True)
class ReaderOptions:
    """The choices in how files are read. They are part of a reader's identity and so of a document version's.

    `ocr_languages` are tesseract's names joined by "+". `ocr_engine` is the installed program, such as
    "tesseract 5.3.0"; empty if none is installed or `ocr` is off.
    """

    pdf_reader: Literal["pdfium", "docling"] = "pdfium"
    ocr: bool = False
    ocr_languages: str = "eng"
    ocr_engine: str = ""

    @classmethod
    def of(cls, settings: IngestSettings) -> "ReaderOptions":
        """Return the options of the settings on this machine; look for tesseract only if OCR is on."""
        from elt_llm_ingest.readers.tesseract import installed_version

        engine = installed_version() if settings.ocr else ""
        return cls(settings.pdf_reader, settings.ocr, settings.ocr_languages, engine)
