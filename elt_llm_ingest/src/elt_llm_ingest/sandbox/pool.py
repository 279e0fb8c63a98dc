"""Parse files in child processes that are started on demand and reused."""

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from elt_llm_core.errors import IngestError, UnreadableDocument
from elt_llm_core.utilities import Closeable

from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.sandbox.file_checks import check_file
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.messages import MalformedAnswer, decode_document, printable_reason
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.sandbox.worker_process import WorkerDied, WorkerProcess, out_of_memory_error

__all__ = ["ParseLimits", "ParsePool", "ParseRequest"]

_REQUESTS_AHEAD = 2


class ParsePool(Closeable):
    """Parse files in at most `workers` child processes, each under `limits`. The pool is thread-safe.

    A file can only end its own worker, and the next file gets a fresh process. If a worker ends that has parsed earlier
    files, its current file is tried once more in a fresh worker. So the result of a file does not depend on earlier
    files.
    """

    def __init__(self, limits: ParseLimits, workers: int) -> None:
        self._limits = limits
        self._workers = workers
        # The threads outlive their workers, since on Linux a child may end with the thread that started it.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="parse")
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._alive: set[WorkerProcess] = set()
        self._closed = False

    def check(self) -> None:
        """Start a worker and wait until it is ready; raise IngestError if the worker does not start."""
        self._threads.submit(self._start_idle).result()
        for worker in self._idle:
            worker.await_greeting()

    def read(self, request: ParseRequest) -> ParsedDocument:
        """Parse a file; raise UnreadableDocument with the reason, or IngestError if no worker can be started."""
        return self._submit(request).result()

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParsedDocument | UnreadableDocument]:
        """Yield the document or the error of each file in order. At most two requests per worker are in progress."""
        waiting: deque[Future[ParsedDocument]] = deque()
        try:
            for request in requests:
                waiting.append(self._submit(request))
                if len(waiting) >= _REQUESTS_AHEAD * self._workers:
                    yield _parse_outcome(waiting.popleft())
            while waiting:
                yield _parse_outcome(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """End all workers at once, even while they parse a file."""
        with self._lock:
            self._closed = True
            for worker in self._alive:
                worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._alive:
            worker.bury()
        self._alive.clear()
        self._idle.clear()

    def _submit(self, request: ParseRequest) -> Future[ParsedDocument]:
        with self._lock:
            self._refuse_if_closed()
            return self._threads.submit(self._read, request)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise IngestError("Files cannot be parsed: the parse pool is closed.")

    def _read(self, request: ParseRequest) -> ParsedDocument:
        check_file(request.path, request.within, self._limits.file_mb)
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        worker = idle or self._new()
        fresh = worker.files == 0
        try:
            return self._ask(worker, request)
        except WorkerDied as death:
            if fresh or not death.retry:
                raise UnreadableDocument(death.reason, hint=death.hint) from death
        try:
            return self._ask(self._new(), request)
        except WorkerDied as death:
            raise UnreadableDocument(death.reason, hint=death.hint) from death

    def _ask(self, worker: WorkerProcess, request: ParseRequest) -> ParsedDocument:
        usable = False
        try:
            answer = worker.ask(request)
            if "memory" in answer:
                raise out_of_memory_error(self._limits)
            usable = worker.usable
            if "document" in answer:
                return decode_document(answer["document"], self._limits.characters)
            raise UnreadableDocument(
                printable_reason(answer.get("unreadable")), hint=printable_reason(answer.get("hint"))
            )
        except MalformedAnswer as error:
            usable = False
            raise UnreadableDocument(f"the result of the reader is not a valid document: {error}") from error
        finally:
            self._put_back(worker, usable=usable)

    def _new(self) -> WorkerProcess:
        with self._lock:
            self._refuse_if_closed()
            worker = WorkerProcess(self._limits)
            self._alive.add(worker)
            return worker

    def _start_idle(self) -> None:
        worker = self._new()
        with self._lock:
            self._idle.append(worker)

    def _put_back(self, worker: WorkerProcess, *, usable: bool) -> None:
        with self._lock:
            if usable and not self._closed:
                self._idle.append(worker)
                return
            self._alive.discard(worker)
        worker.bury()


def _parse_outcome(future: Future[ParsedDocument]) -> ParsedDocument | UnreadableDocument:
    try:
        return future.result()
    except UnreadableDocument as error:
        return error
