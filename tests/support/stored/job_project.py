"""A project with a configuration and jobs, which run like with `elt-llm ingest --job`, but in this process."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.loader import LoadedSettings, load_settings
from elt_llm_core.store.store import open_store
from elt_llm_ingest.jobs.job_file import IngestJob, LoadedJob, find_job_file, load_jobs
from elt_llm_ingest.jobs.runner import JobReport, JobRunner, plan_job
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.run.plan import IngestPlan
from elt_llm_ingest.sandbox.parser import DirectParser, ParseRequest
from stored.folders import write_files
from stored.shelf import writing


class CountingParser:
    """Parses files in this process, and records which files were parsed."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def read_all(self, requests: Iterable[ParseRequest]) -> Iterator[ParsedDocument | UnreadableDocument]:
        """Return the outcome of each file."""
        listed = list(requests)
        self.read += [request.path.name for request in listed]
        yield from DirectParser().read_all(listed)


@dataclass
class JobProject:
    """A folder with `config/`, in which jobs are written as YAML and run by name."""

    folder: Path
    settings: str = "embedding: {provider: fake}\n"
    parser: CountingParser = field(default_factory=CountingParser)

    def __post_init__(self) -> None:
        """Write the settings."""
        write_files(self.folder, {"config/rag_config.yaml": self.settings})

    @property
    def loaded(self) -> LoadedSettings:
        """Load the settings like the command."""
        return load_settings(None, {}, self.folder)

    def write(self, files: Mapping[str, str]) -> None:
        """Write texts to paths relative to the project folder."""
        write_files(self.folder, files)

    def job(self, name: str, yaml: str) -> Path:
        """Write a job file."""
        self.write({f"config/ingest/{name}.yaml": yaml})
        return self.folder / "config" / "ingest" / f"{name}.yaml"

    def load(self, name: str) -> LoadedJob:
        """Load the job of this name."""
        [job] = load_jobs(find_job_file(name, self.loaded, self.folder), self.loaded)
        assert isinstance(job, LoadedJob)
        return job

    def load_text(self, name: str, paths: list[str]) -> LoadedJob:
        """Return a job that fills the collection `all` from these paths, valid or not."""
        return LoadedJob(name, self.folder, IngestJob(collection="all", paths=tuple(paths)))

    def run(self, name: str, **flags: Any) -> JobReport:
        """Run the job of this name. Raises the error that prevents it."""
        return self.run_job(self.load(name), **flags)

    def run_job(self, job: LoadedJob, **flags: Any) -> JobReport:
        """Run one job. Raises the error that prevents it."""
        with writing(self.loaded.data_dir) as store:
            return JobRunner(
                self.loaded,
                FakeEmbedding(),
                store,
                self.parser,
                SilentListener(),
                flags,  # type: ignore[arg-type]
            ).run(job)

    def run_all(self, name: str) -> list[JobReport]:
        """Run a list of jobs."""
        jobs = load_jobs(find_job_file(name, self.loaded, self.folder), self.loaded)
        with writing(self.loaded.data_dir) as store:
            return JobRunner(self.loaded, FakeEmbedding(), store, self.parser, SilentListener(), {}).run_all(jobs)

    def plan(self, name: str, **flags: Any) -> IngestPlan:
        """Return the plan of a job."""
        if not self.loaded.data_dir.exists():
            return plan_job(self.load(name), self.loaded, FakeEmbedding(), None, flags)  # type: ignore[arg-type]
        with open_store(self.loaded.data_dir) as store:
            return plan_job(self.load(name), self.loaded, FakeEmbedding(), store, flags)  # type: ignore[arg-type]

    def collections(self) -> list[str]:
        """The names of all collections."""
        with open_store(self.loaded.data_dir) as store:
            return [record.name for record in store.collections.all()]

    def texts(self, collection: str) -> dict[str, str]:
        """Return the text of each document of a collection by its path."""
        with open_store(self.loaded.data_dir) as store:
            record = store.collections.get(collection)
            documents = store.documents.in_generation(record.id, record.published or 0)
            return {document.source: store.documents.text(document.version) for document in documents}


def outcomes(report: JobReport) -> dict[str, dict[str, str]]:
    """Return the status of each file by collection and path."""
    return {one.collection: {file.path: file.status for file in one.files} for one in report.reports}
