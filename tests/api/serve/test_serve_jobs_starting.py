"""A job whose process cannot even begin it fails, and says so, in place of being tried for ever."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from command_line import FAKE
from elt_llm_api.serve.jobs.claim import claimed
from elt_llm_api.serve.jobs.order import loaded_of, order_of
from elt_llm_api.serve.jobs.runner import JobRunner
from elt_llm_core.settings_loader import load_settings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.job_queue import MOST_ATTEMPTS, JobQueue, QueuedJob
from served_documents import soon_ended


def test_a_child_has_the_settings_of_the_server(tmp_path: Path) -> None:
    given = {**FAKE, "ELT_LLM_INGEST__ROOTS": "[docs]", "ELT_LLM_INGEST__MAX_FILE_MB": "7"}
    loaded = load_settings(None, given, tmp_path)
    assert loaded_of(order_of(loaded)) == loaded


def test_a_job_whose_process_does_not_start_has_failed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    loaded = load_settings(None, FAKE, tmp_path)
    nowhere = replace(loaded, data_dir=tmp_path / "file" / "data")
    with closing(open_state(loaded.data_dir)) as state:
        queue = JobQueue(state)
        job = queue.submit("evaluate", {"collection": "samples"}, "local")
        with JobRunner(queue, lambda: nowhere) as runner:
            runner.start()
            ended: QueuedJob = soon_ended(queue, job.id)
    assert (ended.status, ended.attempts) == ("failed", 0)
    assert "does not start" in ended.error


def test_a_job_that_is_given_up_leaves_no_lock_behind(tmp_path: Path) -> None:
    loaded = load_settings(None, FAKE, tmp_path)
    with closing(open_state(loaded.data_dir)) as state:
        queue = JobQueue(state)
        job = queue.submit("evaluate", {"collection": "samples"}, "local")
        for attempt in range(MOST_ATTEMPTS):
            with claimed(loaded.data_dir, job.id):
                assert queue.begin(job.id, pid=1)
            if attempt < MOST_ATTEMPTS - 1:
                queue.abandoned(job.id, "Its process was killed.")
        locks = loaded.data_dir / "jobs" / "queue"
        assert [one.name for one in locks.iterdir()] == [job.id]
        with JobRunner(queue, lambda: loaded) as runner:
            runner.start()
            ended: QueuedJob = soon_ended(queue, job.id)
    assert ended.status == "failed"
    assert "tried 3 times" in ended.error
    assert list(locks.iterdir()) == []
