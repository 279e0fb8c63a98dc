"""A job whose process cannot start fails with a reason, and is not retried forever."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elt_llm_api.serve.jobs.handover import claim_job
from elt_llm_api.serve.jobs.runner import run_queued_jobs
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.workspace import DSN_VARIABLE
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import MAX_ATTEMPTS, JobQueue, QueuedJob
from processes.command_line import FAKE
from served.documents import wait_for_job

if TYPE_CHECKING:
    from stored.postgres import PostgresServer


def test_a_job_whose_process_does_not_start_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    loaded = load_settings(None, FAKE, tmp_path)
    nowhere = replace(loaded, data_dir=tmp_path / "file" / "data")
    with closing(open_state(loaded.data_dir)) as state:
        queue = JobQueue(state)
        job = queue.submit("evaluate", {"collection": "samples"}, "local")
        with run_queued_jobs(queue, lambda: nowhere):
            ended: QueuedJob = wait_for_job(queue, job.id)
    assert (ended.status, ended.attempts) == ("failed", 0)
    assert "does not start" in ended.error


def test_a_job_process_connects_to_the_database_that_the_environment_variable_names(
    postgres: "PostgresServer", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DSN_VARIABLE, postgres.workspace(tmp_path).connection_string())
    loaded = load_settings(None, {**FAKE, "ELT_LLM_STORAGE__BACKEND": "postgres"}, tmp_path)
    assert loaded.workspace.dsn_file is None
    with closing(open_state(loaded.workspace)) as state:
        queue = JobQueue(state)
        job = queue.submit("evaluate", {"collection": "samples"}, "local")
        with run_queued_jobs(queue, lambda: loaded):
            ended: QueuedJob = wait_for_job(queue, job.id)
    assert (ended.status, ended.attempts) == ("failed", 1)
    assert "There is no data" in ended.error


def test_a_failed_job_leaves_no_lock_behind_and_names_its_uploads(tmp_path: Path) -> None:
    loaded = load_settings(None, FAKE, tmp_path)
    (loaded.data_dir / "uploads" / "samples").mkdir(parents=True)
    (loaded.data_dir / "uploads" / "samples" / "a.md").touch()
    with closing(open_state(loaded.data_dir)) as state:
        queue = JobQueue(state)
        job = queue.submit("ingest", {"collection": "samples", "uploads": ["a.md"]}, "local")
        for attempt in range(MAX_ATTEMPTS):
            with claim_job(loaded.workspace, job.id):
                assert queue.begin(job.id, pid=1)
            if attempt < MAX_ATTEMPTS - 1:
                queue.abandoned(job.id, "Its process was killed.")
        locks = loaded.data_dir / "jobs" / "queue"
        assert [one.name for one in locks.iterdir()] == [job.id]
        with run_queued_jobs(queue, lambda: loaded):
            ended: QueuedJob = wait_for_job(queue, job.id)
    assert ended.status == "failed"
    assert "started 3 times" in ended.error
    assert "The uploads are kept: a.md." in ended.error
    assert list(locks.iterdir()) == []
