"""Loads a GGUF file with llama.cpp's prebuilt library, closed to everybody else."""

import os
import secrets
from importlib import util
from pathlib import Path
from typing import Any

from elt_llm_core.errors import ModelBroken, ModelError
from elt_llm_core.settings_servers import LlamaCppSettings

MOST_THREADS = 8
_LIBRARY = "xllamacpp"
_SILENT = -1


def require_library() -> None:
    """Raises ModelError, with the command that installs it, where the extra llama-cpp is missing."""
    if util.find_spec(_LIBRARY) is None:
        raise ModelError(
            "llm.provider is llama_cpp, and llama.cpp is not installed", hint="Run: uv sync --inexact --extra llama-cpp"
        )


def open_engine(path: Path, chosen: LlamaCppSettings) -> Any:
    """The loaded model, an `xllamacpp.Server`. Takes seconds, and about as much memory as the file has bytes.

    Raises ModelBroken for a file that is no model, or too large for the memory.
    """
    import xllamacpp

    try:
        return xllamacpp.Server(_parameters(xllamacpp.CommonParams(), path, chosen))
    except RuntimeError as error:
        raise ModelBroken(
            f"llama.cpp cannot load {path}",
            hint="Is it a GGUF file, whole, and small enough for this machine's memory?",
        ) from error


def _parameters(parameters: Any, path: Path, chosen: LlamaCppSettings) -> Any:
    threads = chosen.threads or min(os.cpu_count() or 1, MOST_THREADS)
    parameters.model.path = str(path)
    parameters.n_ctx = chosen.context_window
    parameters.n_parallel = 1  # the window is shared out among what is answered at once
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.verbosity = _SILENT
    parameters.warmup = False
    parameters.offline = True
    # What does not fit is refused: shifted, it would lose its beginning, which says what to do.
    parameters.ctx_shift = False
    parameters.cache_ram_mib = 0
    _close_to_others(parameters)
    return parameters


def _close_to_others(parameters: Any) -> None:
    """The library also listens on a port of loopback, which cannot be turned off: none but this process has its key."""
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [secrets.token_hex(32)]
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.endpoint_props = False
    parameters.endpoint_metrics = False
