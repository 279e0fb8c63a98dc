"""Options of the readers. They are plain values, since they are sent to the worker processes."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from elt_llm_core.store.records import canonical_json

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import IngestSettings  # a worker process needs no settings and starts sooner


@dataclass(frozen=True)
class ReaderOptions:
    """The options for reading files. They are part of the identity of a reader and of a document version.

    `ocr_languages` are the names that tesseract uses, joined by "+". `ocr_engine` is the installed program, such as
    "tesseract 5.3.0"; it is "" if none is installed or `ocr` is off. `columns` is the JSON of the columns of a data
    dictionary, by what each column holds; "" without a mapping.
    """

    pdf_reader: Literal["pdfium", "docling"] = "pdfium"
    ocr: bool = False
    ocr_languages: str = "eng"
    ocr_engine: str = ""
    columns: str = ""

    @classmethod
    def of(cls, settings: "IngestSettings", columns: Mapping[str, str] = MappingProxyType({})) -> "ReaderOptions":
        """Return the options from the settings. Tesseract is looked up on this machine only if OCR is on."""
        from elt_llm_ingest.readers.tesseract import installed_version

        engine = installed_version() if settings.ocr else ""
        mapping = canonical_json(dict(columns)) if columns else ""
        return cls(settings.pdf_reader, settings.ocr, settings.ocr_languages, engine, mapping)
