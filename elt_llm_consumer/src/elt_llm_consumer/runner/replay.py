"""Check an output file against its receipt: the bytes of the file, its quotes and its inputs."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.settings.tree import FORMER_QUERY_KEYS
from elt_llm_core.store.disk import file_sha256
from pydantic import ValidationError

from elt_llm_consumer.jobs.context import JobContext, open_job
from elt_llm_consumer.jobs.corpus import CorpusDocument, quote_hash
from elt_llm_consumer.jobs.job_file import load_job
from elt_llm_consumer.jobs.row_keys import SourceDocuments
from elt_llm_consumer.runner.receipts import (
    OUR_PACKAGES,
    RECEIPT_SUFFIX,
    OutputReceipt,
    ReceiptDocument,
    ReceiptQuote,
    installed_versions,
    receipt_documents,
    receipt_settings,
)
from elt_llm_consumer.runner.run import recipe_number

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

_MAX_VALUE_LENGTH = 80  # maximum characters of a value that a difference shows


@dataclass(frozen=True)
class ReplayReport:
    """The changes since a receipt was written, one line each. Changes in `libraries` alone leave an output valid."""

    receipt: str
    output: tuple[str, ...]
    evidence: tuple[str, ...]
    documents: tuple[str, ...]
    settings: tuple[str, ...]
    program: tuple[str, ...]
    libraries: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the output is valid: a run now would have the same inputs and outputs as the recorded run."""
        return not (self.output or self.evidence or self.documents or self.settings or self.program)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {**asdict(self), "holds": self.holds}


def read_receipt(path: Path) -> OutputReceipt:
    """Read a receipt, the record of what a run read and wrote. Raises UsageError for any other file."""
    try:
        return OutputReceipt.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError) as error:
        missing = isinstance(error, FileNotFoundError)
        problem = f"There is no file {path}." if missing else f"{path} is not a receipt."
        raise UsageError(problem, hint=f"The receipt of NAME is beside NAME, as NAME{RECEIPT_SUFFIX}.") from error


def replay(
    path: Path, loaded: LoadedSettings, *, embedding: EmbeddingModel | None = None, llm: "LLM | None" = None
) -> ReplayReport:
    """Compare a receipt (the record of a run) with the current files, documents and settings, without making rows.

    Raises UsageError if the file is not a receipt.
    """
    receipt = read_receipt(path)
    written, output = path.parent / receipt.output, tuple[str, ...]()
    if not written.is_file():
        output = (f"{written.name} is missing",)
    elif file_sha256(written) != receipt.output_hash:
        output = (f"{written.name} was changed after it was written",)
    changed = [f"{name}: {was}, now {now}" for name, was, now in _differences(receipt.versions, installed_versions())]
    ours = tuple(line for line in changed if line.startswith(OUR_PACKAGES))
    libraries = tuple(line for line in changed if not line.startswith(OUR_PACKAGES))
    try:
        file = load_job(loaded.project / receipt.job_file, loaded)
        with open_job(file, loaded, embedding=embedding, llm=llm) as context:
            changes = _compare(receipt, context)
    except (EltError, OSError, ValueError) as error:  # a path with a null byte raises ValueError
        changes = (), (), (f"The inputs cannot be read: {error}",)
    return ReplayReport(path.name, output, *changes, ours, libraries)


def _compare(receipt: OutputReceipt, context: JobContext) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the changes in the evidence, the documents and the settings."""
    documents = SourceDocuments(context).documents
    evidence = [_quote_problem(quote, documents.get((quote.collection, quote.document_id))) for quote in receipt.quotes]
    settings = receipt_settings(context, receipt.kind, recipe_number(receipt.kind))
    current = {old: name for name, old in FORMER_QUERY_KEYS.items()}
    query = {current.get(name, name): value for name, value in receipt.settings.get("query", {}).items()}
    return (
        tuple(filter(None, evidence)),
        tuple(_document_changes(receipt.documents, receipt_documents(context))),
        tuple(
            f"{name}: {_shortened(was)}, now {_shortened(now)}"
            for name, was, now in _differences({**receipt.settings, "query": query}, settings)
        ),
    )


def _quote_problem(quote: ReceiptQuote, document: CorpusDocument | None) -> str:
    """Return a message on how the document differs from a quote; empty if the quote is unchanged."""
    where = f"{quote.collection}: {quote.source}, characters {quote.span[0]} to {quote.span[1]}"
    start, end = quote.span
    if document is None:
        return f"{where}: the document is missing"
    if quote_hash(document.text[start:end]) != quote.quote_hash:
        return f"{where}: the quoted text has changed"
    page = document.outline.page_at(start)
    return "" if page == quote.page else f"{where}: the quote is on page {page}, no longer on page {quote.page}"


def _document_changes(before: tuple[ReceiptDocument, ...], after: tuple[ReceiptDocument, ...]) -> list[str]:
    old, new = ({(it.collection, it.document_id): it for it in listed} for listed in (before, after))
    lines = [(it, "vanished") for identity, it in old.items() if identity not in new]
    lines += [(it, "new") for identity, it in new.items() if identity not in old]
    lines += [
        (it, "changed")
        for identity, it in new.items()
        if identity in old and old[identity].document_hash != it.document_hash
    ]
    return sorted(f"{it.collection}: {it.source}: {what}" for it, what in lines)


def _differences(before: Any, after: Any, prefix: str = "") -> list[tuple[str, Any, Any]]:
    """Return the dotted name and both values of each key that differs. A missing key has the value None."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return [] if before == after else [(prefix, before, after)]
    found = []
    for key in sorted({*before, *after}):
        name = f"{prefix}.{key}" if prefix else key
        found += _differences(before.get(key), after.get(key), name)
    return found


def _shortened(value: object) -> str:
    text = "none" if value in (None, "") else str(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else text[: _MAX_VALUE_LENGTH - 3] + "..."
