"""Jobs wait in order, start once, and are kept if their worker process dies."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import MAX_ATTEMPTS, JobQueue


@pytest.fixture
def queue(workspace: Workspace) -> Iterator[JobQueue]:
    with closing(open_state(workspace)) as state:
        yield JobQueue(state)


def test_a_job_is_left_to_the_machine_that_stores_its_files(queue: JobQueue) -> None:
    foreign = queue.submit("ingest", {"machine": "there", "uploads": ["a.md"]}, "local")
    own = queue.submit("ingest", {"machine": "here", "uploads": ["b.md"]}, "local")
    free = queue.submit("ingest", {}, "local")
    assert queue.next(machine="there") == foreign
    assert queue.next(machine="here") == own
    assert queue.next(besides={own.id}, machine="here") == free
    assert queue.next() == free


def test_jobs_run_in_the_order_they_were_submitted(queue: JobQueue) -> None:
    jobs = [queue.submit("ingest", {"collection": name}, "local") for name in "zyxwvutsrq"]
    begun = []
    while (job := queue.next()) is not None:
        assert queue.begin(job.id, 1)
        begun.append(job.id)
    assert begun == [job.id for job in jobs]
    assert [job.id for job in queue.all()] == begun[::-1]


def test_every_job_and_upload_is_counted_in_a_long_queue(workspace: Workspace) -> None:
    with closing(open_state(workspace)) as state:
        queue = JobQueue(state)
        with state.transaction():
            jobs = [queue.submit("ingest", {"collection": "a", "uploads": [f"{n}.md"]}, "local") for n in range(1100)]
        queue.begin(jobs[0].id, 1)
        queue.end(jobs[-1].id, "done", {})
        assert queue.counts() == {"done": 1, "queued": 1098, "running": 1}
        assert queue.pending_uploads() == {("a", f"{n}.md") for n in range(1099)}


def test_a_queued_job_is_started_only_once(queue: JobQueue) -> None:
    job = queue.submit("ingest", {}, "local")
    assert queue.begin(job.id, 1)
    assert not queue.begin(job.id, 2)
    assert queue.get(job.id).pid == 1


def test_the_next_job_is_of_a_requested_kind_and_not_one_of_the_excluded_jobs(queue: JobQueue) -> None:
    first, second, third = (queue.submit(kind, {}, "local") for kind in ("ingest", "glossary", "ingest"))
    assert queue.waiting() == 3
    wanted = queue.next(["glossary"])
    assert wanted is not None
    assert wanted.id == second.id
    rested = queue.next(["ingest"], [first.id])
    assert rested is not None
    assert rested.id == third.id
    assert queue.next(["verify"]) is None


def test_waiting_for_the_writer_lock_does_not_count_as_an_attempt_to_run_a_job(queue: JobQueue) -> None:
    job = queue.submit("ingest", {}, "local")
    for _ in range(10):
        queue.begin(job.id, 1)
        queue.wait_again(job.id, counted=False)
    assert queue.get(job.id).attempts == 0


def test_a_job_whose_process_dies_at_every_attempt_is_marked_as_failed(queue: JobQueue) -> None:
    job = queue.submit("ingest", {}, "local")
    for _ in range(MAX_ATTEMPTS):
        assert queue.begin(job.id, 1)
        queue.abandoned(job.id, "It died.")
    ended = queue.get(job.id)
    assert (ended.status, ended.attempts) == ("failed", MAX_ATTEMPTS)
    assert "It died." in ended.error


def test_a_cancelled_job_stays_cancelled_when_its_worker_reports_another_end(queue: JobQueue) -> None:
    job = queue.submit("ingest", {}, "local")
    queue.begin(job.id, 1)
    queue.cancel(job.id)
    queue.wait_again(job.id, counted=False)
    queue.abandoned(job.id, "It died.")
    queue.end(job.id, "done", {"documents": 1})
    assert queue.get(job.id).status == "cancelled"


def test_only_jobs_that_have_ended_can_be_deleted(queue: JobQueue) -> None:
    done, waiting = (queue.submit("ingest", {}, "local") for _ in range(2))
    queue.end(done.id, "done", {})
    assert queue.forget_ended() == 1
    assert queue.get(waiting.id).status == "queued"
    with pytest.raises(UsageError, match="no job"):
        queue.get(done.id)


def test_uploads_waiting_to_be_read_are_listed(queue: JobQueue) -> None:
    queue.submit("ingest", {"collection": "demo", "uploads": ["a.md", "b.md"]}, "local")
    read = queue.submit("ingest", {"collection": "demo", "uploads": ["c.md"]}, "local")
    queue.end(read.id, "done", {})
    assert queue.pending_uploads() == {("demo", "a.md"), ("demo", "b.md")}
