"""The sample model and inventory, and the scripts that made them."""

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from elt_llm_core.enterprise import EnterpriseModel, Inventory
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import create_named_reader

SAMPLES = Path(__file__).parents[3] / "samples"
ENTERPRISE = SAMPLES / "enterprise"


@cache
def script(name: str) -> ModuleType:
    """Load a script of the samples as a module, under the name by which other scripts import it."""
    full = f"samples_{name}"
    spec = importlib.util.spec_from_file_location(full, SAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    # A dataclass looks up its module by name while the class is created.
    sys.modules[full] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path: Path, reader: str = "auto") -> ParsedDocument:
    """The document of a file."""
    found = create_named_reader(reader, path)
    assert found is not None
    return found.read(path)


def expected(name: str) -> dict[str, Any]:
    """Return the expected values that the generator stored beside its files."""
    value: dict[str, Any] = json.loads((ENTERPRISE / name).read_text(encoding="utf-8"))
    return value


def model_of(document: ParsedDocument) -> EnterpriseModel:
    """Return the enterprise model that was read from a document."""
    return EnterpriseModel.from_json(document.artefacts["enterprise_model"])


def inventory_of(document: ParsedDocument) -> Inventory:
    """Return the inventory that was read from a document."""
    return Inventory.from_json(document.artefacts["inventory"])


def without_notes(value: dict[str, Any]) -> dict[str, Any]:
    """Return a model or inventory without its notes, which only a reader of files adds."""
    return {key: inner for key, inner in value.items() if key != "notes"}
