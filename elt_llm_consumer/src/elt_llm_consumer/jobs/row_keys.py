"""Compute the keys of stored rows: hashes of the gathered inputs (material), settings, models and program version."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from elt_llm_core.models.completion import model_server_of
from elt_llm_core.state.jobs import ANY_DOCUMENT, QuotedDocument
from elt_llm_core.text import languages

import elt_llm_query
from elt_llm_consumer.evidence import Row, hash_json
from elt_llm_consumer.jobs.context import JobContext
from elt_llm_consumer.jobs.corpus import Corpus, CorpusDocument
from elt_llm_consumer.jobs.tasks import RowMaterial

GENERATIONS = "generations"
"""A key in the inputs of rows that depend on the complete content of all collections of the job."""
_LLM_SETTINGS = {"temperature", "top_p", "max_context_tokens", "answer_language"}


def model_name(context: JobContext) -> str:
    """Return the name of the language model for receipts and keys; empty if the job uses none."""
    if context.llm is None:
        return ""
    server = model_server_of(context.llm)
    return f"{server.name} {server.model}"


def relevant_settings(context: JobContext, kind: str) -> dict[str, Any]:
    """Return the settings on which rows depend in addition to their inputs: those of the job kind and the models.

    Search settings are not included, because the inputs of a row already show which chunks were retrieved.
    """
    section = getattr(context.file.spec, kind, None)
    llm = context.settings.llm.model_dump(mode="json", include=_LLM_SETTINGS) if context.llm else {}
    return {
        # `search_again` is part of the inputs of the rows that it affects, so that other rows stay valid.
        kind: section.model_dump(mode="json", exclude={"search_again"}) if section is not None else {},
        "llm": {**llm, "model": model_name(context)},
        "embedding": str(context.embedding.fingerprint),
        "alias_columns": list(context.file.spec.sources.alias_columns),
    }


class RowKeys:
    """Computes the row keys of one job from the gathered inputs of a row (its material), the model and the settings."""

    def __init__(self, context: JobContext, kind: str, recipe: int) -> None:
        self._written_by = f"recipe {recipe}" if context.llm else ""
        self._code = f"program {code_hash()}"
        self._fixed = {
            "kind": kind,
            "settings": relevant_settings(context, kind),
            "embedding": context.embedding.fingerprint.key.hex(),
        }

    def of(self, material: RowMaterial) -> str:
        """Return the SHA-256, as 64 hex digits, of the inputs gathered for a row, the settings and the model.

        If no language model writes the row, its key also depends on the source code, since the row is cheap to remake.
        """
        made_by = self._written_by if self._written_by and material.prompts else self._code
        return hash_json(
            {**self._fixed, "made_by": made_by, "inputs": material.inputs, "prompts": list(material.prompts)}
        )


class SourceDocuments:
    """All documents that a job reads: those of its texts, its enterprise model and its inventory."""

    def __init__(self, context: JobContext) -> None:
        structured = [one.corpus for one in (context.model, context.inventory) if one is not None]
        self.corpora: tuple[Corpus, ...] = (context.corpus, *structured)

    @cached_property
    def documents(self) -> dict[tuple[str, str], CorpusDocument]:
        """The documents that the job reads, by collection and document id."""
        return {(it.collection, it.document_id): it for corpus in self.corpora for it in corpus.documents}

    @cached_property
    def _by_id(self) -> dict[str, CorpusDocument]:
        return {it.document_id: it for it in self.documents.values()}

    def quoted(self, row: Row, material: RowMaterial, *, by_model: bool) -> frozenset[QuotedDocument]:
        """Return the documents whose text a row may contain.

        These are the documents in its evidence, and those whose ids are in its inputs. If a language model wrote the
        row from inputs without document ids, or chose further searches for it, these are all documents of the job.
        """
        named = [self._by_id[text] for text in _strings_in(material.inputs) if text in self._by_id]
        read = {(it.collection, it.document_id, it.document_hash) for it in named}
        if by_model and (not read or GENERATIONS in material.inputs):
            read |= {(collection, ANY_DOCUMENT, "") for collection, _ in self.documents}
        return row.quoted_documents | read


def _strings_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _strings_in(inner)


@cache
def code_hash() -> str:
    """Return the SHA-256, as 64 hex digits, of the source files and word lists that rows depend on."""
    digest = hashlib.sha256()
    packages = (Path(elt_llm_query.__file__ or "").parent, Path(languages.__file__).parent)
    for folder in (Path(__file__).parents[1], *packages):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".toml"}):
            digest.update(path.read_bytes())
    return digest.hexdigest()
