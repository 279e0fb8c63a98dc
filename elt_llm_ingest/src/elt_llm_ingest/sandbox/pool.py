"""Parse files in child processes that are started on demand and reused, under limits on time and memory."""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, BinaryIO, cast

from elt_llm_core.errors import IngestError, UnreadableDocument
from elt_llm_core.utilities import Closeable

from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.sandbox.guards import ParseLimits, check_file, remove_pinned
from elt_llm_ingest.sandbox.messages import (
    LENGTH_PREFIX_BYTES,
    MalformedAnswer,
    decode_document,
    encode_frame,
    parse_json,
    printable_reason,
)
from elt_llm_ingest.sandbox.parser import ParseOutcome, ParseRequest
from elt_llm_ingest.sandbox.worker import OUT_OF_MEMORY

_WORKER = "elt_llm_ingest.sandbox.worker"
_SECONDS_TO_START = 60.0
_CHUNK = 1 << 20
_MAX_GREETING = 1000
# Signals that may end a program when memory runs out: abort, a trap, or access to memory that it did not get.
_MEMORY_SIGNALS = (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL, signal.SIGSEGV, signal.SIGBUS)
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "TESSDATA_PREFIX", "SYSTEMROOT")


class WorkerDied(UnreadableDocument):
    """The worker process ended while it parsed a file. `retry` is true if a fresh process might succeed."""

    def __init__(self, reason: str, *, hint: str = "", retry: bool = False) -> None:
        super().__init__(reason, hint=hint)
        self.retry = retry


