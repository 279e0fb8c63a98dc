"""Files read in child processes: none is started before there is a file, and each serves for many."""

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import IngestError, UnreadableDocument

from elt_llm_ingest.parsed_document import ParsedDocument
from elt_llm_ingest.sandbox.answers import MalformedAnswer, decode_document, printable
from elt_llm_ingest.sandbox.limits import ParseLimits
from elt_llm_ingest.sandbox.opening import check_file
from elt_llm_ingest.sandbox.request import ParseRequest
from elt_llm_ingest.sandbox.worker_process import WorkerDied, WorkerProcess, out_of_memory

__all__ = ["ParseLimits", "ParsePool", "ParseRequest"]

_AHEAD = 2


class ParsePool(Closeable):
    """Reads files in at most `workers` processes, each under `limits`. Any thread may ask.

    A file ends its worker at worst: the next one gets a fresh process. What a file comes to does not depend on which
    were read before it: one that brings down a worker that has read others is tried once more in a fresh one.
    """

    def __init__(self, limits: ParseLimits, workers: int) -> None:
        self._limits = limits
        self._workers = workers
        # The threads outlive their workers: on Linux, a child may be tied to the life of the thread that started it.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="parse")
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._alive: set[WorkerProcess] = set()
        self._closed = False

    def check(self) -> None:
        """Start a worker and wait until it is ready. Raises IngestError if it does not get so far."""
        self._threads.submit(self._start_idle).result()
        for worker in self._idle:
            worker.await_greeting()

    def read(self, request: ParseRequest) -> ParsedDocument:
        """The parsed file. Raises UnreadableDocument with the reason, and IngestError if no worker can be started."""
        return self._submit(request).result()

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParsedDocument | UnreadableDocument]:
        """What each file came to, in the order of the requests; at most twice as many as workers are under way."""
        waiting: deque[Future[ParsedDocument]] = deque()
        try:
            for request in requests:
                waiting.append(self._submit(request))
                if len(waiting) >= _AHEAD * self._workers:
                    yield _outcome(waiting.popleft())
            while waiting:
                yield _outcome(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """End all workers at once, in the middle of a file too."""
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
            raise IngestError("Files are not read any more: the work was ended.")

    def _read(self, request: ParseRequest) -> ParsedDocument:
        check_file(request.path, request.within, self._limits.file_mb)
        worker = self._take()
        fresh = worker.files == 0
        try:
            return self._ask(worker, request)
        except WorkerDied as death:
            if fresh or not death.again:
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
                raise out_of_memory(self._limits)
            usable = worker.usable
            if "document" in answer:
                return decode_document(answer["document"], self._limits.characters)
            raise UnreadableDocument(printable(answer.get("unreadable")), hint=printable(answer.get("hint")))
        except MalformedAnswer as error:
            usable = False
            raise UnreadableDocument(f"the reader answered with what is no document: {error}") from error
        finally:
            self._put_back(worker, usable=usable)

    def _take(self) -> WorkerProcess:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._new()

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


def _outcome(future: Future[ParsedDocument]) -> ParsedDocument | UnreadableDocument:
    try:
        return future.result()
    except UnreadableDocument as error:
        return error
