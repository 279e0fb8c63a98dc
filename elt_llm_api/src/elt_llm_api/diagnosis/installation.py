"""Checks of what is installed: libraries are located, not imported; model files are read and compared."""

from importlib import metadata, util

from elt_llm_core.store.database import MINIMUM_SQLITE, sqlite_version

from elt_llm_api.diagnosis.check import Check, Facts, Verdict, failure, ok

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
_SYNC = "Run: uv sync"


def sqlite(_: Facts) -> Verdict:
    """SQLite is new enough to write with: an older one can corrupt a write-ahead log."""
    found, needed = (".".join(map(str, version)) for version in (sqlite_version(), MINIMUM_SQLITE))
    if sqlite_version() < MINIMUM_SQLITE:
        detail = f"{found}, but {needed} or newer is needed to write"
        return failure(detail, f"{_SYNC} --reinstall-package pysqlite3")
    return ok(found)


def library(distribution: str, module: str) -> Verdict:
    """A library is installed and its module is where Python looks."""
    try:
        version = metadata.version(distribution)
        found = util.find_spec(module) is not None
    except (metadata.PackageNotFoundError, ModuleNotFoundError):
        return failure("not installed", _SYNC)
    return ok(version) if found else failure(f"{version}, but {module} is missing", f"{_SYNC} --reinstall")


def embedding_weights(_: Facts) -> Verdict:
    """The weights of the embedded model are there and are the known ones."""
    from elt_llm_core.models.embedded import MODEL_NAME, WEIGHTS

    size = len(WEIGHTS.read()) / 10**6
    return ok(f"{MODEL_NAME}, {size:.0f} MB, sha256 {WEIGHTS.sha256[:12]}")


def embedding_vocabulary(_: Facts) -> Verdict:
    """The vocabulary of the embedded model is there and is the known one."""
    from elt_llm_core.models.embedded import VOCABULARY

    VOCABULARY.read()
    return ok(f"{VOCABULARY.name}, sha256 {VOCABULARY.sha256[:12]}")


def embedding(_: Facts) -> Verdict:
    """The embedded model runs on this processor."""
    from elt_llm_core.models.embedded import EmbeddedMiniLm

    try:
        vector = EmbeddedMiniLm(threads=1).embed_question("word")
    except ImportError as error:
        return failure(f"a library does not load: {error}", f"{_SYNC} --reinstall")
    return ok(f"works, {len(vector)} dimensions")


def _library_check(distribution: str, module: str) -> Check:
    return Check(distribution, lambda _: library(distribution, module))


CHECKS = (
    Check("sqlite", sqlite),
    *(_library_check(distribution, module) for distribution, module in _LIBRARIES),
    Check("model weights", embedding_weights),
    Check("model vocabulary", embedding_vocabulary),
    Check("embedding", embedding),
)
