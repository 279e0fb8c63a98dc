"""A killed catalog job gives the same outputs as an uninterrupted one, and no finished row is written twice."""

import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from elt_llm_core.settings.loader import LoadedSettings
from model_servers.http_server import running_model_server
from processes.killing import processes
from row_jobs.catalog_runs import (
    ENTITIES,
    FIELDS,
    QuotingBackend,
    catalog_project,
    entity_of,
    run_catalog,
    run_catalog_in_process,
)
from row_jobs.fake_jobs import outputs_of

CALLS, AT_ONCE = len(ENTITIES) * len(FIELDS), 2


@dataclass(frozen=True)
class UninterruptedRun:
    """The outputs and prompts of a run without kills."""

    outputs: dict[str, bytes]
    asked: list[str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> UninterruptedRun:
    """Return an uninterrupted run, with which the tests compare killed runs."""
    backend = QuotingBackend()
    with running_model_server(backend) as server:
        loaded = catalog_project(tmp_path_factory.mktemp("whole"), server)
        report = run_catalog(loaded)
    assert (report.made, report.failures) == (len(ENTITIES), ())
    return UninterruptedRun(outputs_of(loaded), backend.asked)


def _killed(loaded: LoadedSettings, backend: QuotingBackend) -> bool:
    process = processes().Process(target=run_catalog_in_process, args=(loaded.project,))
    process.start()
    assert process.pid is not None
    backend.victim.put(process.pid)
    process.join(120)
    return process.exitcode == -signal.SIGKILL


def test_an_uninterrupted_catalog_run_writes_the_expected_rows(whole: UninterruptedRun) -> None:
    assert Counter(map(entity_of, whole.asked)) == dict.fromkeys(ENTITIES, len(FIELDS))
    written = whole.outputs["rules-catalog.json"].decode()
    assert written.count('"method": "llm"') == CALLS


@pytest.mark.sampled(1)
@pytest.mark.faults
@pytest.mark.parametrize("percent", [10, 50, 90])
def test_a_killed_catalog_run_continues_and_gives_the_same_outputs(
    percent: int, whole: UninterruptedRun, tmp_path: Path
) -> None:
    backend = QuotingBackend(at=CALLS * percent // 100)
    with running_model_server(backend) as server:
        loaded = catalog_project(tmp_path, server)
        assert _killed(loaded, backend)
        report = run_catalog(loaded)
    twice = {entity_of(prompt) for prompt, times in Counter(backend.asked).items() if times > 1}
    assert report.made + report.kept == len(ENTITIES)
    assert report.kept >= len(ENTITIES) * percent // 100 - AT_ONCE
    assert CALLS <= len(backend.asked) <= CALLS + AT_ONCE * len(FIELDS)
    assert len(twice) <= AT_ONCE
    assert max(Counter(backend.asked).values()) <= 2
    assert set(backend.asked) == set(whole.asked)
    assert outputs_of(loaded) == whole.outputs
