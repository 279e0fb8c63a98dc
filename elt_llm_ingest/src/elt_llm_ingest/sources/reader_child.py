"""The child process that runs a LlamaIndex reader and writes its documents as files.

It is started as `python -m elt_llm_ingest.sources.reader_child`. The request comes as JSON on standard input.
"""

import json
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

RESULT_FILE = "result.json"
_MEGABYTE = 1 << 20
_NAME_KEYS = ("url", "source", "file_path", "file_name")
_RANDOM_ID_LENGTH = 36  # that of a UUID, which LlamaIndex gives to a document without an id
_MOST_DOCUMENTS = 10_000


class _ReaderError(Exception):
    """The reader cannot be used. The message contains the reason and, if possible, what to do."""


class _NetworkGuard:
    """An audit hook that refuses connections from Python sockets to hosts that are not allowed."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self._names = {host.rpartition(":")[0] or host for host in allowed}

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise PermissionError if the reader looks up or connects to a host that is not allowed."""
        if event == "socket.getaddrinfo":
            host = arguments[0]
        elif event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple):
            host = arguments[1][0]
        else:
            return
        name = host.decode() if isinstance(host, bytes) else str(host or "")
        if name not in self._names and (event == "socket.getaddrinfo" or name not in self._addresses()):
            raise PermissionError(f"the host {name} is not allowed; add it to ingest.remote.allowed_hosts")

    def _addresses(self) -> set[str]:
        import socket

        addresses: set[str] = set()
        for name in self._names:
            try:
                addresses.update(str(found[4][0]) for found in socket.getaddrinfo(name, None))
            except OSError:
                continue
        return addresses


def main() -> int:
    """Read the request, run the reader, and write the result into the folder that the request names."""
    request = json.loads(sys.stdin.read())
    folder = Path(request["folder"])

    def report(kind: type[BaseException], error: BaseException, _trace: Any) -> None:
        raised = f"it raised {kind.__name__}: {_without_values(str(error), request['arguments'])}"
        _write_result(folder, {"error": str(error) if isinstance(error, _ReaderError) else raised})

    sys.excepthook = report  # the reader is another project's code and may raise anything
    sys.addaudithook(_NetworkGuard(request["allowed_hosts"]))
    _write_result(folder, {"documents": _read(request, folder)})
    return 0


def _write_result(folder: Path, result: dict[str, Any]) -> None:
    (folder / RESULT_FILE).write_text(json.dumps(result), encoding="utf-8")


def _read(request: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    from llama_index.core.schema import Document

    reader = _create(request["reader"], request["arguments"])
    returned = reader.load_data(**_load_arguments(request["arguments"]))
    if not isinstance(returned, Iterable):
        raise _ReaderError(f"its load_data returned {type(returned).__name__} instead of a list of documents")
    written: dict[str, dict[str, Any]] = {}
    for number, document in enumerate(returned):
        if not isinstance(document, Document):
            raise _ReaderError(f"its load_data returned {type(document).__name__} instead of a document")
        if number >= _MOST_DOCUMENTS:
            raise _ReaderError(f"it returned more than {_MOST_DOCUMENTS:,} documents; give arguments that select fewer")
        name = _name(document, number)
        while name in written:
            name += f"-{number}"
        written[name] = _write(document.text, folder / f"{number}.md", request["max_file_mb"])
    return [{"name": name, **document} for name, document in written.items()]


def _create(target: str, arguments: dict[str, Any]) -> Any:
    from llama_index.core.readers.base import BaseReader

    module, _, name = target.partition(":")
    try:
        found = getattr(import_module(module), name, None)
    except ModuleNotFoundError as error:
        raise _ReaderError(f"there is no module {error.name}; install the package of the reader") from error
    if found is None:
        raise _ReaderError(f"the module {module} has no class {name}; correct `reader` of the ingest job")
    if not (isinstance(found, type) and issubclass(found, BaseReader)):
        raise _ReaderError(
            f"{name} is not a class derived from LlamaIndex's BaseReader; correct `reader` of the ingest job"
        )
    return found(**{key: value for key, value in arguments.items() if key != "load_data"})


def _load_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    given = arguments.get("load_data", {})
    if not isinstance(given, dict):
        raise _ReaderError("`arguments.load_data` of the ingest job is not a mapping; write names and values")
    return given


def _name(document: Any, number: int) -> str:
    """Return a name that a document keeps between runs: its id unless that is random, else its address or number."""
    if len(document.id_) != _RANDOM_ID_LENGTH:
        return str(document.id_)
    return str(next((document.metadata[key] for key in _NAME_KEYS if document.metadata.get(key)), number))


def _write(text: str, path: Path, limit_mb: int) -> dict[str, Any]:
    content = text.encode("utf-8", "replace")
    if len(content) > limit_mb * _MEGABYTE:
        return {"file": "", "size": len(content)}
    path.write_bytes(content)
    return {"file": path.name, "size": len(content)}


def _without_values(message: str, arguments: Any) -> str:
    """Return a message in one line, with the values of the arguments masked, since these may be credentials."""
    line = " ".join(message.split())
    for value in sorted(_values(arguments), key=len, reverse=True):
        line = line.replace(value, "***")
    return line[:300]


def _values(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _values(each)]
    if isinstance(value, list):
        return [text for each in value for text in _values(each)]
    return [str(value)] if len(str(value)) > 3 else []


if __name__ == "__main__":
    sys.exit(main())
