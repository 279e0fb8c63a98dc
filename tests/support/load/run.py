"""The load bench: a library, a server, clients of several kinds, and a report of their measurements."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from load.clients import Clients, Connection, LoadMeasurements, reported, slow_clients
from load.corpus import Library
from load.server import ServerProcess, Writer, repeatedly, serving

QUESTIONS = 2000
UNHINDERED = {"ELT_LLM_SERVE__REQUESTS_PER_MINUTE": "10000000", "ELT_LLM_LLM__PROVIDER": "extractive"}


@dataclass
class LoadBench:
    """The load benchmark of one server. `passages` is the number of chunks; server and writer get `environment`."""

    folder: Path
    passages: int
    environment: Mapping[str, str]
    lines: list[str] = field(default_factory=list)
    library: Library = field(default_factory=Library)

    def prepared(self) -> Writer:
        """Ingest the library, which takes some minutes for 10,000 chunks."""
        writer = Writer(self.folder, {**self.environment, **UNHINDERED}, self.library)
        self.library.write(self.folder / "corpus", self.passages)
        writer.ingest()
        assert not writer.failures, writer.failures
        return writer

    @contextmanager
    def server(self) -> Iterator[tuple[ServerProcess, Clients]]:
        """Start a server in a separate process, warm it up, and yield clients for it."""
        with serving(self.folder, {**self.environment, **UNHINDERED}) as process:
            clients = Clients(process.address, [self.library.question() for _ in range(QUESTIONS)])
            clients.closed_loop(2, 1.0)
            yield process, clients

    def paced(
        self, process: ServerProcess, clients: Clients, number: int, seconds: float
    ) -> tuple[LoadMeasurements, LoadMeasurements]:
        """Run this many clients with one question per second each, and one client that checks /health."""
        living = LoadMeasurements()
        with closing(Connection(process.address)) as client, repeatedly(lambda: clients.health(living, client), 0.25):
            met = clients.at_a_pace(number, seconds)
        self._say(f"{number} clients, 1/s each, {seconds:g} s", met, living)
        return met, living

    def closed(self, clients: Clients, number: int, seconds: float) -> LoadMeasurements:
        """Run this many clients as fast as they can."""
        met = clients.closed_loop(number, seconds)
        rate = sum(map(len, met.times.values())) / seconds
        self._say(f"{number} clients as fast as they can, {seconds:g} s: {rate:.1f} a second", met)
        return met

    def beside_slow_ones(self, process: ServerProcess, clients: Clients, slow: int, seconds: float) -> LoadMeasurements:
        """Run paced clients while other clients send one byte per second or never read."""
        with slow_clients(process.address, slow, slow):
            met = clients.at_a_pace(4, seconds)
        self._say(f"4 clients, 1/s each, beside {slow} that send slowly and {slow} that do not read", met)
        return met

    def memory(self, process: ServerProcess, clients: Clients, warm: float, seconds: float) -> float:
        """Return the growth of memory in megabytes per ten minutes under constant load, by least squares."""
        clients.at_a_pace(16, warm)
        seen: list[tuple[float, float]] = []
        with repeatedly(lambda: seen.append((time.monotonic(), process.memory_mb)), 2.0):
            clients.at_a_pace(16, seconds)
        slope = _slope(seen) * 600
        self.lines.append(
            f"memory: {seen[0][1]:.1f} MB after {warm:g} s, {seen[-1][1]:.1f} MB {seconds:g} s later,"
            f" {slope:+.2f} MB in 10 minutes; {process.descriptors} descriptors"
        )
        return slope

    def report(self) -> str:
        """Return the measurements, with the load of the machine."""
        busy = ", ".join(f"{load:.1f}" for load in os.getloadavg())
        return "\n".join([f"{self.passages} passages, {os.cpu_count()} cores, load average {busy}", *self.lines])

    def _say(self, what: str, met: LoadMeasurements, living: LoadMeasurements | None = None) -> None:
        self.lines.append(what)
        for kind in ("search", "query"):
            self.lines.append(f"  {kind}: {reported(met.of(kind, 200))}")
        if refused := {status: met.of("search", status) for status in (429, 503) if met.count("search", status)}:
            self.lines += [f"  search refused with {status}: {reported(times)}" for status, times in refused.items()]
        if living:
            self.lines.append(f"  health: {reported(living.of('health'))}")
        self.lines.append(
            f"  unexpected {met.unexpected or 'none'}, not connected {dict(met.failed) or 'none'},"
            f" mixed {len(met.mixed)}, editions seen {len(met.editions)}"
        )


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of a least-squares line; 0 for fewer than two points."""
    middle_x = sum(x for x, _ in points) / max(1, len(points))
    middle_y = sum(y for _, y in points) / max(1, len(points))
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread if spread else 0.0
