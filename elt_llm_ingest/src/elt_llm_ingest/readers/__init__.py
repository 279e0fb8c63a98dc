"""Readers turn a file into a parsed document. A format's libraries are imported only when its reader is created."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from elt_llm_core.store.records import canonical_json
from elt_llm_core.utilities import install_command

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import IngestSettings  # a worker process needs no settings and starts sooner

    from elt_llm_ingest.parsing.document_reader import DocumentReader

# Without the extra `formats`, only files whose content has a newer format (such as DOCX) are read.
REFUSED_SUFFIXES: frozenset[str] = frozenset((".doc", ".ppt"))
# For each group of suffixes: the module, and its class or function that creates the reader.
_READERS = {
    (".md", ".markdown", ".mdx"): ("markdown", "MarkdownReader"),
    (".txt", ".text", ".rst"): ("plain", "PlainTextReader"),
    (".html", ".htm", ".xhtml"): ("html", "HtmlReader"),
    (".pdf",): ("pdf", "create_pdf_reader"),
    (".csv", ".tsv", ".tab"): ("delimited", "DelimitedReader"),
    (".xlsx", ".xlsm", ".xls", ".ods"): ("sheets", "SheetsReader"),
    (".docx", ".docm", ".dotx", ".dotm", ".doc"): ("docx", "DocxReader"),
    (".pptx", ".pptm", ".ppsx", ".potx", ".ppt"): ("pptx", "PptxReader"),
    (".odt", ".ott"): ("odt", "OdtReader"),
    (".epub",): ("epub", "EpubReader"),
    (".drawio", ".xml"): ("drawio", "DrawioReader"),
}
_READER_OF_SUFFIX = {suffix: reader for suffixes, reader in _READERS.items() for suffix in suffixes}
SUPPORTED_SUFFIXES: frozenset[str] = frozenset(_READER_OF_SUFFIX)
"""The suffixes that are read without an extra."""
ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".tbz2", ".bz2", ".txz", ".xz", ".mbox")
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp")
FORMAT_SUFFIXES: frozenset[str] = frozenset(
    (
        *(".doc", ".ppt", ".rtf", ".eml", ".msg", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".xml", ".svg"),
        *(".ipynb", ".tex", ".typ", ".org", ".djot", ".bib", ".fb2", ".dbk", ".jats", ".opml"),
        *ARCHIVES,
        *PICTURES,
    )
)
"""The suffixes that are read with the extra `formats`."""


def has_formats() -> bool:
    """Return whether the extra `formats` is installed."""
    return all(find_spec(module) for module in ("kreuzberg", "olefile"))


def readable_suffixes() -> frozenset[str]:
    """Return the suffixes of all files that can be read with the installed extras."""
    return SUPPORTED_SUFFIXES | FORMAT_SUFFIXES if has_formats() else SUPPORTED_SUFFIXES - REFUSED_SUFFIXES


def no_reader_reason(suffix: str) -> str:
    """Return why a file with this suffix is not read, and the command that installs its reader, if there is one."""
    if suffix.lower() in FORMAT_SUFFIXES:
        return f"no reader for {suffix} without the extra formats; run: {install_command('formats')}"
    return f"no reader for {suffix or 'files without a suffix'}"


@dataclass(frozen=True)
class ReaderOptions:
    """The options for reading files. If an option that affects a reader changes, its files are read again.

    `ocr_languages` are the names that tesseract uses, joined by "+". `ocr_engine` is the installed program, such as
    "tesseract 5.3.0"; it is "" if none is installed or `ocr` is off. `columns` is a JSON object that maps roles such as
    "entity" to the column headers of a data dictionary, or "".
    """

    pdf_reader: Literal["pdfium", "docling"] = "pdfium"
    ocr: bool = False
    ocr_languages: str = "eng"
    ocr_engine: str = ""
    columns: str = ""

    @classmethod
    def of(cls, settings: "IngestSettings", columns: Mapping[str, str] = MappingProxyType({})) -> "ReaderOptions":
        """Create the options from the settings. This machine is searched for Tesseract only if OCR is on."""
        from elt_llm_ingest.readers.tesseract import installed_version

        engine = installed_version() if settings.ocr else ""
        mapping = canonical_json(dict(columns)) if columns else ""
        return cls(settings.pdf_reader, settings.ocr, settings.ocr_languages, engine, mapping)


_NAMED_READERS = {
    "leanix_model": ("drawio", "LeanixModelReader"),
    "leanix_inventory": ("sheets", "LeanixInventoryReader"),
    "dictionary": ("dictionary", "DictionaryReader"),
    "dictionary_columns": ("dictionary", "DictionaryColumnsReader"),
}
_SUFFIX_OF_NAME = {"markdown": ".md", "plain": ".txt", "sheets": ".xlsx", "delimited": ".csv"}


def create_reader(path: Path, options: ReaderOptions | None = None) -> "DocumentReader | None":
    """Create the reader for a file's suffix, or return None if the suffix is not supported."""
    return create_named_reader("auto", path, options)


def create_named_reader(name: str, path: Path, options: ReaderOptions | None = None) -> "DocumentReader | None":
    """Create a reader by name, such as "html"; "auto" chooses by the suffix. Return None for an unknown name."""
    suffix = path.suffix if name == "auto" else _SUFFIX_OF_NAME.get(name, f".{name}")
    if name not in _NAMED_READERS and suffix.lower() in FORMAT_SUFFIXES and has_formats():
        from elt_llm_ingest.readers.formats import create_formats_reader

        return create_formats_reader(suffix.lower(), options)
    reader = _NAMED_READERS.get(name) or _READER_OF_SUFFIX.get(suffix.lower())
    if reader is None:
        return None
    module, function = reader
    create = getattr(import_module(f"elt_llm_ingest.readers.{module}"), function)
    created: DocumentReader = create(options) if module == "pdf" or name == "dictionary" else create()
    return created
