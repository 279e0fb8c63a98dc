"""Read one of many formats with kreuzberg, such as older Office files, RTF, notebooks and LaTeX."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsing.charset import decode, normalise_text
from elt_llm_ingest.parsing.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.parsing.parsed_document import ParsedDocument, find_year, known_values
from elt_llm_ingest.readers.docx import DocxReader
from elt_llm_ingest.readers.drawio import DrawioReader
from elt_llm_ingest.readers.formats.latex import expand_macros, separate_lines
from elt_llm_ingest.readers.formats.rtf import mark_powers
from elt_llm_ingest.readers.markdown import markdown_document
from elt_llm_ingest.readers.pptx import PptxReader

if TYPE_CHECKING:
    from kreuzberg import ExtractionResult

_TYPES = {
    ".doc": "application/msword",
    ".ppt": "application/vnd.ms-powerpoint",
    ".rtf": "application/rtf",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".yaml": "application/x-yaml",
    ".yml": "application/x-yaml",
    ".toml": "application/toml",
    ".xml": "application/xml",
    ".svg": "image/svg+xml",
    ".ipynb": "application/x-ipynb+json",
    ".tex": "application/x-latex",
    ".typ": "application/x-typst",
    ".org": "text/x-org",
    ".bib": "application/x-bibtex",
    ".fb2": "application/x-fictionbook+xml",
    ".dbk": "application/docbook+xml",
    ".opml": "application/xml+opml",
    ".jats": "application/x-jats+xml",
    ".djot": "text/x-djot",
}

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_DIAGRAM = re.compile(rb"<(?:mxfile|mxGraphModel)\b")
_DIAGRAM_REACH = 65_536
_LEAST_TEXT = 0.4  # the share of a text file's distinct words that its conversion must keep; otherwise there is a note
_WORD = re.compile(r"[^\W\d_]{3,40}")
_TEXT_FORMATS = frozenset((".json", ".jsonl", ".yaml", ".yml", ".toml", ".xml", ".typ", ".org"))


class ConvertedReader(DocumentReader):
    """Reads many formats with kreuzberg. Nothing is downloaded, and no OCR is done."""

    name: ClassVar[str] = "kreuzberg"
    version: ClassVar[int] = 6

    @property
    def identity(self) -> str:
        """Identifies the reader: its name and version, and the version of kreuzberg, which determines the text."""
        return f"{super().identity}-{installed_version('kreuzberg')}"

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged, or its format does not match its suffix."""
        data, suffix = read_bytes(path), path.suffix.lower()
        if suffix in (".doc", ".ppt") and (not data.startswith(_OLE) or _ENCRYPTED in data):
            # These readers accept a newer format with the old suffix. Their errors name the format of other content.
            return (DocxReader() if suffix == ".doc" else PptxReader()).read(path)
        if suffix == ".xml" and _DIAGRAM.search(data, 0, _DIAGRAM_REACH):
            return DrawioReader().read(path)
        if not data.strip():
            return ParsedDocument("", path.stem)
        if suffix == ".rtf" and not data.lstrip().startswith(b"{\\rtf"):
            raise UnreadableDocument("is not an RTF file: its content has another format", hint="rename the file")
        source, macros = _prepare_latex(data) if suffix == ".tex" else (data, ())
        converted = _convert(mark_powers(source) if suffix == ".rtf" else source, _TYPES[suffix])
        metadata = cast("Mapping[str, object]", converted.metadata)
        found = metadata.get("authors")
        authors = "; ".join(map(str, found)) if isinstance(found, list) else ""
        document = markdown_document(normalise_text(converted.content), path.stem)
        known = known_values(authors=authors, year=find_year(str(metadata.get("created_at") or "")))
        return replace(
            document,
            title=str(metadata.get("title") or "") or document.title,
            metadata={**document.metadata, **known},
            notes=(*document.notes, *macros, *_conversion_notes(suffix, data, converted)),
        )


def _prepare_latex(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    expanded, notes = expand_macros(data)
    separated, more = separate_lines(expanded)
    return separated, (*notes, *more)


def _convert(data: bytes, media_type: str) -> "ExtractionResult":
    from kreuzberg import ExtractionConfig, KreuzbergError, extract_bytes_sync

    # The media type is given, since kreuzberg would otherwise look up an unknown one on the internet.
    config = ExtractionConfig(output_format="markdown", use_cache=False)
    try:
        return extract_bytes_sync(data, media_type, config)
    except (KreuzbergError, ValueError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise UnreadableDocument(f"cannot be converted: it is damaged, or has another format ({reason})") from error


def _conversion_notes(suffix: str, data: bytes, converted: "ExtractionResult") -> Iterator[str]:
    if suffix in _TEXT_FORMATS:
        words = set(_WORD.findall(decode(data)[0]))
        kept = words & set(_WORD.findall(converted.content))
        if len(kept) < _LEAST_TEXT * len(words):
            yield f"only {len(kept)} of the {len(words)} different words of the file are in the text"
