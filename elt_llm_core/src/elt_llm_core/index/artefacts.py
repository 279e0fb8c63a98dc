"""Artefacts of a generation: JSON values that a reader made besides text, such as an enterprise model."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elt_llm_core.errors import CorruptIndex

ARTEFACTS_FOLDER = "artefacts"


def write_artefacts(directory: Path, artefacts: Sequence[tuple[str, str, str]]) -> None:
    """Write (name, document id, JSON text) each into a file `artefacts/NAME/DOCUMENT.json`; none leaves no folder."""
    for name, document_id, content in artefacts:
        folder = directory / ARTEFACTS_FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{document_id}.json").write_text(content, encoding="utf-8")


def read_artefacts(directory: Path, name: str) -> dict[str, Any]:
    """The values of one name by document id, in the order of the ids. Raises CorruptIndex if one cannot be read."""
    found: dict[str, Any] = {}
    for path in sorted((directory / ARTEFACTS_FOLDER / name).glob("*.json")):
        try:
            found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CorruptIndex(f"{path} is damaged: {error}.", hint="Run: elt-llm verify") from error
    return found


def artefact_names(directory: Path) -> list[str]:
    """Which artefacts a generation has."""
    folder = directory / ARTEFACTS_FOLDER
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
