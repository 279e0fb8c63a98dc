"""What a model server may do wrong, and the script that says at which request it does."""

import threading
from collections import deque
from enum import StrEnum


class Fault(StrEnum):
    """One way of failing. Those of streams and of vectors matter only where there is one."""

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
    REDIRECT = "status 307, to elsewhere"
    NOT_JSON = "status 200, with a page of HTML"
    HANG = "takes the request and says nothing"
    STALL = "says a piece, then nothing"
    SLOW = "takes its time between pieces"
    ENDLESS = "never stops saying pieces"
    DROP = "closes the connection amid the answer"
    ERROR_LINE = "says that it failed, amid the answer"
    GARBAGE = "says what is no JSON, amid the answer"
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
    """Faults of the requests to come, by path; when they are used up, requests are answered as they should be."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._coming: dict[str, deque[Fault]] = {}
        self._always: dict[str, Fault] = {}

    def plan(self, path: str, *faults: Fault) -> None:
        """The next requests of that path fail so, one after the other."""
        with self._lock:
            self._coming.setdefault(path, deque()).extend(faults)

    def always(self, path: str, fault: Fault) -> None:
        """Every request of that path fails so, once what is planned is over."""
        with self._lock:
            self._always[path] = fault

    def clear(self) -> None:
        """All is well again."""
        with self._lock:
            self._coming.clear()
            self._always.clear()

    def next(self, path: str) -> Fault:
        """The fault of a request that has just come."""
        with self._lock:
            coming = self._coming.get(path)
            return coming.popleft() if coming else self._always.get(path, Fault.NONE)
