"""Read the formats of the extra `formats`: older Office files, e-mail, pictures, archives, notebooks, LaTeX and others.

Kreuzberg (https://kreuzberg.dev, MIT) converts most of these formats to Markdown, whose structure is read as that of a
Markdown file. E-mail, pictures and archives are read here, since their attachments and members become documents.
"""

from elt_llm_ingest.parsing.document_reader import DocumentReader
from elt_llm_ingest.readers.formats.archives import ArchiveReader
from elt_llm_ingest.readers.formats.converted import ConvertedReader
from elt_llm_ingest.readers.formats.mail import EmailReader
from elt_llm_ingest.readers.formats.members import ARCHIVES
from elt_llm_ingest.readers.formats.outlook import OutlookReader
from elt_llm_ingest.readers.formats.pictures import PICTURES, PictureReader
from elt_llm_ingest.readers.options import ReaderOptions


def create_formats_reader(suffix: str, options: ReaderOptions | None) -> DocumentReader:
    """Create the reader for one of the FORMAT_SUFFIXES. `options` decide whether pictures are read by OCR."""
    chosen = options or ReaderOptions()
    if suffix in PICTURES:
        return PictureReader(chosen)
    if suffix in ARCHIVES:
        return ArchiveReader(chosen)
    if suffix == ".eml":
        return EmailReader(chosen)
    return OutlookReader(chosen) if suffix == ".msg" else ConvertedReader()
