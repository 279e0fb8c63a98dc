"""The contract of a reader: LlamaIndex's BaseReader plus a parsed document, a name and a version."""

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from elt_llm_core.errors import UnreadableDocument
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers.llama_document import to_llama_document


class DocumentReader(BaseReader):
    """Turns one file into one text and its structure; the same bytes always give the same result.

    `name` and `version` are part of a document version's identity: raise `version` when the text could differ.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def identity(self) -> str:
        """What a version records of its reader; a reader whose arguments change the text names them too."""
        return f"{self.name}-{self.version}"

    @abstractmethod
    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; UnreadableDocument with the reason if that cannot be done."""

    def load_data(
        self,
        file: Path,
        *args: Any,
        **load_kwargs: Any,
    ) -> list[Document]:
        """The file as one LlamaIndex document whose metadata carries pages, sections and blocks."""
        return [to_llama_document(self.read(Path(file)), Path(file))]


def read_bytes(path: Path) -> bytes:
    """The content of a file; UnreadableDocument if the system does not give it."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableDocument(f"cannot be opened: {error.strerror or error}") from error
