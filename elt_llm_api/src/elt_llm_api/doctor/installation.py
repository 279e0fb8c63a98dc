"""Checks of the machine and of installed libraries and model files; nothing heavy is imported."""

import os
import platform
import sys
import tempfile
from functools import partial
from importlib import metadata, util
from pathlib import Path

from elt_llm_core.store.database import MIN_SQLITE, sqlite_version

from elt_llm_api.doctor.check import Check, CheckVerdict, DoctorFacts, failure, ok, warning

_LIBRARIES = (
    ("llama-index-core", "llama_index.core"),
    ("llama-index-vector-stores-chroma", "llama_index.vector_stores.chroma"),
    ("llama-index-retrievers-bm25", "llama_index.retrievers.bm25"),
    ("chromadb", "chromadb"),
    ("bm25s", "bm25s"),
    ("pystemmer", "Stemmer"),
    ("onnxruntime", "onnxruntime"),
    ("tokenizers", "tokenizers"),
    ("numpy", "numpy"),
    ("pypdfium2", "pypdfium2"),
    ("selectolax", "selectolax"),
)
_SYNC_HINT = "Run: uv sync"
_GIGABYTE = 10**9
_COMFORTABLE_MEMORY = 1.0  # gigabytes; the embedding model, an index and Python need about half of it


def sqlite(_: DoctorFacts) -> CheckVerdict:
    """Check that SQLite is new enough for writing: older versions can corrupt a write-ahead log."""
    found, needed = (".".join(map(str, version)) for version in (sqlite_version(), MIN_SQLITE))
    if sqlite_version() < MIN_SQLITE:
        detail = f"{found}, but {needed} or newer is needed to write"
        return failure(detail, f"{_SYNC_HINT} --reinstall-package pysqlite3")
    return ok(found)


def library(distribution: str, module: str, _: DoctorFacts | None = None) -> CheckVerdict:
    """Check that a library is installed and its module can be imported."""
    try:
        version = metadata.version(distribution)
        found = util.find_spec(module) is not None
    except (metadata.PackageNotFoundError, ModuleNotFoundError):
        return failure("not installed", _SYNC_HINT)
    return ok(version) if found else failure(f"{version}, but {module} is missing", f"{_SYNC_HINT} --reinstall")


def embedding_weights(_: DoctorFacts) -> CheckVerdict:
    """Check that the weights of the shipped embedding model exist and have the expected hash."""
    from elt_llm_core.models.embedded import MODEL_NAME, WEIGHTS

    size = len(WEIGHTS.read()) / 10**6
    return ok(f"{MODEL_NAME}, {size:.0f} MB, sha256 {WEIGHTS.sha256[:12]}")


def embedding_vocabulary(_: DoctorFacts) -> CheckVerdict:
    """Check that the vocabulary of the shipped embedding model exists and has the expected hash."""
    from elt_llm_core.models.embedded import VOCABULARY

    VOCABULARY.read()
    return ok(f"{VOCABULARY.name}, sha256 {VOCABULARY.sha256[:12]}")


def embedding(_: DoctorFacts) -> CheckVerdict:
    """Check that the shipped embedding model runs on this processor."""
    from elt_llm_core.models.embedded import EmbeddedMiniLm

    try:
        vector = EmbeddedMiniLm(threads=1).embed_question("word")
    except ImportError as error:
        return failure(f"a library does not load: {error}", f"{_SYNC_HINT} --reinstall")
    return ok(f"works, {len(vector)} dimensions")


def python(_: DoctorFacts) -> CheckVerdict:
    """Report the version of Python. Versions before 3.11 cannot start this program."""
    return ok(f"{platform.python_version()} ({sys.executable})")


def processor(_: DoctorFacts) -> CheckVerdict:
    """Check that the processor has the instructions that make the int8 model fast."""
    cores = f"{os.cpu_count() or 1} cores"
    flags = _first_line("/proc/cpuinfo", ("flags", "Features"))
    if not flags or {"avx2", "asimd"} & set(flags.split()):
        return ok(f"{platform.machine()}, {cores}")
    return warning(f"{platform.machine()}, {cores}, no AVX2: embedding is slow", "Ingest on a newer machine")


def memory(_: DoctorFacts) -> CheckVerdict:
    """Check that there is enough memory for the model and an index."""
    available = _first_line("/proc/meminfo", ("MemAvailable",))
    if not available:
        return ok("free memory is not known on this system")
    free = int(available.split()[0]) * 1024 / _GIGABYTE
    if free < _COMFORTABLE_MEMORY:
        return warning(f"{free:.1f} GB free, {_COMFORTABLE_MEMORY:.0f} GB is recommended", "Close other programs")
    return ok(f"{free:.1f} GB free")


def temporary_files(_: DoctorFacts) -> CheckVerdict:
    """Check that temporary files can be written."""
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
    except OSError as error:
        return failure(f"cannot be written: {error}", "Set TMPDIR to a folder you may write to")
    return ok(tempfile.gettempdir())


def terminal(_: DoctorFacts) -> CheckVerdict:
    """Check that the terminal's encoding can show every character of a document."""
    encoding = sys.stdout.encoding or "unknown"
    if encoding.lower().replace("-", "") != "utf8":
        return warning(f"{encoding}: some characters cannot be shown", "Run: export PYTHONUTF8=1")
    return ok(encoding)


def _first_line(path: str, names: tuple[str, ...]) -> str:
    """Return the value of the first `name : value` line in a file of /proc; empty if no line has the name."""
    file = Path(path)
    if not file.exists():
        return ""
    pairs = (line.partition(":") for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
    return next((value.strip() for name, _, value in pairs if name.strip() in names), "")


CHECKS: dict[str, Check] = {
    "python": python,
    "processor": processor,
    "memory": memory,
    "temporary files": temporary_files,
    "terminal": terminal,
    "sqlite": sqlite,
    **{distribution: partial(library, distribution, module) for distribution, module in _LIBRARIES},
    "model weights": embedding_weights,
    "model vocabulary": embedding_vocabulary,
    "embedding": embedding,
}
