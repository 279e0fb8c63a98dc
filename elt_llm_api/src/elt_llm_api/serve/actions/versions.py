"""Which versions of what are running, and which extras are there."""

import importlib.metadata
import platform

from pydantic import BaseModel, Field

from elt_llm_api.serve.access.principal import Principal
from elt_llm_api.serve.services import Services

_OURS = ("elt-llm-core", "elt-llm-ingest", "elt-llm-query", "elt-llm-consumer", "elt-llm-api")
_EXTRAS = {
    "ui": "gradio",
    "mcp": "mcp",
    "otel": "opentelemetry-exporter-otlp-proto-http",
    "llama-cpp": "xllamacpp",
    "openai-like": "llama-index-llms-openai-like",
}


class Version(BaseModel):
    """What runs here."""

    version: str = Field(description="Of the program.", examples=["0.1.0"])
    packages: dict[str, str] = Field(description="Version of each of its packages.")
    python: str = Field(examples=["3.11.9"])
    extras: dict[str, str | None] = Field(
        description="Version of what each optional part brings; null where it is not installed.",
        examples=[{"ui": "6.31.0", "mcp": None}],
    )
    paths: dict[str, str] | None = Field(None, description="Folders in use; told to administrators alone.")


def version_of(services: Services, principal: Principal) -> Version:
    """Versions for everybody, paths for administrators."""
    packages = {name: importlib.metadata.version(name) for name in _OURS}
    loaded = services.loaded
    paths = {"project": loaded.project, "configuration": loaded.config_dir, "data": loaded.data_dir}
    return Version(
        version=packages["elt-llm-api"],
        packages=packages,
        python=platform.python_version(),
        extras={name: _found(brings) for name, brings in _EXTRAS.items()},
        paths={name: str(path) for name, path in paths.items()} if principal.administers else None,
    )


def _found(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
