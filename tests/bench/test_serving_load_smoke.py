"""A short version of the load benchmark: no request fails and no answer mixes generations. No time is checked."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from load.clients import LoadMeasurements
from load.run import LoadBench
from processes.command_line import FAKE

_MOST_ROUNDS = 40  # runs of a second each, because a busy machine takes long to publish


def editions(rounds: Sequence[tuple[LoadMeasurements, LoadMeasurements]]) -> set[int]:
    return {edition for met, _ in rounds for edition in met.editions}


@pytest.mark.sampled(1, "small benchmarks")
@pytest.mark.network
def test_each_answer_comes_from_one_generation_while_generations_are_published_and_clients_are_slow(
    tmp_path: Path,
) -> None:
    bench = LoadBench(tmp_path, 200, FAKE)
    writer = bench.prepared()
    with bench.server() as (process, clients):
        writer.pause = 0.0
        with writer.running():
            rounds = [bench.paced(process, clients, 4, 1.0)]
            while len(editions(rounds)) < 2 and len(rounds) < _MOST_ROUNDS:
                rounds.append(bench.paced(process, clients, 4, 1.0))
        closed = bench.closed(clients, 4, 1.0)
        beside = bench.beside_slow_ones(process, clients, 5, 1.0)
        bench.memory(process, clients, 0.5, 1.5)
    assert not writer.failures
    assert len(editions(rounds)) > 1, "nothing was published meanwhile"
    for met, living in rounds:
        assert set(met.times) <= {("search", 200), ("query", 200)}, met.times.keys()
        assert living.count("health", 200) == living.count("health") > 0
    for one in (*(met for met, _ in rounds), closed, beside):
        assert not one.mixed
        assert not one.unexpected
        assert not one.failed
    assert "health: " in bench.report()


@pytest.mark.sampled(1, "small benchmarks")
@pytest.mark.network
def test_an_overloaded_server_reports_the_overload_and_continues_to_work(tmp_path: Path) -> None:
    bench = LoadBench(tmp_path, 100, {**FAKE, "ELT_LLM_SERVE__WORKERS": "1", "ELT_LLM_SERVE__QUEUE": "1"})
    bench.prepared()
    with bench.server() as (_, clients):
        met = bench.closed(clients, 16, 1.5)
        after = bench.closed(clients, 1, 0.5)
    assert met.count("search", 503) > 0
    assert not met.unexpected
    assert not met.without_retry_after
    assert set(after.times) <= {("search", 200), ("query", 200)}
