"""The worker process: for each request from its parent process, it parses one file and returns the result.

It is started as `python -m elt_llm_ingest.sandbox.worker PARENT MEMORY_MB`. Requests come on standard input, and
results go to the original standard output.
"""

import json
import os
import re
import signal
import sys
from abc import ABC
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from elt_llm_core.errors import EltError, UnreadableDocument

from elt_llm_ingest.sandbox.guards import (
    MEGABYTE,
    die_with_parent,
    give_up_privileges,
    give_up_writing,
    leave_network,
    limit_computing,
    limit_resources,
    peak_memory_mb,
    pin_file,
)
from elt_llm_ingest.sandbox.messages import LENGTH_PREFIX_BYTES, encode_document, encode_frame, encode_json

if TYPE_CHECKING:
    from elt_llm_ingest.parsing.document_reader import DocumentReader


def skip_llama_index() -> None:
    """Register a class without methods as the BaseReader of LlamaIndex, which takes two thirds of the start to import.

    The readers of this package use none of its methods to parse. Only a process that does nothing else may call this.
    """
    module = ModuleType("llama_index.core.readers.base")
    vars(module)["BaseReader"] = type("BaseReader", (ABC,), {})
    sys.modules[module.__name__] = module


OUT_OF_MEMORY = 71
"""The exit code of a worker that has no memory left to send a result."""
_MAX_REASON_LENGTH = 300
_WRITABLE = (Path("/tmp"), Path("/dev/null"))  # noqa: S108 - programs that readers start write temporary files there
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,16}")


def answer_request(request: dict[str, Any], readers: "dict[str, DocumentReader]") -> tuple[bytes, bool]:
    """Return the result for a request, and whether this process is still usable. `readers` is a cache of readers."""
    limit_computing(int(request["computing_seconds"]))
    try:
        return _parse_file(request, readers), True
    except EltError as error:
        return encode_json({"unreadable": _clip_reason(str(error)), "hint": _clip_reason(error.hint)}), True
    except BaseException as error:  # libraries may raise any exception for a damaged file
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        usable = isinstance(error, Exception) and not isinstance(error, MemoryError | RecursionError)
        return encode_json(_describe_error(error)), usable


def _parse_file(request: dict[str, Any], readers: "dict[str, DocumentReader]") -> bytes:
    from elt_llm_ingest.parsing.document_reader import read_document

    within = Path(request["within"]) if request["within"] else None
    with pin_file(Path(request["path"]), within) as path:
        document = read_document(_create_reader(request, readers), path)
    if document.characters > (most_characters := int(request["characters"])):
        reason = f"has {document.characters:,} characters of text, more than the limit of {most_characters:,}"
        raise UnreadableDocument(reason, hint="divide it, or raise ingest.max_characters")
    payload = encode_json({"document": encode_document(document)})
    if len(payload) > (most := int(request["answer_bytes"])):
        raise UnreadableDocument(f"its text and structure need more than {most // MEGABYTE:,} MB of memory")
    return payload


def _create_reader(request: dict[str, Any], readers: "dict[str, DocumentReader]") -> "DocumentReader":
    from elt_llm_ingest.readers import ReaderOptions, create_named_reader

    path = Path(request["path"])
    key = repr((request["reader"], path.suffix, request["options"]))
    if key not in readers:
        reader = create_named_reader(request["reader"], path, ReaderOptions(**request["options"]))
        if reader is None:
            raise UnreadableDocument(f"no reader for {path.suffix or 'files without a suffix'}")
        readers[key] = reader
    return readers[key]


def _describe_error(error: BaseException) -> dict[str, Any]:
    if isinstance(error, MemoryError):
        return {"memory": True}
    if isinstance(error, RecursionError):
        return {"unreadable": "is nested too deeply", "hint": ""}
    message = " ".join(str(error).split())
    reason = _clip_reason(_ADDRESS.sub("", f"{type(error).__name__}: {message}".removesuffix(": ")))
    return {"unreadable": f"is damaged, or has another format than its suffix ({reason})", "hint": ""}


def _clip_reason(reason: str) -> str:
    return reason if len(reason) <= _MAX_REASON_LENGTH else reason[: _MAX_REASON_LENGTH - 1] + "…"


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Process requests until the parent closes the pipe, or until this process should be replaced."""
    usable = True
    readers: dict[str, DocumentReader] = {}
    while usable and len(prefix := requests.read(LENGTH_PREFIX_BYTES)) == LENGTH_PREFIX_BYTES:
        request = json.loads(requests.read(int.from_bytes(prefix, "big")))
        payload, as_new = answer_request(request, readers)
        usable = as_new and peak_memory_mb() < request["worker_megabytes"]
        del request
        answers.write(b"\1" if usable else b"\0")
        answers.write(encode_frame(payload))
        answers.flush()


def main(parent: int, memory_mb: int) -> None:
    """Give up all rights that are not needed, prepare this process, and serve requests."""
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
    skip_llama_index()
    import elt_llm_ingest.parsing.document_reader  # noqa: F401 - imported now, while the parent prepares

    answers.write(encode_frame(encode_json({"ready": True, "isolated": isolated})))
    answers.flush()
    serve(requests, answers)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), int(sys.argv[2]))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BrokenPipeError:
        os._exit(0)
