"""Checks of the machine: interpreter, processor, memory, temporary files, terminal."""

import os
import platform
import sys
import tempfile
from pathlib import Path

from elt_llm_api.diagnosis.check import Check, Facts, Verdict, failure, ok, warning

GIGABYTE = 10**9
_NEEDED_PYTHON = (3, 11)
_COMFORTABLE_MEMORY = 1.0  # gigabytes: the model, an index and Python itself take about half of it


def python(_: Facts) -> Verdict:
    """The interpreter is one the packages are tested with."""
    version = platform.python_version()
    if sys.version_info < _NEEDED_PYTHON:
        return failure(f"{version} is older than 3.11", "Run: uv python install 3.12 && uv sync")
    return ok(f"{version} ({sys.executable})")


def processor(_: Facts) -> Verdict:
    """The processor has the instructions that make the int8 model fast."""
    cores = f"{os.cpu_count() or 1} cores"
    flags = _first_line("/proc/cpuinfo", ("flags", "Features"))
    if not flags or {"avx2", "asimd"} & set(flags.split()):
        return ok(f"{platform.machine()}, {cores}")
    return warning(f"{platform.machine()}, {cores}, no AVX2: embedding is slow", "Ingest on a newer machine")


def memory(_: Facts) -> Verdict:
    """There is room for the model and an index."""
    available = _first_line("/proc/meminfo", ("MemAvailable",))
    if not available:
        return ok("free memory is not known on this system")
    free = int(available.split()[0]) * 1024 / GIGABYTE
    if free < _COMFORTABLE_MEMORY:
        return warning(f"{free:.1f} GB free, {_COMFORTABLE_MEMORY:.0f} GB is comfortable", "Close other programs")
    return ok(f"{free:.1f} GB free")


def temporary_files(_: Facts) -> Verdict:
    """Temporary files can be written."""
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
    except OSError as error:
        return failure(f"cannot be written: {error}", "Set TMPDIR to a folder you may write to")
    return ok(tempfile.gettempdir())


def terminal(_: Facts) -> Verdict:
    """Every character of a document can be shown."""
    encoding = sys.stdout.encoding or "unknown"
    if encoding.lower().replace("-", "") != "utf8":
        return warning(f"{encoding}: some characters cannot be shown", "Run: export PYTHONUTF8=1")
    return ok(encoding)


def _first_line(path: str, names: tuple[str, ...]) -> str:
    """The value of the first `name : value` line in a file of /proc; empty where there is none."""
    file = Path(path)
    if not file.exists():
        return ""
    pairs = (line.partition(":") for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
    return next((value.strip() for name, _, value in pairs if name.strip() in names), "")


CHECKS = (
    Check("python", python),
    Check("processor", processor),
    Check("memory", memory),
    Check("temporary files", temporary_files),
    Check("terminal", terminal),
)
