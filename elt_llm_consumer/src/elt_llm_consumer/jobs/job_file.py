"""Load job files (`config/consumer/NAME.yaml`), and provide the example jobs for `elt-llm init --examples`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeVar

from elt_llm_core.errors import SettingsError
from elt_llm_core.settings.loader import LoadedSettings, find_yaml_file, read_model, shown_path
from elt_llm_core.settings.template import model_as_yaml
from elt_llm_core.settings.tree import SettingsSection
from pydantic import BaseModel, Field

from elt_llm_consumer.jobs.sections import (
    EXAMPLE_JOBS,
    CatalogSection,
    CoverageSection,
    GlossarySection,
    HandbookSection,
    OutputsSection,
    RunSection,
    SourcesSection,
)

CONSUMER_FOLDER = "consumer"
_Content = TypeVar("_Content", bound=BaseModel)


class ConsumerJob(SettingsSection):
    """The content of a job file. A job ignores the sections of other kinds of jobs."""

    description: str = Field("", description="The purpose of the job in one sentence.")
    sources: SourcesSection = Field(SourcesSection(), description="Sources of the job.")
    running: RunSection = Field(RunSection(), description="Limits of a run.")
    glossary: GlossarySection = Field(GlossarySection(), description="For elt-llm glossary.")
    catalog: CatalogSection = Field(CatalogSection(), description="For elt-llm catalog.")
    coverage: CoverageSection = Field(CoverageSection(), description="For elt-llm coverage.")
    handbook: HandbookSection = Field(HandbookSection(), description="For elt-llm handbook.")
    outputs: OutputsSection = Field(OutputsSection(), description="Outputs of the job.")


@dataclass(frozen=True)
class JobFile:
    """A loaded job file. `name` identifies the job; paths in the file are relative to `folder`."""

    name: str
    path: Path
    folder: Path
    spec: ConsumerJob

    def with_topics(self, topics: tuple[str, ...]) -> Self:
        """Return the job with these topics of the handbook in place of its own, unless there are none."""
        section = self.spec.handbook.model_copy(update={"topics": topics})
        return replace(self, spec=self.spec.model_copy(update={"handbook": section})) if topics else self


def find_job_file(given: str, loaded: LoadedSettings, working_directory: Path) -> Path:
    """Find a job file by path, or by name in `config/consumer`. Raises UsageError, with similar names, if not found."""
    return find_yaml_file(given, loaded.config_dir / CONSUMER_FOLDER, working_directory)


def load_job(path: Path, loaded: LoadedSettings) -> JobFile:
    """Load a job file. Raises SettingsError, with the line of each mistake, if the file is invalid."""
    spec = read_model(path, ConsumerJob, loaded.project)
    in_folder = path.parent.resolve() == (loaded.config_dir / CONSUMER_FOLDER).resolve()
    return JobFile(path.stem if in_folder else shown_path(path, loaded.project), path, loaded.project, spec)


def read_source_file(file: JobFile, name: str, kind: type[_Content], loaded: LoadedSettings) -> _Content | None:
    """Read the file that the setting `sources.NAME` of a job names. Return None if the setting is empty.

    Raises SettingsError if the file is missing, or if it is invalid (with the line of each mistake).
    """
    given = getattr(file.spec.sources, name)
    if given is None:
        return None
    path = file.folder / given
    if not path.is_file():
        raise SettingsError(f"sources.{name}: {path} is not a file", hint="Correct or remove the path.")
    return read_model(path, kind, loaded.project)


EXAMPLE_ALIASES = "demo_aliases.yaml"
"""The name of the example jobs' aliases file in the configuration folder."""


def example_jobs() -> dict[str, str]:
    """Return the YAML texts of the example jobs, by their paths within the configuration folder."""
    return {
        f"{CONSUMER_FOLDER}/{name}.yaml": model_as_yaml(
            ConsumerJob, {"running": {}, "outputs": {}, name: {}, **given}, leave_out=EXAMPLE_JOBS.keys() - {name}
        )
        for name, given in EXAMPLE_JOBS.items()
    }
