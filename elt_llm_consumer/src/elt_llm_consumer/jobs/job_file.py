"""Load job files (`config/consumer/NAME.yaml`) and write the example jobs of `elt-llm init`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from elt_llm_core.settings.loader import LoadedSettings, find_yaml_file, read_model, shown_path
from elt_llm_core.settings.template import model_as_yaml
from elt_llm_core.settings.tree import SettingsSection
from pydantic import Field

from elt_llm_consumer.jobs.sections import (
    CatalogSection,
    CoverageSection,
    GlossarySection,
    HandbookSection,
    OutputsSection,
    RunSection,
    SourcesSection,
)

CONSUMER_FOLDER = "consumer"


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


def find_job_file(given: str, loaded: LoadedSettings, working_directory: Path) -> Path:
    """Find a job file by path, or by name in `config/consumer`. Raises UsageError with similar names."""
    return find_yaml_file(given, loaded.config_dir / CONSUMER_FOLDER, working_directory)


def load_job(path: Path, loaded: LoadedSettings) -> JobFile:
    """Load a job file. Raises SettingsError with the line of each mistake."""
    spec = read_model(path, ConsumerJob, loaded.project)
    in_folder = path.parent.resolve() == (loaded.config_dir / CONSUMER_FOLDER).resolve()
    return JobFile(path.stem if in_folder else shown_path(path, loaded.project), path, loaded.project, spec)


EXAMPLE_ALIASES = "demo_aliases.yaml"
"""The name of the aliases file of the example jobs, in the configuration folder."""

_HANDBOOK = ["demo", "demo_rules"]
_ALIASES = f"config/{EXAMPLE_ALIASES}"
_MODEL = {"handbook": _HANDBOOK, "model": "demo_model", "inventory": ["demo_inventory"], "aliases": _ALIASES}
_JOBS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "glossary": {
            "description": "Every term that the documents define, with its definition and sources.",
            "sources": {"handbook": _HANDBOOK},
            "outputs": {"formats": ["json", "csv", "xlsx", "html", "purview", "openmetadata", "datahub"]},
        },
        "catalog": {
            "description": "Every entity of the model as inventory and documents describe it.",
            "sources": _MODEL,
            "outputs": {},
        },
        "coverage": {
            "description": "How well the documents cover the model, and the gaps on either side.",
            "sources": {key: value for key, value in _MODEL.items() if key != "inventory"},
            "outputs": {},
        },
        "handbook": {
            "description": "Entities and relationships found in the documents, compared with the model.",
            "sources": {key: value for key, value in _MODEL.items() if key != "inventory"},
            "outputs": {},
        },
    }
)


def example_jobs() -> dict[str, str]:
    """Return the YAML text of each example job, by path within the configuration folder."""
    return {
        f"{CONSUMER_FOLDER}/{name}.yaml": model_as_yaml(
            ConsumerJob, {"running": {}, name: {}, **given}, leave_out=_JOBS.keys() - {name}
        )
        for name, given in _JOBS.items()
    }
