"""Followers of a job get keep-alive comments while nothing changes, because proxies close idle connections."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.jobs import JobActions
from elt_llm_api.serve.actions.questions import KeepAlive
from elt_llm_api.serve.routes.jobs import job_frame
from elt_llm_api.serve.services import Services
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobQueue, QueuedJob

PATIENCE = 30.0


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[JobQueue]:
    with closing(open_state(tmp_path)) as state:
        yield JobQueue(state)


def test_an_event_stream_sends_keep_alive_comments_until_the_job_changes(queue: JobQueue) -> None:
    jobs = JobActions(cast("Services", SimpleNamespace(queue=queue)))
    identity = queue.submit("ingest", {"collection": "samples"}, LOCAL.name).id

    async def followed() -> list[QueuedJob | KeepAlive]:
        reported: list[QueuedJob | KeepAlive] = []
        async with asyncio.timeout(PATIENCE), aclosing(jobs.follow(LOCAL, identity, silence=0.0)) as follow:
            async for one in follow:
                reported.append(one)
                if len(reported) == 3:
                    queue.cancel(identity)
        return reported

    first, *silent, last = asyncio.run(followed())
    assert isinstance(first, QueuedJob)
    assert len(silent) >= 2
    assert {job_frame(one, LOCAL, None) for one in silent} == {b": still at work\n\n"}
    assert isinstance(last, QueuedJob)
    assert last.status == "cancelled"


def test_an_event_stream_sends_no_keep_alive_comments_unless_requested(queue: JobQueue) -> None:
    jobs = JobActions(cast("Services", SimpleNamespace(queue=queue)))
    identity = queue.submit("ingest", {"collection": "samples"}, LOCAL.name).id

    async def followed() -> list[QueuedJob | KeepAlive]:
        async with asyncio.timeout(PATIENCE), aclosing(jobs.follow(LOCAL, identity)) as follow:
            first = await anext(follow)
            later = asyncio.get_running_loop().call_later(1.0, queue.cancel, identity)
            rest = [one async for one in follow]
            later.cancel()
        return [first, *rest]

    assert [type(one) for one in asyncio.run(followed())] == [QueuedJob, QueuedJob]
