"""Jobs of the queue: seen by who may read what they are about, stopped by who may change it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from elt_llm_core.errors import UsageError
from elt_llm_core.state.job_queue import JobStatus, QueuedJob

from elt_llm_api.serve.access.principal import LOCAL, Forbidden, Principal
from elt_llm_api.serve.actions.asking import Silence
from elt_llm_api.serve.refusals import NotYet
from elt_llm_api.serve.services import Services
from elt_llm_api.serve.workers import Overloaded

MOST_WAITING = 1000
"""Jobs in the queue; further ones are turned away."""
MOST_OF_ONE = 250
"""Of them of one key: whoever only reads may queue some, too. Who runs the server may fill it."""
_MOST_LOOKED_AT = 5000
_SECONDS_BETWEEN_LOOKS = 0.3


class Jobs:
    """Submits, shows and stops jobs for callers."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def submit(self, principal: Principal, kind: str, arguments: Mapping[str, Any]) -> QueuedJob:
        """Put a job into the queue; `collections` among its arguments says who may see it. Raises Overloaded.

        Whether the caller may ask for it is checked by who calls this.
        """
        self.refuse_if_full(principal)
        return self._services.queue.submit(kind, arguments, principal.name)

    def refuse_if_full(self, principal: Principal) -> None:
        """Raises Overloaded if no further job of this caller is taken now."""
        queue, hint = self._services.queue, "Try again when some are done."
        if queue.waiting() >= MOST_WAITING:
            raise Overloaded("As many jobs wait as the queue takes.", hint=hint)
        if principal == LOCAL:
            return
        waiting = queue.all(("queued",), MOST_WAITING)
        if sum(job.requested_by == principal.name for job in waiting) >= MOST_OF_ONE:
            raise Overloaded("As many jobs of this caller wait as may: others need room, too.", hint=hint)

    def all(
        self,
        principal: Principal,
        statuses: Sequence[JobStatus] = (),
        collection: str | None = None,
        kinds: Sequence[str] = (),
        most: int = 100,
    ) -> list[QueuedJob]:
        """The jobs that a caller may see, newest first, `most` at most."""
        queue = self._services.queue
        found = queue.all(statuses, _MOST_LOOKED_AT) if statuses else queue.all(most=_MOST_LOOKED_AT)
        return [
            job
            for job in found
            if may_see(principal, job)
            and (collection is None or collection in job.collections)
            and (not kinds or job.kind in kinds)
        ][:most]

    def get(self, principal: Principal, identity: str) -> QueuedJob:
        """One job. Raises Forbidden where there is none that the caller may see."""
        try:
            job = self._services.queue.get(identity)
        except UsageError:
            job = None
        if job is None or not may_see(principal, job):
            raise Forbidden(
                f"There is no job '{identity}', or this key may not see it.", hint="List the jobs: GET /v1/jobs"
            )
        return job

    def result(self, principal: Principal, identity: str) -> Mapping[str, Any]:
        """What came of a job that is done, or all failed. Raises Forbidden, and NotYet where there is nothing."""
        job = self.get(principal, identity)
        if job.status != "done" and not job.result:
            raise NotYet(f"Job '{identity}' has no result: it is {job.status}. {job.error}".strip())
        return job.result

    def cancel(self, principal: Principal, identity: str) -> QueuedJob:
        """Have a job not done, or stopped within seconds; one that has ended stays as it is. Raises Forbidden."""
        job = self.get(principal, identity)
        if not (job.requested_by == principal.name or all(map(principal.may_write, job.collections))):
            raise Forbidden(f"This key may see job '{identity}', and not stop it.")
        return self._services.queue.cancel(identity)

    async def follow(
        self, principal: Principal, identity: str, silence: float | None = None
    ) -> AsyncGenerator[QueuedJob | Silence, None]:
        """The job as it is, again whenever something has changed, until it has ended. Raises Forbidden.

        Whenever nothing has changed for `silence` seconds, that is told.
        """
        shown, clock = None, asyncio.get_running_loop().time
        told_at = clock()
        while shown is None or not shown.has_ended:
            job = await asyncio.to_thread(self.get, principal, identity)
            if job != shown:
                shown, told_at = job, clock()
                yield job
            elif silence is not None and clock() - told_at >= silence:
                told_at = clock()
                yield Silence()
            else:
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)


def may_see(principal: Principal, job: QueuedJob) -> bool:
    """Whether a caller may read everything that a job is about, or, if that is nothing, asked for it."""
    return all(map(principal.may_read, job.collections)) if job.collections else job.requested_by == principal.name
