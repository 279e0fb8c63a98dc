"""Runs ingest jobs: each fills one collection, or one for every group of its files."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from elt_llm_core.collection import drop
from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import Progress
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.store.filling import Filling
from elt_llm_core.store.store import Store

from elt_llm_ingest.groups import Filled, Grouped, GroupFinder, collection_names
from elt_llm_ingest.ingest_request import IngestRequest
from elt_llm_ingest.job_file import INGEST_FOLDER, Job, Unread
from elt_llm_ingest.job_request import Flags, request_of
from elt_llm_ingest.parsed_once import ParsedOnce
from elt_llm_ingest.patterns import Selection, literally
from elt_llm_ingest.pipeline import ingest
from elt_llm_ingest.readers.options import ReaderOptions
from elt_llm_ingest.reading import Reading
from elt_llm_ingest.report import FileOutcome, IngestReport
from elt_llm_ingest.sandbox.parser import Parser
from elt_llm_ingest.sources import Known, locate_sources


@dataclass(frozen=True)
class JobReport:
    """What became of one job: a report for each collection it fills.

    `files` are files that belong to no collection: they could not be read, or are empty. `left_over` are collections
    whose group no file has any more, `dropped` those of them that were allowed to go. With an `error` the job was not
    run, or not to its end.
    """

    job: str
    reports: tuple[IngestReport, ...] = ()
    files: tuple[FileOutcome, ...] = ()
    left_over: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    error: str = ""
    hint: str = ""

    @property
    def exit_code(self) -> int:
        """1 if anything failed or was held back, else 0."""
        failed = any(it.status == "failed" for it in self.files)
        return int(bool(self.error or failed or self.left_over or any(it.exit_code for it in self.reports)))

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {**asdict(self), "reports": [report.to_json() for report in self.reports]}


class JobRunner:
    """Runs jobs with one store, model and parser. The caller holds the writer's lock."""

    def __init__(
        self,
        loaded: LoadedSettings,
        embedding: EmbeddingModel,
        store: Store,
        parser: Parser,
        progress: Progress,
        flags: Flags,
    ) -> None:
        self._loaded, self._embedding, self._store = loaded, embedding, store
        self._parser, self._progress, self._flags = parser, progress, flags

    def run_all(self, jobs: Sequence[Job | Unread]) -> list[JobReport]:
        """One after the other; one that fails does not stop the others."""
        reports = []
        for job in jobs:
            self._progress.note(f"Job {job.name}")
            try:
                reports.append(self.run(job))
            except (EltError, OSError) as error:
                reports.append(JobReport(job.name, error=str(error), hint=getattr(error, "hint", "")))
        return reports

    def run(self, job: Job | Unread) -> JobReport:
        """One job. Raises what makes it impossible: an EltError."""
        if isinstance(job, Unread):
            raise job.error
        request = request_of(job, self._loaded, self._flags)
        if job.spec.split_by is not None:
            return self._run_split(job, request)
        self._refuse_another_jobs(job, request.collection)
        report = self._ingest(job, request, Filling(job.name), self._parser)
        return JobReport(job.name, (report,))

    def _run_split(self, job: Job, request: IngestRequest) -> JobReport:
        filled = filled_by(self._store, job, self._loaded)
        parser = ParsedOnce(self._parser)  # for this job alone: its collections are made of the same files
        grouped = self._group(job, request, filled, parser)
        others = {record.name for record in self._store.collections.all()} - {one.name for one in filled}
        names = collection_names(job.spec.collection_prefix or "", grouped.files.keys(), filled, others)
        reports = []
        for group, files in grouped.files.items():
            include = tuple(literally(located.file.path) for located in files)
            of_group = replace(request, collection=names[group], include=include, group=group)
            filling = Filling(job.name, group, tuple(grouped.keys[group]))
            reports.append(self._ingest(job, of_group, filling, parser))
        left_over = [one.name for one in filled if one.filling.group not in grouped.files]
        dropped = left_over if request.allow_delete else []
        for name in dropped:
            drop(self._store, name)
        kept = () if dropped else tuple(left_over)
        return JobReport(job.name, tuple(reports), tuple(grouped.outcomes), kept, tuple(dropped))

    def _group(self, job: Job, request: IngestRequest, filled: Sequence[Filled], parser: Parser) -> Grouped:
        selection = Selection.of(request.include, request.exclude)
        sources = locate_sources(Known(), request.paths, selection, everything=False)
        reading = Reading(parser, ReaderOptions.of(self._loaded.settings.ingest), job.spec.reader)
        return GroupFinder(reading, job.spec.split_by or "section", filled).find(sources.files)

    def _ingest(self, job: Job, request: IngestRequest, filling: Filling, parser: Parser) -> IngestReport:
        settings = job.spec.apply_to(self._loaded.settings)
        report = ingest(request, settings, self._embedding, self._store, self._progress, parser)
        record = self._store.collections.find(request.collection)
        if record is not None:
            self._store.collections.set_filled_by(record.id, filling)
        return report

    def _refuse_another_jobs(self, job: Job, collection: str) -> None:
        """Two jobs for one collection would each take out what the other put in."""
        record = self._store.collections.find(collection)
        filling = self._store.collections.filled_by(record.id) if record else None
        if filling and filling.job != job.name and _is_still_there(filling.job, self._loaded):
            raise UsageError(
                f"Collection '{collection}' is filled by the job {filling.job}.",
                hint=f"Give {job.name} a collection of its own, or run: elt-llm drop {collection}",
            )


def filled_by(store: Store, job: Job, loaded: LoadedSettings) -> list[Filled]:
    """The collections with the job's prefix that it filled before, by name; those of a job that is gone are its own."""
    found = []
    for record in store.collections.all():
        filling = store.collections.filled_by(record.id)
        if filling is None or not record.name.startswith(job.spec.collection_prefix or "\0"):
            continue
        if filling.group and (filling.job == job.name or not _is_still_there(filling.job, loaded)):
            found.append(Filled.of(store, record, filling))
    return found


def refuse_without_job(store: Store, collection: str) -> None:
    """Raise UsageError if a job filled the collection: only the job knows what belongs in it."""
    record = store.collections.get(collection)
    filling = store.collections.filled_by(record.id)
    if filling is not None:
        raise UsageError(
            f"Collection '{collection}' is filled by a job.",
            hint=f"Run: elt-llm ingest --job {filling.job}   (with the same options)",
        )


def _is_still_there(name: str, loaded: LoadedSettings) -> bool:
    return (loaded.config_dir / INGEST_FOLDER / f"{name}.yaml").is_file() or (loaded.project / name).is_file()
