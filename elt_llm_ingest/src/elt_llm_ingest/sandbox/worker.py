"""The process that parses: it takes one request after another from its parent and answers each, or dies of it.

Started as `python -m elt_llm_ingest.sandbox.worker PARENT MEMORY_MB`; requests come on standard input, answers go out
on what was standard output.
"""

import json
import os
import re
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from elt_llm_core.errors import EltError, UnreadableDocument

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.sandbox.guards import (
    die_with_parent,
    give_up_privileges,
    leave_network,
    limit_computing,
    limit_resources,
    peak_memory_mb,
)
from elt_llm_ingest.sandbox.landlock import give_up_writing
from elt_llm_ingest.sandbox.limits import MEGABYTE
from elt_llm_ingest.sandbox.llama_shell import skip_llama_index_start
from elt_llm_ingest.sandbox.pinning import pinned
from elt_llm_ingest.sandbox.wire import PREFIX, encode_document, frame, to_bytes

if TYPE_CHECKING:
    from elt_llm_ingest.readers.document_reader import DocumentReader

OUT_OF_MEMORY = 71
"""Exit code of a worker that had no memory left even to say so."""
_MOST_REASON = 300
_WRITABLE = (Path("/tmp"), Path("/dev/null"))  # noqa: S108 - programs that readers start keep pieces there
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,16}")


class _Attempt:
    """Keeps whatever a reader raises, for a damaged file makes libraries raise anything; the answer names it.

    `fresh` says that the next file should get another process.
    """

    def __init__(self) -> None:
        self.answer: dict[str, Any] = {}
        self.fresh = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            return False
        if isinstance(error, EltError):
            self.answer = {"unreadable": _clipped(str(error)), "hint": _clipped(error.hint)}
        elif error is not None:
            self.fresh = not isinstance(error, Exception) or isinstance(error, MemoryError | RecursionError)
            self.answer = _named(error)
        return True


def answer(request: dict[str, Any], readers: "dict[str, DocumentReader]") -> tuple[bytes, bool]:
    """What to say to a request, and whether this process is still as good as new; `readers` are kept by request."""
    limit_computing(int(request["computing_seconds"]))
    with _Attempt() as attempt:
        within = Path(request["within"]) if request["within"] else None
        with pinned(Path(request["path"]), within) as path:
            document = _reader(request, readers).read(path)
        if reason := _too_long(document, int(request["characters"])):
            return to_bytes({"unreadable": reason, "hint": "Raise ingest.max_characters."}), True
        payload = to_bytes({"document": encode_document(document)})
        most = int(request["answer_bytes"])
        if len(payload) <= most:
            return payload, True
        reason = f"its text and what is known of it take more than {most // MEGABYTE:,} MB"
        return to_bytes({"unreadable": reason, "hint": ""}), True
    return to_bytes(attempt.answer), not attempt.fresh


def _reader(request: dict[str, Any], readers: "dict[str, DocumentReader]") -> "DocumentReader":
    from elt_llm_ingest.readers import reader_called
    from elt_llm_ingest.readers.options import ReaderOptions

    path = Path(request["path"])
    key = repr((request["reader"], path.suffix, request["options"]))
    if key not in readers:
        reader = reader_called(request["reader"], path, ReaderOptions(**request["options"]))
        if reader is None:
            raise UnreadableDocument(f"no reader for {path.suffix or 'files without a suffix'}")
        readers[key] = reader
    return readers[key]


def _too_long(document: ParsedDocument, most: int) -> str:
    characters = len(document.text) + sum(len(part.document.text) for part in document.parts)
    return f"has {characters:,} characters of text, more than the {most:,} that are read" if characters > most else ""


def _named(error: BaseException) -> dict[str, Any]:
    if isinstance(error, MemoryError):
        return {"memory": True}
    if isinstance(error, RecursionError):
        return {"unreadable": "is nested too deeply", "hint": ""}
    said = " ".join(str(error).split())
    told = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return {"unreadable": f"is damaged, or not what its name says ({_clipped(_ADDRESS.sub('', told))})", "hint": ""}


def _clipped(reason: str) -> str:
    return reason if len(reason) <= _MOST_REASON else reason[: _MOST_REASON - 1] + "…"


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are none, or until another process should go on."""
    usable = True
    readers: dict[str, DocumentReader] = {}
    while usable and len(prefix := requests.read(PREFIX)) == PREFIX:
        request = json.loads(requests.read(int.from_bytes(prefix, "big")))
        payload, as_new = answer(request, readers)
        usable = as_new and peak_memory_mb() < request["worker_megabytes"]
        del request
        answers.write(b"\1" if usable else b"\0")
        answers.write(frame(payload))
        answers.flush()


def main(parent: int, memory_mb: int) -> None:
    """Give up what is not needed, get ready, serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    requests = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    isolated = leave_network()
    die_with_parent(parent)
    limit_resources(memory_mb)
    give_up_writing(_WRITABLE)
    give_up_privileges()
    skip_llama_index_start()
    import elt_llm_ingest.readers.document_reader  # noqa: F401 - paid for while the parent gets ready too

    answers.write(frame(to_bytes({"ready": True, "isolated": isolated})))
    answers.flush()
    serve(requests, answers)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), int(sys.argv[2]))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BrokenPipeError:
        os._exit(0)
