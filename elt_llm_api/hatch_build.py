"""Puts the samples, which stand beside this package, into what is built of it."""  # noqa: INP001 - a script of the build, in no package

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
    """Includes the samples by name; an editable installation reads them where they are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name each sample with the place it goes to; in an sdist they stand where the workspace has them."""
        if version == "editable":
            return
        root = Path(self.root)
        samples = next(folder for folder in (root.parent / "samples", root / "samples") if folder.is_dir())
        into = "elt_llm_api/samples" if self.target_name == "wheel" else "samples"
        build_data["force_include"].update({str(samples / name): f"{into}/{name}" for name in SAMPLES})
