"""Locate the sample files, in the workspace or in the installed package."""

from importlib.resources import files
from pathlib import Path

from elt_llm_core.errors import UsageError

DOCUMENTS, JOB_DOCUMENTS, ALIASES = "documents", "jobs/documents", "jobs/aliases.yaml"
MODEL, INVENTORY = "enterprise/model.drawio", "enterprise/inventory.xlsx"
GOLD = "jobs/gold"


def sample(name: str) -> Path:
    """Return the path of a file or folder of the samples.

    Raises UsageError if this installation does not contain it.
    """
    package = Path(str(files("elt_llm_api")))
    for folder in (package / "samples", package.parents[2] / "samples"):
        if (folder / name).exists():
            return folder / name
    raise UsageError(
        f"The sample {name} is not part of this installation.", hint="Run the command from a clone of the project."
    )
