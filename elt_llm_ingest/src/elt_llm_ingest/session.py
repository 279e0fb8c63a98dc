"""Ingest one task (a collection or a job), once or after every change, with one embedding model and worker pool.

Modules that import slowly are imported only after the writer's lock is taken, so that a second writer fails at once.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_core.errors import ModelError, StoreError, UsageError
from elt_llm_core.progress import ProgressListener
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.utilities import Closeable

if TYPE_CHECKING:
    from elt_llm_core.models.embedding_model import EmbeddingModel
    from elt_llm_core.store.store import Store

    from elt_llm_ingest.compute import Compute
    from elt_llm_ingest.jobs.runner import JobReport
    from elt_llm_ingest.run.plan import IngestPlan
    from elt_llm_ingest.run.report import IngestReport
    from elt_llm_ingest.run.watch import WatchScope
    from elt_llm_ingest.sources.remote import RemoteUrl
    from elt_llm_ingest.sources.request import IngestFlags, IngestRequest


@dataclass(frozen=True)
class CollectionTask:
    """A collection, with absolute paths and URLs to ingest. Without any, its earlier sources are ingested again."""

    collection: str
    paths: tuple[Path, ...]
    urls: "tuple[RemoteUrl, ...]" = ()


@dataclass(frozen=True)
class JobTask:
    """A job file, or a file with a list of jobs."""

    file: Path


IngestTask = CollectionTask | JobTask
ProgressMaker = Callable[[], AbstractContextManager[ProgressListener]]


class IngestSession(Closeable):
    """Ingests one task any number of times. `command` is the command line that is recorded in the lock."""

    def __init__(self, task: IngestTask, loaded: LoadedSettings, flags: "IngestFlags", command: str) -> None:
        self._task, self._loaded, self._flags, self._command = task, loaded, flags, command
        self._compute: Compute | None = None

    def run(self, progress: ProgressMaker) -> "Sequence[IngestReport | JobReport]":
        """Ingest the task while holding the writer's lock; return its report, or one report for each job.

        The context `progress` is entered when the lock is held. Flags such as `rebuild` apply to the first run only.
        Raises LockHeld and the errors of `pipeline.ingest`. In a list of jobs, a failing job does not stop the others.
        """
        with writer_lock(self._loaded.workspace, self._command):
            from elt_llm_core.store.store import open_store

            self._used_compute().start()

            with open_store(self._loaded.workspace, for_writing=True) as store, progress() as listener:
                reports = self._run(store, listener)
                self._back_up(store, listener)
        self._flags = {**self._flags, "rebuild": False, "resume": False, "remember": False}
        return reports

    def _back_up(self, store: "Store", progress: ProgressListener) -> None:
        """Back up the store if a backup is due. If that fails, note it: the finished ingest has not failed."""
        from elt_llm_core.store.backups import rotate_backups

        try:
            rotate_backups(store.database, self._loaded.settings.storage.backups)
        except StoreError as error:
            progress.note(f"No backup of the store was made: {error}")

    def plan(self) -> "list[IngestPlan]":
        """Plan what `run` would do, without taking the lock, parsing documents or writing."""
        from elt_llm_core.store.store import has_store, open_store

        if not has_store(self._loaded.workspace) and (
            isinstance(self._task, JobTask) or self._task.paths or self._task.urls
        ):
            return self._plan(None)
        with open_store(self._loaded.workspace) as store:
            return self._plan(store)

    def scope(self) -> "WatchScope":
        """Return the paths to watch for changes. Raises UsageError if the job is invalid or no source is local."""
        from elt_llm_ingest.run.watch import WatchScope

        sources, job_files = self._watched()
        if not sources:
            raise UsageError(
                "--watch follows local files, but there is no local source.",
                hint="Remove --watch, and run the command from a timer to read URLs and readers again.",
            )
        return WatchScope(
            folders=tuple(dict.fromkeys(path for path in sources if not path.is_file())),
            files=tuple(dict.fromkeys([*job_files, *(path for path in sources if path.is_file())])),
            ignored=(self._loaded.data_dir.resolve(),),
        )

    def close(self) -> None:
        """Stop the worker processes."""
        if self._compute is not None:
            self._compute.close()

    def _run(self, store: "Store", progress: ProgressListener) -> "Sequence[IngestReport | JobReport]":
        from elt_llm_ingest.jobs.runner import JobRunner
        from elt_llm_ingest.pipeline import ingest

        if isinstance(self._task, JobTask):
            from elt_llm_ingest.jobs.job_file import load_jobs

            jobs = load_jobs(self._task.file, self._loaded)
            runner = JobRunner(self._loaded, self._ingest_model(), store, self._used_compute(), progress, self._flags)
            return runner.run_all(jobs) if len(jobs) > 1 else [runner.run(jobs[0])]
        request = self._request(self._task, store)
        return [ingest(request, self._loaded.settings, self._ingest_model(), store, progress, self._used_compute())]

    def _plan(self, store: "Store | None") -> "list[IngestPlan]":
        from elt_llm_ingest.jobs.job_file import load_jobs
        from elt_llm_ingest.jobs.runner import plan_job
        from elt_llm_ingest.run.plan import plan_ingest

        try:
            model: EmbeddingModel | None = self._model
        except ModelError:
            model = None
        if isinstance(self._task, JobTask):
            jobs = load_jobs(self._task.file, self._loaded)
            return [plan_job(job, self._loaded, model, store, self._flags, self._used_compute()) for job in jobs]
        request = self._request(self._task, store)
        return [plan_ingest(request, self._loaded.settings, model, store, self._used_compute())]

    def _request(self, task: CollectionTask, store: "Store | None") -> "IngestRequest":
        from elt_llm_ingest.jobs.runner import refuse_job_collection
        from elt_llm_ingest.sources.request import IngestRequest

        if store is not None and not (task.paths or task.urls):
            refuse_job_collection(store, task.collection)
        return IngestRequest(task.collection, task.paths, task.urls, command=self._command, **self._flags)

    def _watched(self) -> tuple[list[Path], list[Path]]:
        from elt_llm_ingest.jobs.job_file import LoadedJob, create_request, load_jobs

        if isinstance(self._task, JobTask):
            jobs = [job for job in load_jobs(self._task.file, self._loaded) if isinstance(job, LoadedJob)]
            sources = [path for job in jobs for path in create_request(job, self._loaded, {}).paths]
            return sources, [self._task.file.resolve(), *(job.file.resolve() for job in jobs)]
        if self._task.paths or self._task.urls:
            return [path.expanduser().resolve() for path in self._task.paths], []
        from elt_llm_core.store.store import open_store

        from elt_llm_ingest.sources.collection_sources import KnownSources

        with open_store(self._loaded.workspace) as store:
            known = KnownSources.of(store, self._task.collection).local()
        return known.folders(), list(known.single_files().values())

    @cached_property
    def _model(self) -> "EmbeddingModel":
        from elt_llm_core.models.factory import create_embedding

        return create_embedding(self._loaded.settings)

    def _ingest_model(self) -> "EmbeddingModel":
        return self._used_compute().embedding(self._model)

    def _used_compute(self) -> "Compute":
        from elt_llm_ingest.compute import create_compute

        self._compute = self._compute or create_compute(self._loaded.settings)
        return self._compute
