"""Whether an output still holds: its bytes, the words it quotes, and all that it was made from."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elt_llm_core.errors import EltError, UsageError
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.settings_loader import LoadedSettings
from pydantic import ValidationError

from elt_llm_consumer.context import JobContext, open_job
from elt_llm_consumer.corpus import CorpusDocument, quote_hash
from elt_llm_consumer.job_file import load_job
from elt_llm_consumer.jobs import recipe_of
from elt_llm_consumer.receipts import (
    OURS,
    SUFFIX,
    DocumentRead,
    QuoteTaken,
    Receipt,
    documents_read,
    hash_of,
    settings_compared,
    versions_now,
)
from elt_llm_consumer.runner_key import Sources

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


@dataclass(frozen=True)
class Replay:
    """What is not any more as the receipt says, a sentence each; `libraries` alone are no reason to doubt an output."""

    receipt: str
    output: tuple[str, ...]
    evidence: tuple[str, ...]
    documents: tuple[str, ...]
    settings: tuple[str, ...]
    program: tuple[str, ...]
    libraries: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether a run now would write the same, from the same."""
        return not (self.output or self.evidence or self.documents or self.settings or self.program)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "holds": self.holds}


def read_receipt(path: Path) -> Receipt:
    """The receipt in a file. Raises UsageError if it is none."""
    try:
        return Receipt.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {path}.", hint=f"Receipts lie beside outputs, as NAME{SUFFIX}") from error
    except ValidationError as error:
        raise UsageError(f"{path} is no receipt.", hint=f"Receipts lie beside outputs, as NAME{SUFFIX}") from error


def replay(
    path: Path, loaded: LoadedSettings, *, embedding: EmbeddingModel | None = None, llm: "LLM | None" = None
) -> Replay:
    """Compare a receipt with what there is now; makes no row and asks no model to write.

    Raises UsageError if the file is no receipt.
    """
    receipt = read_receipt(path)
    output, versions = _output(path.parent / receipt.output, receipt), versions_now()
    changed = [f"{name}: {was}, now {now}" for name, was, now in _differences(receipt.versions, versions)]
    ours = tuple(line for line in changed if line.startswith(OURS))
    libraries = tuple(line for line in changed if not line.startswith(OURS))
    try:
        file = load_job(loaded.project / receipt.job_file, loaded)
        with open_job(file, loaded, embedding=embedding, llm=llm) as opened:
            evidence, documents, settings = _compared(receipt, opened.context)
    except (EltError, OSError, ValueError) as error:  # ValueError: of a path with a zero byte
        return Replay(path.name, output, (), (), (f"What it was made from cannot be read: {error}",), ours, libraries)
    return Replay(path.name, output, evidence, documents, settings, ours, libraries)


def _compared(receipt: Receipt, context: JobContext) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    documents = Sources(context).documents
    evidence = [_fault(quote, documents.get((quote.collection, quote.document_id))) for quote in receipt.quotes]
    settings = settings_compared(context, receipt.kind, recipe_of(receipt.kind))
    return (
        tuple(filter(None, evidence)),
        tuple(_documents(receipt.documents, documents_read(context))),
        tuple(
            f"{name}: {_short(was)}, now {_short(now)}" for name, was, now in _differences(receipt.settings, settings)
        ),
    )


def _output(path: Path, receipt: Receipt) -> tuple[str, ...]:
    if not path.is_file():
        return (f"{path.name} is gone",)
    return () if hash_of(path) == receipt.output_hash else (f"{path.name} was changed after it was written",)


def _fault(quote: QuoteTaken, document: CorpusDocument | None) -> str:
    """Why a quote does not stand any more; empty if it does."""
    where = f"{quote.collection}: {quote.source}, characters {quote.span[0]} to {quote.span[1]}"
    start, end = quote.span
    if document is None:
        return f"{where}: the document is gone"
    if quote_hash(document.text[start:end]) != quote.quote_hash:
        return f"{where}: other words stand there"
    page = document.outline.page_at(start)
    return "" if page == quote.page else f"{where}: on page {page}, no more on page {quote.page}"


def _documents(before: tuple[DocumentRead, ...], after: tuple[DocumentRead, ...]) -> list[str]:
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
    """Keys by their whole name whose values differ; None stands for a key that there is not."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return [] if before == after else [(prefix, before, after)]
    found = []
    for key in sorted({*before, *after}):
        name = f"{prefix}.{key}" if prefix else key
        found += _differences(before.get(key), after.get(key), name)
    return found


def _short(value: object) -> str:
    text = "none" if value in (None, "") else str(value)
    return text if len(text) <= 80 else text[:77] + "..."
