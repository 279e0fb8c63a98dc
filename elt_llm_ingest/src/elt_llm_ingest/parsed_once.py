"""Keeps what files came to for one run, so that several collections made of the same files cost one reading."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from elt_llm_core.errors import UnreadableDocument

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.sandbox.parser import Parser
from elt_llm_ingest.sandbox.request import ParseRequest

_MOST_CHARACTERS = 50_000_000


@dataclass(frozen=True)
class _State:
    """A file as it was when it was read; if it changed since, it is read again."""

    device: int
    number: int
    size: int
    modified_ns: int
    changed_ns: int


class ParsedOnce:
    """A parser before a parser: what was read stays, up to 50 million characters in all."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._kept: dict[tuple[ParseRequest, _State], ParsedDocument | UnreadableDocument] = {}
        self._characters = 0

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParsedDocument | UnreadableDocument]:
        """What each file came to, in the order of the requests: those not read yet are read side by side."""
        wanted = [(request, _state(request)) for request in requests]
        unread = [key for key in dict.fromkeys(wanted) if key not in self._kept]
        fresh = zip(unread, self._parser.read_all(request for request, _ in unread), strict=True)
        passing: dict[tuple[ParseRequest, _State], ParsedDocument | UnreadableDocument] = {}
        for key in wanted:
            while key not in self._kept and key not in passing:
                read, outcome = next(fresh)
                if not self._keep(read, outcome):
                    passing[read] = outcome
            yield self._kept[key] if key in self._kept else passing[key]

    def _keep(self, key: tuple[ParseRequest, _State], outcome: ParsedDocument | UnreadableDocument) -> bool:
        """Whether there was room for it. Nothing is dropped for it: whoever comes round again begins at the front."""
        size = 0 if isinstance(outcome, UnreadableDocument) else _characters(outcome)
        if self._characters + size > _MOST_CHARACTERS:
            return False
        self._characters += size
        self._kept[key] = outcome
        return True


def _characters(document: ParsedDocument) -> int:
    return len(document.text) + sum(len(part.document.text) for part in document.parts)


def _state(request: ParseRequest) -> _State:
    try:
        status = request.path.stat()
    except OSError:
        return _State(0, 0, -1, 0, 0)
    return _State(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
