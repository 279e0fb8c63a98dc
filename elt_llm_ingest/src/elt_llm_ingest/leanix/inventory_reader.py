"""The reader of inventories: workbooks that were exported fact sheet by fact sheet."""

from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.leanix.inventory import build_inventory
from elt_llm_ingest.leanix.inventory_columns import is_inventory
from elt_llm_ingest.leanix.inventory_documents import inventory_document
from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.document_reader import DocumentReader
from elt_llm_ingest.readers.workbook import Sheet, read_workbook


class LeanixInventoryReader(DocumentReader):
    """Reads the first sheet of a workbook as an inventory; further ones, such as ReadMe, are left out."""

    name = "leanix_inventory"
    version = 1

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument with the reason if it is no workbook or holds no inventory."""
        sheets = read_workbook(path)
        if not is_inventory(sheets):
            raise UnreadableDocument("holds no inventory: the first row has no columns id, type, name and displayName")
        return read_inventory(sheets, path.stem)


def read_inventory(sheets: Sequence[Sheet], title: str) -> ParsedDocument:
    """The document of an inventory that `is_inventory`, called `title`."""
    return inventory_document(build_inventory(sheets[0]), title)
