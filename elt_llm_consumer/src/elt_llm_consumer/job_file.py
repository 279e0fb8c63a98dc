"""Consumer jobs as they are written down: `config/consumer/NAME.yaml`."""

from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.job_files import find_in_folder
from elt_llm_core.settings_loader import LoadedSettings, read_model, shown_path
from elt_llm_core.settings_section import Section
from pydantic import Field

from elt_llm_consumer.sections.catalog import CatalogSection
from elt_llm_consumer.sections.coverage import CoverageSection
from elt_llm_consumer.sections.glossary import GlossarySection
from elt_llm_consumer.sections.handbook import HandbookSection
from elt_llm_consumer.sections.outputs import Outputs
from elt_llm_consumer.sections.running import Running
from elt_llm_consumer.sections.sources import Sources

CONSUMER_FOLDER = "consumer"


class ConsumerJob(Section):
    """What a job reads, how it works and what it writes; the sections of other kinds of job are left alone."""

    description: str = Field("", description="What the job is for, in a sentence.")
    sources: Sources = Field(Sources(), description="What it reads.")
    running: Running = Field(Running(), description="How it works.")
    glossary: GlossarySection = Field(GlossarySection(), description="For elt-llm glossary.")
    catalog: CatalogSection = Field(CatalogSection(), description="For elt-llm catalog.")
    coverage: CoverageSection = Field(CoverageSection(), description="For elt-llm coverage.")
    handbook: HandbookSection = Field(HandbookSection(), description="For elt-llm handbook.")
    outputs: Outputs = Field(Outputs(), description="What it writes.")


@dataclass(frozen=True)
class JobFile:
    """A job that was read. `name` is what it is called by; `folder` is what its paths are seen from."""

    name: str
    path: Path
    folder: Path
    spec: ConsumerJob


def find_job_file(given: str, loaded: LoadedSettings, working_directory: Path) -> Path:
    """The file of a job: a path, or the bare name of one in `config/consumer`. Raises UsageError with near names."""
    return find_in_folder(given, loaded.config_dir / CONSUMER_FOLDER, working_directory)


def load_job(path: Path, loaded: LoadedSettings) -> JobFile:
    """The job in a file. Raises SettingsError that names the line of each mistake."""
    spec = read_model(path, ConsumerJob, loaded.project)
    in_folder = path.parent.resolve() == (loaded.config_dir / CONSUMER_FOLDER).resolve()
    return JobFile(path.stem if in_folder else shown_path(path, loaded.project), path, loaded.project, spec)
