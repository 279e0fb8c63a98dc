"""CSV and TSV: one table, row by row, whatever parts its cells and whichever charset it comes in."""

from pathlib import Path
from typing import ClassVar

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.charset import decode
from elt_llm_ingest.readers.delimited_dialect import delimiter_of, rows_of
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.document_reader import DocumentReader, read_bytes
from elt_llm_ingest.readers.sheets_rows import write_table

_DECLARATION = "sep="


class DelimitedReader(DocumentReader):
    """Reads .csv, .tsv and .tab; a cell over several lines becomes one line."""

    name: ClassVar[str] = "delimited"
    version: ClassVar[int] = 1

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument if it is not text."""
        text, notes = decode(read_bytes(path))
        declared, body = _declared(text)
        delimiter = declared or delimiter_of(body, "," if path.suffix.lower() == ".csv" else "\t")
        rows, doubts = rows_of(body, delimiter)
        builder = DocumentBuilder()
        write_table(builder, rows)
        return builder.build(path.stem, notes=notes + doubts)


def _declared(text: str) -> tuple[str, str]:
    """The delimiter that a first line such as `sep=;` names, and the text below it."""
    first, _, rest = text.partition("\n")
    bare = first.strip('" ')
    if bare.casefold().startswith(_DECLARATION) and len(bare) == len(_DECLARATION) + 1 and bare[-1] in ",;\t|:^~":
        return bare[-1], rest
    return "", text
