"""Receipts beside outputs: what a file was made from, so that one can tell later whether it still holds."""

import hashlib
import importlib.metadata
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elt_llm_core.enterprise_model import Record
from elt_llm_core.settings_loader import shown_path
from elt_llm_core.store.clock import now
from pydantic import Field

from elt_llm_consumer.context import JobContext
from elt_llm_consumer.export.atomic import write_whole
from elt_llm_consumer.hashing import hashed
from elt_llm_consumer.rows import JobResult, Row
from elt_llm_consumer.runner_key import Sources, code_hash, model_name, settings_that_matter

SUFFIX = ".receipt.json"
OURS = ("elt-llm-core", "elt-llm-query", "elt-llm-consumer")
_SOURCES = "elt-llm-consumer sources"  # a version is not all: rows that no model writes are made anew by another source
_SHORT = 16  # hex digits, as receipts are read by people too
_LIBRARIES = ("llama-index-core", "bm25s", "chromadb", "numpy", "onnxruntime", "pydantic", "rapidfuzz", "tokenizers")


class DocumentRead(Record):
    """A document as it was when the job ran."""

    collection: str
    source: str
    document_id: str
    document_hash: str


class QuoteTaken(Record):
    """Where a quote was taken from; its words are in the output."""

    collection: str
    source: str
    document_id: str
    page: int | None
    span: tuple[int, int]
    quote_hash: str


class Receipt(Record):
    """What one output file was made from. The only place that tells when."""

    format: int = 1
    output: str = Field(description="Name of the file, in the folder of the receipt.")
    output_hash: str = Field(description="SHA-256 of its bytes, 64 hex digits.")
    job: str
    job_file: str = Field(description="Path of the job file, seen from the folder that holds config/ if it is below.")
    kind: str
    generations: tuple[str, ...]
    documents: tuple[DocumentRead, ...]
    quotes: tuple[QuoteTaken, ...]
    settings: Mapping[str, Any]
    prompts_hash: str
    model: str = Field("", description="The language model; empty where none wrote.")
    versions: Mapping[str, str]
    counts: Mapping[str, int]
    written_at: str = Field(description="ISO 8601, UTC.")


def write_receipts(
    files: Sequence[Path], result: JobResult, context: JobContext, recipe: int, prompts_hash: str
) -> list[Path]:
    """Write `FILE.receipt.json` beside each file; returns the paths. Raises StoreError."""
    written = []
    for path in files:
        receipt = _receipt(path, result, context, recipe, prompts_hash)
        target = path.with_name(path.name + SUFFIX)
        write_whole(target, (receipt.model_dump_json(indent=2) + "\n").encode("utf-8", "backslashreplace"))
        written.append(target)
    return written


def settings_compared(context: JobContext, kind: str, recipe: int) -> dict[str, Any]:
    """Whatever of the settings may change a result."""
    spec, settings = context.file.spec, context.settings
    return {
        **settings_that_matter(context, kind),
        "sources": spec.sources.model_dump(mode="json"),
        "query": settings.query.model_dump(mode="json", exclude={"cache_size", "cache_ttl"}),
        "recipe": recipe,
        "files": {"aliases": hashed(context.aliases.groups), "curated": _hash_of_curated(context)},
    }


def _hash_of_curated(context: JobContext) -> str:
    """Of the file with curated values; empty where the job names none, or it is gone."""
    path = context.file.folder / (context.file.spec.sources.curated or "")
    return hash_of(path) if path.is_file() else ""


def documents_read(context: JobContext) -> tuple[DocumentRead, ...]:
    """Every document of the collections that a job reads, as it is now."""
    found = Sources(context).documents
    return tuple(
        DocumentRead(
            collection=it.collection, source=it.source, document_id=it.document_id, document_hash=it.document_hash
        )
        for it in sorted(found.values(), key=lambda it: (it.collection, it.source, it.document_id))
    )


def versions_now() -> dict[str, str]:
    """Of Python, the program and the libraries that have a part in results."""
    ours = {_SOURCES: code_hash()[:_SHORT]}
    libraries = {it: importlib.metadata.version(it) for it in (*OURS, *_LIBRARIES)}
    return {"python": platform.python_version(), **libraries, **ours}


def hash_of(path: Path) -> str:
    """SHA-256 of a file, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _receipt(path: Path, result: JobResult, context: JobContext, recipe: int, prompts_hash: str) -> Receipt:
    return Receipt(
        output=path.name,
        output_hash=hash_of(path),
        job=context.file.name,
        job_file=shown_path(context.file.path, context.file.folder),
        kind=result.kind,
        generations=context.generations,
        documents=documents_read(context),
        quotes=_quotes(result),
        settings=settings_compared(context, result.kind, recipe),
        prompts_hash=prompts_hash,
        model=model_name(context),
        versions=versions_now(),
        counts=_counts(result),
        written_at=now(),
    )


def _rows(result: JobResult) -> list[Row]:
    return [row for table in result.tables for row in table.rows]


def _quotes(result: JobResult) -> tuple[QuoteTaken, ...]:
    taken = {
        (it.collection, it.source, it.document_id, it.span): QuoteTaken(
            collection=it.collection,
            source=it.source,
            document_id=it.document_id,
            page=it.page,
            span=it.span,
            quote_hash=it.quote_hash,
        )
        for row in _rows(result)
        for it in row.evidence
    }
    return tuple(quote for _, quote in sorted(taken.items()))


def _counts(result: JobResult) -> dict[str, int]:
    verdicts = Counter(f"cells {cell.verdict}" for row in _rows(result) for cell in row.cells.values())
    return {**{f"rows {table.name}": len(table.rows) for table in result.tables}, **dict(sorted(verdicts.items()))}
