"""The server under load with 10,000 chunks while another process publishes; LOAD_SECONDS sets the duration."""

import os
from pathlib import Path

import pytest
from load.clients import percentile
from load.run import LoadBench

PASSAGES = int(os.environ.get("LOAD_PASSAGES", "10000"))
SECONDS = float(os.environ.get("LOAD_SECONDS", "300"))
CLOSED_SECONDS = float(os.environ.get("LOAD_CLOSED_SECONDS", "30"))
OVERLOAD_SECONDS = float(os.environ.get("LOAD_OVERLOAD_SECONDS", "60"))
WARM_SECONDS = float(os.environ.get("LOAD_WARM_SECONDS", "300"))
MEMORY_SECONDS = float(os.environ.get("LOAD_MEMORY_SECONDS", "600"))


@pytest.mark.bench
def test_the_server_is_fast_and_uses_constant_memory_under_load(tmp_path: Path) -> None:
    bench = LoadBench(tmp_path, PASSAGES, {})
    writer = bench.prepared()
    with bench.server() as (process, clients):
        with writer.running():
            met, living = bench.paced(process, clients, 16, SECONDS)
        quiet, _ = bench.paced(process, clients, 16, min(SECONDS, 60))
        closed = bench.closed(clients, 16, CLOSED_SECONDS)
        flooded = bench.closed(clients, 128, OVERLOAD_SECONDS)
        after = bench.closed(clients, 1, 5)
        beside = bench.beside_slow_ones(process, clients, 50, 20)
        grown = bench.memory(process, clients, WARM_SECONDS, MEMORY_SECONDS)
    print(f"\n{bench.report()}\n{writer.published} editions published")  # noqa: T201
    for one in (met, quiet, closed, flooded, after, beside):
        assert not one.unexpected
        assert not one.failed
        assert not one.mixed
    assert not writer.failures
    assert len(met.editions) > 1, "nothing was published meanwhile"
    assert percentile(met.of("search"), 0.95) < 300
    assert percentile(living.of("health"), 0.99) < 100
    refused = flooded.of("search", 429, 503)
    assert refused, "the flood was no flood"
    assert not flooded.without_retry_after
    assert percentile(refused, 0.95) < 200
    assert percentile(beside.of("search"), 0.95) < 300
    assert grown < 1
