"""Killed, interrupted and concurrent runs lose nothing, and repeat only the rows that were in progress."""

import signal
import threading
from pathlib import Path

import pytest
from elt_llm_consumer.runner.workers import in_parallel
from elt_llm_core.errors import LockHeld
from elt_llm_core.state.jobs import JobName, job_lock
from processes.killing import processes
from row_jobs.fake_jobs import KIND, FaultyLLM, calls_of, outputs_of, project, run, run_in_process, some_terms

ROWS, AT_ONCE = 40, 2


def _killed(folder: Path, log: Path, dies_at: int) -> bool:
    process = processes().Process(target=run_in_process, args=(folder, log, dies_at))
    process.start()
    process.join(120)
    return process.exitcode == -signal.SIGKILL


@pytest.mark.sampled(1)
@pytest.mark.faults
@pytest.mark.parametrize("percent", [10, 50, 90])
def test_a_killed_run_continues_and_gives_the_same_outputs(percent: int, tmp_path: Path) -> None:
    documents = {"a/one.md": some_terms(ROWS // 2), "b/two.md": some_terms(ROWS // 2, first=ROWS // 2)}
    whole, cut = project(tmp_path / "whole", documents), project(tmp_path / "cut", documents)
    run(whole, FaultyLLM(tmp_path / "unused.txt"))
    log = tmp_path / "calls.txt"
    assert _killed(cut.project, log, ROWS * percent // 100)
    report = run(cut, FaultyLLM(log))
    assert report.kept >= ROWS * percent // 100 - AT_ONCE
    assert report.made + report.kept == ROWS
    assert ROWS <= len(calls_of(log)) <= ROWS + AT_ONCE
    assert len(set(calls_of(log))) == ROWS
    assert outputs_of(cut) == outputs_of(whole)


def test_a_second_run_is_refused_for_the_same_job_but_not_for_another_job(tmp_path: Path) -> None:
    loaded = project(tmp_path, {"a/one.md": some_terms(2)})
    with job_lock(loaded.data_dir, JobName("rules", KIND)):
        with pytest.raises(LockHeld, match=r"The glossary of job 'rules' is being run by process \d+"):
            run(loaded)
        with job_lock(loaded.data_dir, JobName("other", KIND)), job_lock(loaded.data_dir, JobName("rules", "catalog")):
            pass
    assert run(loaded).made == 2
    assert (loaded.data_dir / "jobs").stat().st_mode & 0o777 == 0o700


def test_parallel_work_gives_one_outcome_per_item_and_each_error_belongs_to_its_item() -> None:
    def work(number: int) -> int:
        if number % 3 == 0:
            raise ValueError(number)
        return number * 2

    outcomes = list(in_parallel(range(20), work, 4, threading.Event()))
    assert sorted(one.item for one in outcomes) == list(range(20))
    assert sorted(one.value() for one in outcomes if one.error is None) == [n * 2 for n in range(20) if n % 3]
    assert sorted(one.item for one in outcomes if one.error is not None) == list(range(0, 20, 3))


def test_stopping_a_job_does_not_wait_for_work_in_progress() -> None:
    begun, over, release = [], threading.Event(), threading.Event()

    def work(number: int) -> int:
        begun.append(number)
        if number:
            release.wait(30)
        return number

    outcomes = in_parallel(range(50), work, 2, over)
    assert next(outcomes).value() == 0
    outcomes.close()
    assert over.is_set()
    release.set()
    assert len(begun) <= 4
