"""Importing a module has no side effects, and `--help` imports no heavy library."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from optional import needs

HEAVY = ("llama_index", "chromadb", "numpy", "onnxruntime", "bm25s", "tokenizers", "pydantic", "yaml", "pypdfium2")
NEVER = ("nltk", "tiktoken", "torch", "transformers", "openai")

# Imports the given modules and reports any effect outside of the memory of the process.
WATCH = """
import os, sys, threading
before = dict(os.environ), os.getcwd(), threading.active_count()
from elt_llm_api.serve.ui.mounting import import_gradio
import_gradio()  # as the server does, in half the time
for name in sys.argv[1:]:
    __import__(name)
after = dict(os.environ), os.getcwd(), threading.active_count()
assert before[0] == after[0], "environment: " + str(set(before[0].items()) ^ set(after[0].items()))
assert before[1:] == after[1:], (before[1:], after[1:])
"""


def imported_by(*arguments: str, cwd: Path) -> set[str]:
    """Return the modules that a Python program imports."""
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr[-2000:]
    return {line.rpartition("|")[2].strip() for line in shown.stderr.splitlines() if line.startswith("import time:")}


@pytest.mark.parametrize("arguments", [("--help",), ("doctor", "--help"), ("init", "--help"), ("--version",)])
def test_help_imports_no_heavy_library(arguments: tuple[str, ...], tmp_path: Path) -> None:
    imported = imported_by("-m", "elt_llm_api.cli", *arguments, cwd=tmp_path)
    assert "click" in imported
    assert sorted(name for name in imported if name.startswith(HEAVY)) == []


def test_importing_our_modules_has_no_side_effect_and_imports_no_telemetry(modules: list[str], tmp_path: Path) -> None:
    needs("gradio", "mcp")
    loaded = imported_by("-c", WATCH, *modules, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert sorted(name for name in loaded if name.split(".")[0] in NEVER) == []


def test_onnxruntime_is_imported_only_by_the_function_that_turns_its_telemetry_off(sources: list[Path]) -> None:
    importing = set()
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [it.name for it in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "onnxruntime" for name in names):
                importing.add(path.name)
    assert importing == {"embedded.py"}  # for the types alone


def test_package_init_files_import_no_heavy_library(sources: list[Path]) -> None:
    for path in (path for path in sources if path.name == "__init__.py"):
        statements = ast.parse(path.read_text(encoding="utf-8")).body
        assert isinstance(statements[0], ast.Expr), f"{path} lacks a docstring"
        for statement in statements:
            if isinstance(statement, ast.Import):
                assert not any(name.name.startswith(HEAVY) for name in statement.names), path
            if isinstance(statement, ast.ImportFrom):
                assert not (statement.module or "").startswith(HEAVY), path


# Prints every name that the packages of llama-index-core offer, with what it is.
OFFERED = """
import sys
if sys.argv[1] == "on demand":
    from elt_llm_core.utilities import import_llama_index_on_demand
    import_llama_index_on_demand()
import importlib, pkgutil
import llama_index.core
for package in pkgutil.walk_packages(llama_index.core.__path__, "llama_index.core."):
    if package.ispkg:
        module = importlib.import_module(package.name)
        for name in getattr(module, "__all__", ()):
            print(package.name, name, repr(getattr(module, name, "nothing"))[:200].partition(" at 0x")[0])
for name in sorted(set(llama_index.core.__all__) | {"global_handler", "global_tokenizer", "__version__"}):
    print(name, repr(getattr(llama_index.core, name))[:200].partition(" at 0x")[0])
"""


def test_packages_of_llamaindex_that_are_imported_on_demand_offer_the_same_names(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OFFERED]
    on_demand, at_once = (
        subprocess.run([*command, how], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
        for how in ("on demand", "at once")
    )
    assert len(at_once) > 300
    assert on_demand == at_once


def test_llamaindex_imports_only_what_is_used(tmp_path: Path) -> None:
    script = (
        "from elt_llm_core.utilities import import_llama_index_on_demand\n"
        "import_llama_index_on_demand()\n"
        "import elt_llm_query.engine, elt_llm_ingest.pipeline\n"
    )
    loaded = imported_by("-c", script, cwd=tmp_path)
    assert "llama_index.core.retrievers.fusion_retriever" in loaded
    assert {name.split(".")[0] for name in loaded} & {"sqlalchemy", "workflows", "banks"} == set()
