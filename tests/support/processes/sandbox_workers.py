"""Inspect the processes that parse files."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.sandbox.pool import ParsePool
from malformed.seeds import one_page, pdf, stream

_FORM = b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>"
ENDLESS_PDF = pdf(one_page(stream(b"/X Do"), stream(b"/X Do /X Do", _FORM)))
"""A PDF whose content draws itself twice, recursively: parsing takes seconds and gives no text."""


def workers_of(pool: ParsePool) -> set[int]:
    """Return the ids of the current processes of a pool."""
    with pool._lock:
        return {worker.identifier for worker in pool._alive}


def reason_for(pool: ParsePool, path: Path) -> str:
    """Return the reason why a file cannot be read; empty if it can be read."""
    try:
        pool.read(ParseRequest(path))
    except UnreadableDocument as error:
        return str(error)
    return ""


def wait_until(told: Callable[[], object], seconds: float = 20.0) -> bool:
    """Wait for a condition and return whether it became true in time."""
    end = time.monotonic() + seconds
    while not told():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def in_the_middle_of(pool: ParsePool, path: Path, reasons: list[str]) -> Iterator[None]:
    """Run the block while a thread parses a file. Afterwards, `reasons` has the reason why parsing failed."""
    thread = threading.Thread(target=lambda: reasons.append(reason_for(pool, path)))
    thread.start()
    assert wait_until(lambda: pool._alive and all(worker._ready for worker in pool._alive))
    time.sleep(0.3)
    try:
        yield
    finally:
        thread.join(60)
        assert not thread.is_alive()


def runs(process: int) -> bool:
    """Return whether a process runs and is no zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}
