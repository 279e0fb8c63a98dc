"""The interface of parsers for the pipeline: requests, a parser in this process, and a cache of results."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsing.document_reader import read_document
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import ReaderOptions, create_named_reader


@dataclass(frozen=True)
class ParseRequest:
    """A file to parse. `reader` is the name of a reader, or "auto" to choose it by the file's suffix.

    If `within` is set, the file must be in this folder, and links to files in the folder are followed. Otherwise no
    links are followed.
    """

    path: Path
    reader: str = "auto"
    options: ReaderOptions = field(default_factory=ReaderOptions)
    within: Path | None = None


ParseOutcome = ParsedDocument | UnreadableDocument


class Parser(Protocol):
    """Parses files."""

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParseOutcome]:
        """Yield the document or the error of each file, in the order of the requests."""


class DirectParser:
    """Parses in this process without limits. Only for tests, and for files that the user wrote."""

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParseOutcome]:
        """Yield the document or the error of each file, in the order of the requests."""
        for request in requests:
            try:
                reader = create_named_reader(request.reader, request.path, request.options)
                if reader is None:
                    raise UnreadableDocument(f"no reader for {request.path.suffix}")
                yield read_document(reader, request.path)
            except UnreadableDocument as error:
                yield error


_MAX_CHARACTERS = 50_000_000
# Device, inode, size, modification time and change time: if one of these differs, the file is parsed again.
_FileState = tuple[int, int, int, int, int]


class CachingParser:
    """Caches the results of another parser, up to 50 million characters in total."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._kept: dict[tuple[ParseRequest, _FileState], ParseOutcome] = {}
        self._characters = 0

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParseOutcome]:
        """Yield the document or the error of each file, in order. Files that are not cached are parsed in parallel."""
        wanted = [(request, _file_state(request)) for request in requests]
        unread = [key for key in dict.fromkeys(wanted) if key not in self._kept]
        fresh = zip(unread, self._parser.read_all(request for request, _ in unread), strict=True)
        without_room: dict[tuple[ParseRequest, _FileState], ParseOutcome] = {}
        for key in wanted:
            while key not in self._kept and key not in without_room:
                read, outcome = next(fresh)
                size = outcome.characters if isinstance(outcome, ParsedDocument) else 0
                if self._characters + size <= _MAX_CHARACTERS:
                    self._characters += size
                    self._kept[read] = outcome
                else:  # no other result is evicted: the next pass over the files needs the oldest first
                    without_room[read] = outcome
            yield self._kept[key] if key in self._kept else without_room[key]


def _file_state(request: ParseRequest) -> _FileState:
    try:
        status = request.path.stat()
    except OSError:
        return 0, 0, -1, 0, 0
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
