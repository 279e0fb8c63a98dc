"""Doing the queue's jobs for as long as the server runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from elt_llm_core.state.job_queue import JobQueue

from elt_llm_api.serve.jobs.runner import JobRunner, LoadNow

_DAYS_KEPT = 30


@contextmanager
def running_jobs(queue: JobQueue, load_now: LoadNow) -> Iterator[JobRunner]:
    """Do what is queued, what an earlier server left included; jobs that ended long ago are forgotten first."""
    queue.forget_ended((datetime.now(UTC) - timedelta(days=_DAYS_KEPT)).isoformat(timespec="seconds"))
    with JobRunner(queue, load_now) as runner:
        runner.start()
        yield runner
