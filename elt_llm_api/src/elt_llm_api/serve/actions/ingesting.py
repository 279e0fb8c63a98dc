"""Having files of the server read, where whoever runs it has named folders for that, or looking again at what was."""

from collections.abc import Sequence

from elt_llm_core.errors import UsageError
from elt_llm_core.state.job_queue import QueuedJob
from elt_llm_core.store.collections import check_collection_name

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.actions.jobs import Jobs
from elt_llm_api.serve.jobs.server_paths import checked_paths
from elt_llm_api.serve.services import Services


class Ingesting:
    """Queues ingests for callers, into collections that they may change."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def submit(
        self, principal: Principal, collection: str, paths: Sequence[str] = (), *, rebuild: bool = False
    ) -> QueuedJob:
        """Queue an ingest of paths below `ingest.roots`; none: of what the collection was filled from before.

        Raises Forbidden, Overloaded, and UsageError for a path that may not be read, or a collection that is not there
        and is given none.
        """
        check_collection_name(collection)
        principal.require_write(collection)
        if not paths and collection not in self._services.known():
            raise UsageError(f"There is no collection '{collection}' to look at again.", hint="Name paths to read.")
        resolved = [str(path) for path in checked_paths(self._services.loaded, paths)]
        arguments = {"collection": collection, "collections": [collection], "paths": resolved, "rebuild": rebuild}
        return Jobs(self._services).submit(principal, "ingest", arguments)
