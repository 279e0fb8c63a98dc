"""Get documents from a LlamaIndex reader in an installed package, such as a reader from LlamaHub."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import quote

from elt_llm_core.settings.tree import IngestSettings

from elt_llm_ingest.sources.reader_child import RESULT_FILE
from elt_llm_ingest.sources.remote import RemoteFailure

ENTRY_POINTS = "elt_llm.readers"


@dataclass(frozen=True)
class ReaderSource:
    """A reader class as `package:Class`, with its arguments. The arguments may be credentials and are not shown."""

    target: str
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def root(self) -> str:
        """The URL under which the reader's documents are stored, such as `reader://package:Class/`."""
        return f"reader://{self.target}/"


def find_reader_class(name: str) -> str:
    """Return the `package:Class` that a name refers to: the name itself, or the entry point of this name; else ""."""
    if ":" in name:
        return name
    return next((entry.value for entry in entry_points(group=ENTRY_POINTS, name=name)), "")


def read_documents(source: ReaderSource, settings: IngestSettings, folder: Path) -> dict[str, tuple[Path | None, int]]:
    """Run a reader in a child process, which writes each document into `folder`.

    Return the file and size in bytes of each document, by the document's URL. The file is None if it is too large.
    Raises RemoteFailure if the reader fails, does not end in time, or returns anything but documents.
    """
    folder.mkdir(parents=True, exist_ok=True)
    request = {
        "reader": source.target,
        "arguments": dict(source.arguments),
        "allowed_hosts": settings.remote.allowed_hosts,
        "max_file_mb": settings.max_file_mb,
        "folder": str(folder),
    }
    _run_child(source, json.dumps(request).encode(), settings.remote.reader_seconds)
    try:
        result = json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise RemoteFailure(f"The reader {source.target} ended without a result; run it in Python to see why") from None
    if "error" in result:
        raise RemoteFailure(f"The reader {source.target} failed: {result['error']}")
    return {
        source.root + quote(item["name"]): (folder / item["file"] if item["file"] else None, int(item["size"]))
        for item in result["documents"]
    }


def _run_child(source: ReaderSource, request: bytes, seconds: int) -> None:
    # The reader's output is discarded, because it may contain credentials.
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "elt_llm_ingest.sources.reader_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        started = time.monotonic()
        try:
            child.communicate(request, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise RemoteFailure(
                f"The reader {source.target} did not end within {time.monotonic() - started:.0f} s;"
                " give arguments that select less, or raise ingest.remote.reader_seconds"
            ) from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # end the child and every process that the reader started
