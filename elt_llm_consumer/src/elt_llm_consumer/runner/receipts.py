"""Write a receipt beside each output file: a record of its inputs, which `elt-llm replay` checks later."""

import importlib.metadata
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from elt_llm_core.enterprise import EnterpriseRecord
from elt_llm_core.settings.loader import shown_path
from elt_llm_core.store.disk import file_sha256
from elt_llm_core.store.records import utc_now
from pydantic import Field

from elt_llm_consumer.evidence import JobResult, hash_json
from elt_llm_consumer.export.text import write_atomically
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.row_keys import SourceDocuments, code_hash, model_name, relevant_settings

RECEIPT_SUFFIX = ".receipt.json"
OUR_PACKAGES = ("elt-llm-core", "elt-llm-query", "elt-llm-consumer")
_SOURCES = "elt-llm-consumer sources"  # the name of the source code's hash in a receipt
_SHORT_HASH = 16  # hex digits of a hash in a receipt, shortened because people read receipts too
_LIBRARIES = ("llama-index-core", "bm25s", "chromadb", "numpy", "onnxruntime", "pydantic", "rapidfuzz", "tokenizers")


class ReceiptDocument(EnterpriseRecord):
    """A document that a job read, as it was at the time of the run."""

    collection: str
    source: str
    document_id: str
    document_hash: str


class ReceiptQuote(EnterpriseRecord):
    """The location and the hash of a quote. The text of the quote is only in the output."""

    collection: str
    source: str
    document_id: str
    page: int | None
    span: tuple[int, int]
    quote_hash: str


class OutputReceipt(EnterpriseRecord):
    """The record of what one output file was made from. The time is only here, so that equal outputs stay equal."""

    format: int = 1
    output: str = Field(description="Name of the file in the receipt's folder.")
    output_hash: str = Field(description="SHA-256 of the file's bytes, 64 hex digits.")
    job: str
    job_file: str = Field(description="Path of the job file, relative to the folder of config/ if below it.")
    kind: str
    generations: tuple[str, ...]
    documents: tuple[ReceiptDocument, ...]
    quotes: tuple[ReceiptQuote, ...]
    settings: Mapping[str, Any]
    prompts_hash: str
    model: str = Field("", description="The language model; empty without one.")
    versions: Mapping[str, str]
    counts: Mapping[str, int]
    written_at: str = Field(description="ISO 8601, UTC.")


def write_receipts(
    files: Sequence[Path], result: JobResult, context: JobContext, recipe: int, prompts_hash: str
) -> list[Path]:
    """Write `FILE.receipt.json` beside each output file; return the receipts' paths. Raises StoreError on failure."""
    written = []
    for path in files:
        receipt = _receipt(path, result, context, recipe, prompts_hash)
        target = path.with_name(path.name + RECEIPT_SUFFIX)
        write_atomically(target, (receipt.model_dump_json(indent=2) + "\n").encode("utf-8", "backslashreplace"))
        written.append(target)
    return written


def receipt_settings(context: JobContext, kind: str, recipe: int) -> dict[str, Any]:
    """Return, as JSON values, all settings on which a result may depend, for the receipt of the result."""
    spec, settings = context.file.spec, context.settings
    curated = context.file.folder / (spec.sources.curated or "")
    return {
        **relevant_settings(context, kind),
        "sources": spec.sources.model_dump(mode="json"),
        "query": settings.query.model_dump(mode="json", exclude={"cache_size", "cache_ttl"}),
        "recipe": recipe,
        "files": {
            "aliases": hash_json(context.aliases.groups),
            "curated": file_sha256(curated) if curated.is_file() else "",
        },
    }


def receipt_documents(context: JobContext) -> tuple[ReceiptDocument, ...]:
    """Return the current documents of all collections that a job reads, sorted."""
    found = SourceDocuments(context).documents.values()
    ordered = sorted(found, key=lambda it: (it.collection, it.source, it.document_id))
    return tuple(ReceiptDocument.model_validate(it, from_attributes=True) for it in ordered)


@cache
def installed_versions() -> Mapping[str, str]:
    """Return the versions of Python, the program, and the libraries that affect results, read once per process."""
    ours = {_SOURCES: code_hash()[:_SHORT_HASH]}
    libraries = {it: importlib.metadata.version(it) for it in (*OUR_PACKAGES, *_LIBRARIES)}
    return {"python": platform.python_version(), **libraries, **ours}


def _receipt(path: Path, result: JobResult, context: JobContext, recipe: int, prompts_hash: str) -> OutputReceipt:
    rows = [row for table in result.tables for row in table.rows]
    quotes = {(it.collection, it.source, it.document_id, it.span): it for row in rows for it in row.evidence}
    verdicts = Counter(f"cells {cell.verdict}" for row in rows for cell in row.cells.values())
    return OutputReceipt(
        output=path.name,
        output_hash=file_sha256(path),
        job=context.file.name,
        job_file=shown_path(context.file.path, context.file.folder),
        kind=result.kind,
        generations=context.generations,
        documents=receipt_documents(context),
        quotes=tuple(ReceiptQuote.model_validate(it, from_attributes=True) for _, it in sorted(quotes.items())),
        settings=receipt_settings(context, result.kind, recipe),
        prompts_hash=prompts_hash,
        model=model_name(context),
        versions=installed_versions(),
        counts={f"rows {it.name}": len(it.rows) for it in result.tables} | dict(sorted(verdicts.items())),
        written_at=utc_now(),
    )
