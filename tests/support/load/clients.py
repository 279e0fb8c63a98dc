"""Clients that put load on a server: at a pace, as fast as possible, or slowly; and their measurements."""

import http.client
import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from load.corpus import editions_in

_LATEST = 20.0  # seconds that clients behind schedule continue after the end
QUERY_SHARE = 0.1  # share of requests that are answers; the others are searches


@dataclass
class LoadMeasurements:
    """Response times (ms) by request kind and HTTP status, and how many answers mixed editions of the documents."""

    times: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    mixed: list[str] = field(default_factory=list)
    without_retry_after: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    editions: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, kind: str, status: int, milliseconds: float) -> None:
        """Record one response."""
        with self.lock:
            self.times.setdefault((kind, status), []).append(milliseconds)

    def of(self, kind: str, *statuses: int) -> list[float]:
        """Return the times of a kind of request with one of these statuses, or with any status."""
        found = [
            values for (of, status), values in self.times.items() if of == kind and (not statuses or status in statuses)
        ]
        return sorted(value for values in found for value in values)

    def count(self, kind: str, *statuses: int) -> int:
        """Return how many requests of a kind were answered with one of these statuses, or with any status."""
        return len(self.of(kind, *statuses))

    @property
    def unexpected(self) -> dict[int, int]:
        """The number of responses by status, from 500 on. A 503 with Retry-After is expected and not counted."""
        found: Counter[int] = Counter()
        for (_, status), values in self.times.items():
            if status >= 500 and status != 503:
                found[status] += len(values)
        return dict(found)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is at least as large as `share` (0 to 1) of all values; 0 without values."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def reported(values: Sequence[float]) -> str:
    """Format the times as a short text."""
    shares = ", ".join(f"p{share * 100:g} {percentile(values, share):.1f}" for share in (0.5, 0.95, 0.99))
    return f"{len(values)}: {shares}, most {values[-1] if values else 0:.1f} ms"


class Connection:
    """A keep-alive connection whose client does little work, so that the server is what is measured."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._connection.connect()

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, http.client.HTTPResponse, bytes]:
        """Send one request and return status and body. Raises OSError and HTTPException."""
        self._connection.request(method, path, body, {"content-type": "application/json"} if body else {})
        answer = self._connection.getresponse()
        return answer.status, answer, answer.read()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Clients:
    """Clients of one server, each with its own connection and questions; all stop after `seconds`."""

    def __init__(self, address: str, questions: Sequence[str], seed: int = 1) -> None:
        self._address, self._questions, self._seed = address, questions, seed

    def at_a_pace(self, clients: int, seconds: float, each: float = 1.0) -> LoadMeasurements:
        """Send a question every `each` seconds; its time counts from when it was due, not when it was sent."""

        def ask(met: LoadMeasurements, number: int, client: Connection, until: float) -> None:
            chance, due = self._chance(number), time.monotonic() + each * number / clients
            while due < until and time.monotonic() < until + _LATEST:
                time.sleep(max(0.0, due - time.monotonic()))
                self._ask(met, client, chance, due)
                due += each

        return self._run(clients, seconds, ask)

    def closed_loop(self, clients: int, seconds: float) -> LoadMeasurements:
        """Send the next question as soon as the last one is answered."""

        def ask(met: LoadMeasurements, number: int, client: Connection, until: float) -> None:
            chance = self._chance(number)
            while time.monotonic() < until:
                self._ask(met, client, chance, time.monotonic())

        return self._run(clients, seconds, ask)

    def health(self, met: LoadMeasurements, client: Connection) -> None:
        """Request /health once."""
        started = time.monotonic()
        status, _, _ = client.ask("GET", "/health")
        met.add("health", status, (time.monotonic() - started) * 1000)

    def _ask(self, met: LoadMeasurements, client: Connection, chance: random.Random, due: float) -> None:
        kind = "query" if chance.random() < QUERY_SHARE else "search"
        asked = json.dumps({"question": chance.choice(self._questions)}).encode()
        try:
            status, answer, content = client.ask("POST", f"/v1/{kind}", asked)
        except (OSError, http.client.HTTPException) as error:
            with met.lock:
                met.failed[type(error).__name__] += 1
            client.close()
            return
        met.add(kind, status, (time.monotonic() - due) * 1000)
        if status == 200:
            self._look(met, kind, json.loads(content))
        elif status in {429, 503}:
            self._wait(met, answer.getheader("retry-after"))

    def _wait(self, met: LoadMeasurements, seconds: str | None) -> None:
        """Wait as long as the header Retry-After of a response requests."""
        if seconds is None:
            met.without_retry_after += 1
        time.sleep(min(float(seconds or 1), 5))

    def _look(self, met: LoadMeasurements, kind: str, body: Mapping[str, Any]) -> None:
        found = editions_in([chunk["text"] for chunk in body["chunks"]])
        with met.lock:
            met.editions |= found
            if len(found) > 1:
                met.mixed.append(f"{kind}: editions {sorted(found)}")

    def _run(
        self, clients: int, seconds: float, ask: Callable[[LoadMeasurements, int, Connection, float], None]
    ) -> LoadMeasurements:
        met, until = LoadMeasurements(), time.monotonic() + seconds

        def work(number: int) -> None:
            with closing(Connection(self._address)) as client:
                ask(met, number, client, until)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return met

    def _chance(self, number: int) -> random.Random:
        return random.Random(self._seed * 1000 + number)  # noqa: S311 - repeatable, not secret


@contextmanager
def slow_clients(address: str, senders: int, deaf: int) -> Iterator[None]:
    """Open connections that send one byte per second, and others that ask and never read the answer."""
    parts, stopped = urlsplit(address), threading.Event()
    head = f"POST /v1/search HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    body = b'{"question": "what is there?"}'
    with ExitStack() as opened:

        def connected() -> socket.socket:
            return opened.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=30))

        slow = [connected() for _ in range(senders)]
        for one in slow:
            one.sendall(f"{head}Content-Length: 100000\r\n\r\n".encode())
        for one in [connected() for _ in range(deaf)]:
            one.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        thread = threading.Thread(target=_drip, args=(slow, stopped))
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()


def _drip(connections: Sequence[socket.socket], stopped: threading.Event) -> None:
    living = list(connections)
    while not stopped.wait(1.0):
        for one in tuple(living):
            try:
                one.send(b" ")
            except OSError:  # the server has closed the slow connection, which is allowed
                living.remove(one)
