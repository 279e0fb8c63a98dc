"""Who follows a job hears something while nothing changes: proxies close what is silent."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from elt_llm_api.serve.access.principal import LOCAL
from elt_llm_api.serve.actions.asking import Silence
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.routes.jobs import sent
from elt_llm_api.serve.services import Services
from elt_llm_core.state.database import open_state
from elt_llm_core.state.job_queue import JobQueue, QueuedJob

PATIENCE = 30.0


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[JobQueue]:
    with closing(open_state(tmp_path)) as state:
        yield JobQueue(state)


def test_silence_is_told_as_a_comment_until_something_changes(queue: JobQueue) -> None:
    jobs = Jobs(cast("Services", SimpleNamespace(queue=queue)))
    identity = queue.submit("ingest", {"collection": "samples"}, LOCAL.name).id

    async def followed() -> list[QueuedJob | Silence]:
        told: list[QueuedJob | Silence] = []
        async with asyncio.timeout(PATIENCE), aclosing(jobs.follow(LOCAL, identity, silence=0.0)) as follow:
            async for one in follow:
                told.append(one)
                if len(told) == 3:
                    queue.cancel(identity)
        return told

    first, *silent, last = asyncio.run(followed())
    assert isinstance(first, QueuedJob)
    assert len(silent) >= 2
    assert {sent(one, LOCAL, None) for one in silent} == {b": still at work\n\n"}
    assert isinstance(last, QueuedJob)
    assert last.status == "cancelled"


def test_no_silence_is_told_to_who_does_not_ask_for_it(queue: JobQueue) -> None:
    jobs = Jobs(cast("Services", SimpleNamespace(queue=queue)))
    identity = queue.submit("ingest", {"collection": "samples"}, LOCAL.name).id

    async def followed() -> list[QueuedJob | Silence]:
        async with asyncio.timeout(PATIENCE), aclosing(jobs.follow(LOCAL, identity)) as follow:
            first = await anext(follow)
            later = asyncio.get_running_loop().call_later(1.0, queue.cancel, identity)
            rest = [one async for one in follow]
            later.cancel()
        return [first, *rest]

    assert [type(one) for one in asyncio.run(followed())] == [QueuedJob, QueuedJob]
