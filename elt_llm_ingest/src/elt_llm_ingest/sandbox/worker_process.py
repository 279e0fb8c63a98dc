"""A worker as its parent sees it: asked over pipes, given so much time, and ended when that is over."""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from typing import Any, BinaryIO, cast

from elt_llm_core.errors import IngestError

from elt_llm_ingest.sandbox.answers import MalformedAnswer, parse_json
from elt_llm_ingest.sandbox.limits import ParseLimits
from elt_llm_ingest.sandbox.pinning import clear_pinned
from elt_llm_ingest.sandbox.request import ParseRequest
from elt_llm_ingest.sandbox.wire import PREFIX, frame
from elt_llm_ingest.sandbox.worker import OUT_OF_MEMORY

_SECONDS_TO_START = 60.0
_CHUNK = 1 << 20
_MOST_GREETING = 1000
# How a program ends that finds no memory: by its own abort, by a trap, or by using what it did not get.
_WANT_OF_MEMORY = (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL, signal.SIGSEGV, signal.SIGBUS)
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "TESSDATA_PREFIX", "SYSTEMROOT")


class WorkerDied(Exception):
    """The process ended in the middle of a file; `reason` is for the file, `again` if a fresh one might manage."""

    def __init__(self, reason: str, hint: str = "", *, again: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.hint, self.again = reason, hint, again


class WorkerProcess:
    """One child process. For one thread at a time, except `kill`."""

    def __init__(self, limits: ParseLimits) -> None:
        """Start it; it gets ready by itself meanwhile."""
        self._limits = limits
        self._ready = False
        self.files = 0
        self.usable = True
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, on a module of this package
                [sys.executable, "-s", "-P", "-m", "elt_llm_ingest.sandbox.worker", *self._arguments()],
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
        """Its process id."""
        return self._process.pid

    def await_greeting(self) -> None:
        """Wait until it is ready, if it is not yet. Raises IngestError if it ends or takes a minute."""
        if self._ready:
            return
        deadline = time.monotonic() + _SECONDS_TO_START
        try:
            greeting = parse_json(self._read(self._length(deadline, _MOST_GREETING), deadline))
        except (WorkerDied, MalformedAnswer) as error:
            self.kill()
            raise IngestError(
                f"The process that reads files does not start: {error}", hint="Run: elt-llm doctor"
            ) from error
        self._ready = bool(greeting.get("ready"))

    def ask(self, request: ParseRequest) -> dict[str, Any]:
        """Its answer to a request. Raises WorkerDied, after which this is of no more use, and MalformedAnswer."""
        self.await_greeting()
        question = {
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
        self._write(frame(json.dumps(question).encode("ascii")))  # escapes what of a path is not text
        self.usable = self._read(1, deadline) == b"\1"
        payload = self._read(self._length(deadline, self._limits.answer_bytes), deadline)
        self.files += 1
        self.usable = self.usable and self.files < self._limits.files_per_worker
        return parse_json(payload)

    def kill(self) -> None:
        """End it and what it started, at once; its thread finds the pipe closed."""
        self.usable = False
        if self._process.returncode is not None:
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()

    def bury(self) -> None:
        """End it, if it still runs, and take its pipes and its place in the system's table away."""
        self.kill()
        self._end()

    def _arguments(self) -> list[str]:
        return [str(os.getpid()), str(self._limits.memory_mb)]

    def _length(self, deadline: float, most: int) -> int:
        length = int.from_bytes(self._read(PREFIX, deadline), "big")
        if length > most:
            raise MalformedAnswer("more than was allowed")
        return length

    def _write(self, data: bytes) -> None:
        try:
            self._requests.write(data)
        except BrokenPipeError as error:
            raise self._death() from error

    def _read(self, size: int, deadline: float) -> bytes:
        """Exactly so many bytes. Raises WorkerDied if the pipe closes or time runs out before."""
        descriptor = self._answers.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        received = bytearray()
        while len(received) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                self.bury()
                raise WorkerDied(f"took more than {self._limits.seconds:g} s to read", "Raise ingest.parse_seconds.")
            chunk = os.read(descriptor, min(_CHUNK, size - len(received)))
            if not chunk:
                raise self._death()
            received += chunk
        return bytes(received)

    def _death(self) -> WorkerDied:
        """Why it ended by itself, told by how."""
        code, peak_mb = self._end()
        limits = self._limits
        if code == -signal.SIGXCPU:
            return WorkerDied(f"took more than {limits.computing_seconds} s of computing to read", _SLOW)
        if code == OUT_OF_MEMORY or (-code in _WANT_OF_MEMORY and peak_mb > limits.memory_mb / 2):
            return out_of_memory(limits)
        if code == -signal.SIGKILL:
            return WorkerDied("the system ended the reader, most likely for want of memory", again=True)
        if code < 0:
            hint = _PERHAPS_MEMORY if -code in _WANT_OF_MEMORY else ""
            return WorkerDied(f"the reader crashed (signal {-code})", hint, again=True)
        return WorkerDied(f"the reader ended unexpectedly (exit code {code})", again=True)

    def _end(self) -> tuple[int, float]:
        """Waits for the process; its exit code as subprocess tells it, and the megabytes it held at its peak."""
        for pipe in (self._requests, self._answers):
            pipe.close()
        if self._process.returncode is not None:
            return self._process.returncode, 0.0
        _, status, usage = os.wait4(self._process.pid, 0)
        clear_pinned()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        # Linux counts what the parent held into it: only what is above that is certainly the child's.
        inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak = usage.ru_maxrss if usage.ru_maxrss > inherited else 0
        return self._process.returncode, peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


_PERHAPS_MEMORY = "If it wanted more memory at once than it may have, raise ingest.parse_memory_mb."
_SLOW = "Raise ingest.parse_seconds; half of it is computing."


def out_of_memory(limits: ParseLimits) -> WorkerDied:
    """What is said of a file that took too much memory."""
    return WorkerDied(
        f"needed more than {limits.memory_mb:,} MB of memory", "Raise ingest.parse_memory_mb.", again=True
    )


def _environment() -> dict[str, str]:
    """The variables a worker gets: how to find programs, and nothing that could be a secret.

    Strings hash the same in every worker, so that no library's habit of walking a set can make texts differ.
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
