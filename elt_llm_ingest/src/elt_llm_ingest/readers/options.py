"""What readers are told beside the file: plain values, since they travel to another process."""

from dataclasses import dataclass
from typing import Literal

from elt_llm_core.settings import IngestSettings


@dataclass(frozen=True)
class ReaderOptions:
    """How files are read where that can be chosen. Part of a version's identity through the reader's.

    `ocr_languages` are tesseract's names joined by "+". `ocr_engine` is what was found on this machine, such as
    "tesseract 5.3.0"; empty if nothing was or `ocr` is off.
    """

    pdf_reader: Literal["pdfium", "docling"] = "pdfium"
    ocr: bool = False
    ocr_languages: str = "eng"
    ocr_engine: str = ""

    @classmethod
    def of(cls, settings: IngestSettings) -> "ReaderOptions":
        """The options that the settings ask for on this machine; looks for tesseract only if OCR is on."""
        from elt_llm_ingest.readers.tesseract import installed_version

        engine = installed_version() if settings.ocr else ""
        return cls(settings.pdf_reader, settings.ocr, settings.ocr_languages, engine)
