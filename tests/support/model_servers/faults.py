"""Faults of a model server, and the script that assigns them to requests."""

import threading
from collections import deque
from enum import StrEnum


class Fault(StrEnum):
    """A fault of a server. Faults of streams and vectors apply only to replies of that kind."""

    NONE = "answers as it should"
    CLOSE = "closes the connection without a word"
    LOADING = "status 503, still loading the model"
    LOADING_500 = "status 500, loading the model"
    BUSY = "status 503, too many requests wait"
    MISSING = "status 404, no such model"
    FULL = "status 500, not enough memory"
    CRASHED = "status 500, the runner ended"
    TOO_LONG = "status 400, longer than the context"
    NO_THINKING = "status 400, the model cannot think"
    NO_EMBEDDINGS = "status 501, a chat model"
    REDIRECT = "status 307, to elsewhere"
    NOT_JSON = "status 200, with a page of HTML"
    HANG = "accepts the request and sends nothing"
    STALL = "sends a piece, then nothing"
    SLOW = "takes its time between pieces"
    ENDLESS = "never stops sending pieces"
    DROP = "closes the connection within the answer"
    ERROR_LINE = "reports a failure within the answer"
    GARBAGE = "sends invalid JSON within the answer"
    NO_DONE = "ends the stream properly, without its last piece"
    LENGTH = "stops at the most tokens it may write"
    PROMPT_CUT = "reads a part of the prompt"
    CUT_5 = "leaves out 5 % of the prompt"
    CUT_10 = "leaves out 10 % of the prompt"
    CUT_20 = "leaves out 20 % of the prompt"
    CUT_50 = "leaves out half of the prompt"
    SILENT_COUNTS = "does not count tokens"
    WRONG_DIMENSION = "sends vectors a number short"
    UNLIKE_DIMENSIONS = "sends one vector a number short"
    NOT_A_NUMBER = "sends a vector with NaN"
    ZERO = "sends a vector of zeros"
    ONE_SHORT = "sends one vector too few"
    WRONG_ORDER = "sends the vectors backwards"


class FaultScript:
    """The faults of the next requests by path; later requests are answered correctly."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._coming: dict[str, deque[Fault]] = {}
        self._always: dict[str, Fault] = {}

    def plan(self, path: str, *faults: Fault) -> None:
        """Let the next requests of a path fail with these faults, in order."""
        with self._lock:
            self._coming.setdefault(path, deque()).extend(faults)

    def always(self, path: str, fault: Fault) -> None:
        """Let every request of a path fail, after the planned faults."""
        with self._lock:
            self._always[path] = fault

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._coming.clear()
            self._always.clear()

    def next(self, path: str) -> Fault:
        """Return the fault of the request that has just arrived."""
        with self._lock:
            coming = self._coming.get(path)
            return coming.popleft() if coming else self._always.get(path, Fault.NONE)
