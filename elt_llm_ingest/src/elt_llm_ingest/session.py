"""One process that ingests, once or again and again: what is costly to start is started once.

Needs nothing heavy until the writer's lock is held, so that a second writer is refused at once.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import ModelError
from elt_llm_core.progress import Progress
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.store.lock import writer_lock

if TYPE_CHECKING:
    from elt_llm_core.models.embedding_model import EmbeddingModel
    from elt_llm_core.store.store import Store

    from elt_llm_ingest.job_request import Flags
    from elt_llm_ingest.jobs import JobReport
    from elt_llm_ingest.plan import Plan
    from elt_llm_ingest.report import IngestReport
    from elt_llm_ingest.sandbox.pool import ParsePool
    from elt_llm_ingest.watch import Scope


@dataclass(frozen=True)
class ByHand:
    """What a person names: a collection, and absolute paths; none stands for what it was filled from before."""

    collection: str
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class ByJob:
    """The file of a job, or of a list of jobs."""

    file: Path


Task = ByHand | ByJob
ProgressMaker = Callable[[], AbstractContextManager[Progress]]


class IngestSession(Closeable):
    """Ingests one task as often as it is asked to. `command` is how the holder of the lock is named."""

    def __init__(self, task: Task, loaded: LoadedSettings, flags: "Flags", command: str) -> None:
        self._task, self._loaded, self._flags, self._command = task, loaded, flags, command
        self._embedding: EmbeddingModel | None = None
        self._pool: ParsePool | None = None

    def run(self, progress: ProgressMaker) -> "Sequence[IngestReport | JobReport]":
        """Bring everything up to date, holding the lock meanwhile: one report, or one for each job.

        `progress` is entered once the lock is held. A flag to rebuild or to resume holds for the first time only.
        Raises LockHeld, and what `pipeline.ingest` raises; of several jobs one that fails does not stop the others.
        """
        with writer_lock(self._loaded.data_dir, self._command):
            from elt_llm_core.store.store import open_store

            with open_store(self._loaded.data_dir, for_writing=True) as store, progress() as listener:
                reports = self._run(store, listener)
        self._flags = {**self._flags, "rebuild": False, "resume": False, "remember": False}
        return reports

    def plan(self) -> "list[Plan]":
        """What `run` would do; nothing is locked, read or written."""
        from elt_llm_core.store.database import STORE_NAME
        from elt_llm_core.store.store import open_store

        if not (self._loaded.data_dir / STORE_NAME).exists() and not _needs_store(self._task):
            return self._plan(None)
        with open_store(self._loaded.data_dir) as store:
            return self._plan(store)

    def scope(self) -> "Scope":
        """What to watch for changes. Raises UsageError for a job with a mistake in it."""
        from elt_llm_ingest.watch import Scope

        folders, files = self._watched()
        return Scope(
            folders=tuple(dict.fromkeys(path for path in folders if not path.is_file())),
            files=tuple(dict.fromkeys([*files, *(path for path in folders if path.is_file())])),
            ignored=(self._loaded.data_dir.resolve(),),
        )

    def close(self) -> None:
        """End the processes that read files."""
        if self._pool is not None:
            self._pool.close()

    def _run(self, store: "Store", progress: Progress) -> "Sequence[IngestReport | JobReport]":
        from elt_llm_ingest.ingest_request import IngestRequest
        from elt_llm_ingest.jobs import JobRunner, refuse_without_job
        from elt_llm_ingest.pipeline import ingest

        if isinstance(self._task, ByJob):
            from elt_llm_ingest.job_file import load_jobs

            jobs = load_jobs(self._task.file, self._loaded)
            runner = JobRunner(self._loaded, self._model(), store, self._parser(), progress, self._flags)
            return runner.run_all(jobs) if len(jobs) > 1 else [runner.run(jobs[0])]
        if not self._task.paths:
            refuse_without_job(store, self._task.collection)
        request = IngestRequest(self._task.collection, self._task.paths, command=self._command, **self._flags)
        return [ingest(request, self._loaded.settings, self._model(), store, progress, self._parser())]

    def _plan(self, store: "Store | None") -> "list[Plan]":
        from elt_llm_ingest.ingest_request import IngestRequest
        from elt_llm_ingest.job_file import load_jobs
        from elt_llm_ingest.jobs import refuse_without_job
        from elt_llm_ingest.plan import plan_ingest
        from elt_llm_ingest.plan_jobs import plan_job

        try:
            model: EmbeddingModel | None = self._model()
        except ModelError:
            model = None
        if isinstance(self._task, ByJob):
            jobs = load_jobs(self._task.file, self._loaded)
            return [plan_job(job, self._loaded, model, store, self._flags) for job in jobs]
        if store is not None and not self._task.paths:
            refuse_without_job(store, self._task.collection)
        request = IngestRequest(self._task.collection, self._task.paths, **self._flags)
        return [plan_ingest(request, self._loaded.settings, model, store)]

    def _watched(self) -> tuple[list[Path], list[Path]]:
        """Files and folders that are read, and files that say what is read."""
        from elt_llm_ingest.allowed_paths import AllowedPaths
        from elt_llm_ingest.job_file import Job, load_jobs
        from elt_llm_ingest.job_request import wanted_of

        if isinstance(self._task, ByJob):
            jobs = [job for job in load_jobs(self._task.file, self._loaded) if isinstance(job, Job)]
            allowed = AllowedPaths.of(self._loaded)
            wanted = [path for job in jobs for path in wanted_of(job, allowed).paths]
            return wanted, [self._task.file.resolve(), *(job.file.resolve() for job in jobs)]
        if self._task.paths:
            return [path.expanduser().resolve() for path in self._task.paths], []
        from elt_llm_core.store.store import open_store

        from elt_llm_ingest.sources import Known

        with open_store(self._loaded.data_dir) as store:
            known = Known.of(store, self._task.collection)
        return known.folders(), list(known.single_files().values())

    def _model(self) -> "EmbeddingModel":
        from elt_llm_core.models.embeddings import create_embedding

        self._embedding = self._embedding or create_embedding(self._loaded.settings)
        return self._embedding

    def _parser(self) -> "ParsePool":
        from elt_llm_ingest.sandbox.pool import ParseLimits, ParsePool

        ingest = self._loaded.settings.ingest
        self._pool = self._pool or ParsePool(ParseLimits.of(ingest), ingest.workers)
        return self._pool


def _needs_store(task: Task) -> bool:
    """Whether a task names nothing but a collection, which has to be there then."""
    return isinstance(task, ByHand) and not task.paths
