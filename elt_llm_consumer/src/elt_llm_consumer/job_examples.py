"""The jobs that `elt-llm init` writes out as examples: they run on what `elt-llm demo --jobs` ingests."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from elt_llm_core.settings_template import model_as_yaml

from elt_llm_consumer.job_file import CONSUMER_FOLDER, ConsumerJob

EXAMPLE_ALIASES = "demo_aliases.yaml"
"""The file of other names beside the general one, in the configuration's folder."""

_HANDBOOK = ["demo", "demo_rules"]
_ALIASES = f"config/{EXAMPLE_ALIASES}"
_MODEL = {"handbook": _HANDBOOK, "model": "demo_model", "inventory": ["demo_inventory"], "aliases": _ALIASES}
_JOBS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "glossary": {
            "description": "Every term that the documents define, with its definition and its places.",
            "sources": {"handbook": _HANDBOOK},
            "outputs": {"formats": ["json", "csv", "xlsx", "html", "purview", "openmetadata", "datahub"]},
        },
        "catalog": {
            "description": "Every entity of the model with what inventory and documents say of it.",
            "sources": _MODEL,
            "outputs": {},
        },
        "coverage": {
            "description": "How well the documents cover the model, and what is missing on either side.",
            "sources": {key: value for key, value in _MODEL.items() if key != "inventory"},
            "outputs": {},
        },
        "handbook": {
            "description": "The entities and relationships that the documents speak of, to be compared with the model.",
            "sources": {key: value for key, value in _MODEL.items() if key != "inventory"},
            "outputs": {},
        },
    }
)


def example_jobs() -> dict[str, str]:
    """YAML text by path within the configuration's folder."""
    return {
        f"{CONSUMER_FOLDER}/{name}.yaml": model_as_yaml(
            ConsumerJob, {"running": {}, name: {}, **given}, leave_out=_JOBS.keys() - {name}
        )
        for name, given in _JOBS.items()
    }
