"""What the pipeline asks of whatever reads files, and reading without a child process."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.readers import reader_called
from elt_llm_ingest.sandbox.request import ParseRequest


class Parser(Protocol):
    """Reads files, one answer a request, in their order."""

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParsedDocument | UnreadableDocument]:
        """What each file came to."""


class DirectParser:
    """Reads in this very process, without limits: for tests, and files that were written by the one who reads them."""

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParsedDocument | UnreadableDocument]:
        """What each file came to."""
        for request in requests:
            try:
                yield self._read(request)
            except UnreadableDocument as error:
                yield error

    def _read(self, request: ParseRequest) -> ParsedDocument:
        reader = reader_called(request.reader, request.path, request.options)
        if reader is None:
            raise UnreadableDocument(f"no reader for {request.path.suffix}")
        return reader.read(request.path)