class WorkerProcess:
    """A child process that parses files. Only one thread at a time may use it, but any thread may call `kill`."""

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self._ready = False
        self.files = 0
        self.usable = True
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, on a module of this package
                [sys.executable, "-s", "-P", "-m", _WORKER, str(os.getpid()), str(limits.memory_mb)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                cwd=os.sep,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise IngestError(f"The process that reads files cannot be started: {error.strerror or error}") from error
        self._requests = cast(BinaryIO, self._process.stdin)
        self._answers = cast(BinaryIO, self._process.stdout)

    @property
    def identifier(self) -> int:
        """The process id of the worker."""
        return self._process.pid

    def await_greeting(self) -> None:
        """Wait until the worker is ready; raise IngestError if it ends or is not ready within a minute."""
        if self._ready:
            return
        deadline = time.monotonic() + _SECONDS_TO_START
        try:
            greeting = parse_json(self._read(self._length(deadline, _MAX_GREETING), deadline))
        except (WorkerDied, MalformedAnswer) as error:
            self.kill()
            raise IngestError(
                f"The process that reads files does not start: {error}", hint="Run: elt-llm doctor"
            ) from error
        self._ready = bool(greeting.get("ready"))

    def ask(self, request: ParseRequest) -> dict[str, Any]:
        """Send a request and return the result; raise MalformedAnswer or WorkerDied if there is no result."""
        self.await_greeting()
        message = {
            "path": os.fspath(request.path.absolute()),
            "within": os.fspath(request.within.absolute()) if request.within else "",
            "reader": request.reader,
            "options": asdict(request.options),
            "characters": self._limits.characters,
            "answer_bytes": self._limits.answer_bytes,
            "computing_seconds": self._limits.computing_seconds,
            "worker_megabytes": self._limits.worker_megabytes,
        }
        deadline = time.monotonic() + self._limits.seconds
        # JSON can also represent paths that are not valid UTF-8: their invalid bytes are escaped.
        self._write(encode_frame(json.dumps(message).encode("ascii")))
        self.usable = self._read(1, deadline) == b"\1"
        payload = self._read(self._length(deadline, self._limits.answer_bytes), deadline)
        self.files += 1
        self.usable = self.usable and self.files < self._limits.files_per_worker
        return parse_json(payload)

    def kill(self) -> None:
        """End the process and its children at once. A thread that waits for a result finds the pipe closed."""
        self.usable = False
        if self._process.returncode is not None:
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()

    def bury(self) -> None:
        """End the process if it still runs, close its pipes and wait for its exit."""
        self.kill()
        self._end()

    def _length(self, deadline: float, most: int) -> int:
        length = int.from_bytes(self._read(LENGTH_PREFIX_BYTES, deadline), "big")
        if length > most:
            raise MalformedAnswer("the result is larger than the limit")
        return length

    def _write(self, data: bytes) -> None:
        try:
            self._requests.write(data)
        except BrokenPipeError as error:
            raise self._death() from error

    def _read(self, size: int, deadline: float) -> bytes:
        """Read exactly `size` bytes; raise WorkerDied if the pipe closes or the time runs out first."""
        descriptor = self._answers.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        received = bytearray()
        while len(received) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                self.bury()
                reason = f"took more than {self._limits.seconds:g} s to read"
                raise WorkerDied(reason, hint="Raise ingest.parse_seconds.")
            chunk = os.read(descriptor, min(_CHUNK, size - len(received)))
            if not chunk:
                raise self._death()
            received += chunk
        return bytes(received)

    def _death(self) -> WorkerDied:
        """Return an error with the reason why the process ended, as its exit code shows."""
        code, peak_mb = self._end()
        limits = self._limits
        if code == -signal.SIGXCPU:
            return WorkerDied(f"took more than {limits.computing_seconds} s of processor time to read", hint=_SLOW)
        if code == OUT_OF_MEMORY or (-code in _MEMORY_SIGNALS and peak_mb > limits.memory_mb / 2):
            return out_of_memory_error(limits)
        if code == -signal.SIGKILL:
            return WorkerDied("the system ended the reader, most likely because memory ran out", retry=True)
        if code < 0:
            hint = _PERHAPS_MEMORY if -code in _MEMORY_SIGNALS else ""
            return WorkerDied(f"the reader crashed (signal {-code})", hint=hint, retry=True)
        return WorkerDied(f"the reader ended unexpectedly (exit code {code})", retry=True)

    def _end(self) -> tuple[int, float]:
        """Wait until the process has ended; return its exit code and its peak memory in megabytes."""
        for pipe in (self._requests, self._answers):
            pipe.close()
        if self._process.returncode is not None:
            return self._process.returncode, 0.0
        _, status, usage = os.wait4(self._process.pid, 0)
        remove_pinned()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        # On Linux, the value includes the parent's memory at the start. Only a higher value is certainly the child's.
        inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak = usage.ru_maxrss if usage.ru_maxrss > inherited else 0
        return self._process.returncode, peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


_PERHAPS_MEMORY = "If the file needs more memory than the limit, raise ingest.parse_memory_mb."
_SLOW = "Raise ingest.parse_seconds; half of this time may be processor time."


def out_of_memory_error(limits: ParseLimits) -> WorkerDied:
    """Return the error for a file that needed too much memory."""
    return WorkerDied(
        f"needed more than {limits.memory_mb:,} MB of memory", hint="Raise ingest.parse_memory_mb.", retry=True
    )


def _environment() -> dict[str, str]:
    """Return a worker's environment variables: the paths of programs and fixed values, but nothing secret.

    With the fixed hash seed, sets are iterated in the same order in all workers, so that the order cannot change texts.
    """
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {
        **kept,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_THREAD_LIMIT": "1",
    }


_REQUESTS_AHEAD = 2
_MAX_STARTS = 3  # attempts to start a worker that ends before it is ready, for example because the system ended it


class ParsePool(Closeable):
    """Parses files in at most `workers` child processes, each under `limits`. The pool is thread-safe.

    A file can only end its own worker, and the next file gets a fresh one. If a worker that has already parsed other
    files ends, its current file is tried once more in a fresh worker, so that the result of a file does not depend on
    earlier files.
    """

    def __init__(self, limits: ParseLimits, workers: int) -> None:
        self._limits = limits
        self._workers = workers
        # The threads must outlive their workers, since on Linux a child may end with the thread that started it.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="parse")
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._alive: set[WorkerProcess] = set()
        self._closed = False

    def check(self) -> None:
        """Start a worker and wait until it is ready; raise IngestError if the worker does not start."""
        self._threads.submit(lambda: self._put_back(self._start(), usable=True)).result()

    def read(self, request: ParseRequest) -> ParsedDocument:
        """Parse a file; raise UnreadableDocument with the reason, or IngestError if no worker can be started."""
        return self._submit(request).result()

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParseOutcome]:
        """Yield each file's document or error, in order. At most two requests per worker are queued or processed."""
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
        worker = idle or self._start()
        fresh = worker.files == 0
        try:
            return self._ask(worker, request)
        except WorkerDied as death:
            if fresh or not death.retry:
                raise
        return self._ask(self._start(), request)

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

    def _start(self) -> WorkerProcess:
        """Start a worker, and return it when it is ready. If it ends before, try again, at most twice."""
        starts = 1
        while True:
            worker = self._new()
            try:
                worker.await_greeting()
            except IngestError:
                self._put_back(worker, usable=False)
                if starts == _MAX_STARTS:
                    raise
                starts += 1
            else:
                return worker

    def _put_back(self, worker: WorkerProcess, *, usable: bool) -> None:
        with self._lock:
            if usable and not self._closed:
                self._idle.append(worker)
                return
            self._alive.discard(worker)
        worker.bury()


def _parse_outcome(future: Future[ParsedDocument]) -> ParseOutcome:
    try:
        return future.result()
    except UnreadableDocument as error:
        return error
