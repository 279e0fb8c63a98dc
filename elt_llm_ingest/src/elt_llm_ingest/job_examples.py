"""The jobs that `elt-llm init` writes out as examples to change."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from elt_llm_core.settings_template import model_as_yaml

from elt_llm_ingest.job_file import INGEST_FOLDER, IngestJob, JobList

_JOBS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "documents": {
            "description": "Office files, web pages and texts into one collection.",
            "collection": "documents",
            "paths": ["documents/**/*.*"],
            "exclude": ["*.bak", "drafts"],
            "metadata": {"kept_by": "the office"},
        },
        "model": {
            "description": "Diagrams of a model, drawn as entities and relationships.",
            "collection": "model",
            "paths": ["model/*.drawio"],
            "check_against": "inventory_application",
        },
        "inventory": {
            "description": "The export of an inventory, a collection for each type of entry.",
            "collection_prefix": "inventory_",
            "split_by": "type",
            "paths": ["inventory/*.xlsx"],
        },
    }
)
_LISTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "load_all": {
            "description": "Every job, one after the other; one that fails does not stop the others.",
            "jobs": ["documents", "inventory", "model"],
        }
    }
)


def example_jobs() -> dict[str, str]:
    """YAML text by path within the configuration's folder."""
    jobs = {name: model_as_yaml(IngestJob, given) for name, given in _JOBS.items()}
    lists = {name: model_as_yaml(JobList, given) for name, given in _LISTS.items()}
    return {f"{INGEST_FOLDER}/{name}.yaml": text for name, text in {**jobs, **lists}.items()}
