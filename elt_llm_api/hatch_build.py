"""Adds the sample files, which the repository has beside this package, to the wheel and the sdist."""  # noqa: INP001 - a script of the build, in no package

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SAMPLES = (
    "documents",
    "jobs/documents",
    "jobs/gold",
    "jobs/aliases.yaml",
    "enterprise/model.drawio",
    "enterprise/inventory.xlsx",
)


class CustomBuildHook(BuildHookInterface):
    """Includes the samples in a build. An editable installation reads them from the repository instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add each sample to the build: below `elt_llm_api/samples` in a wheel, below `samples` in an sdist."""
        if version == "editable":
            return
        root = Path(self.root)
        samples = next(folder for folder in (root.parent / "samples", root / "samples") if folder.is_dir())
        into = "elt_llm_api/samples" if self.target_name == "wheel" else "samples"
        build_data["force_include"].update({str(samples / name): f"{into}/{name}" for name in SAMPLES})
