"""What a finished row is known by: the hash of all that it was made from."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from elt_llm_core.models.writing import server_of
from elt_llm_core.state.rows import ANY_DOCUMENT, Quoted

import elt_llm_query
from elt_llm_consumer.context import JobContext
from elt_llm_consumer.corpus import Corpus, CorpusDocument
from elt_llm_consumer.hashing import hashed
from elt_llm_consumer.rows import Row
from elt_llm_consumer.tasks import Material

_LLM_SETTINGS = {"temperature", "top_p", "max_context_tokens", "answer_language"}


def model_name(context: JobContext) -> str:
    """The language model in use as receipts and keys name it; empty where none is."""
    if context.llm is None:
        return ""
    server = server_of(context.llm)
    return f"{server.name} {server.model}"


def settings_that_matter(context: JobContext, kind: str) -> dict[str, Any]:
    """The settings a row depends on beside its material: those of its kind of job, of the models, nothing else.

    How passages are searched for shows in what was found, which is in the material.
    """
    section = getattr(context.file.spec, kind, None)
    llm = context.settings.llm.model_dump(mode="json", include=_LLM_SETTINGS) if context.llm else {}
    return {
        kind: section.model_dump(mode="json") if section is not None else {},
        "llm": {**llm, "model": model_name(context)},
        "embedding": str(context.embedding.fingerprint),
        "alias_columns": list(context.file.spec.sources.alias_columns),
    }


class RowKeys:
    """Hashes materials of one job, with one model and one set of settings."""

    def __init__(self, context: JobContext, kind: str, recipe: int) -> None:
        self._written_by = f"recipe {recipe}" if context.llm else ""
        self._code = f"program {code_hash()}"
        self._fixed = {
            "kind": kind,
            "settings": settings_that_matter(context, kind),
            "embedding": context.embedding.fingerprint.key.hex(),
        }

    def of(self, material: Material) -> str:
        """SHA-256, 64 hex digits, equal for equal material, settings and model.

        A row that no model writes costs little: any other version of the program makes it anew.
        """
        made_by = self._written_by if self._written_by and material.prompts else self._code
        return hashed({**self._fixed, "made_by": made_by, "inputs": material.inputs, "prompts": list(material.prompts)})


class Sources:
    """The documents that a job reads, of texts, model and inventory."""

    def __init__(self, context: JobContext) -> None:
        structured = [one.corpus for one in (context.model, context.inventory) if one is not None]
        self.corpora: tuple[Corpus, ...] = (context.corpus, *structured)

    @cached_property
    def documents(self) -> dict[tuple[str, str], CorpusDocument]:
        """Every document by collection and id."""
        return {(it.collection, it.document_id): it for corpus in self.corpora for it in corpus.documents}

    @cached_property
    def _by_id(self) -> dict[str, CorpusDocument]:
        return {it.document_id: it for it in self.documents.values()}

    def quoted(self, row: Row, material: Material, *, by_model: bool) -> frozenset[Quoted]:
        """Whose words a row may hold: the documents of its evidence, and those that its material names by their ids.

        What a model wrote from a material that names none may hold words of any document.
        """
        cited = {(it.collection, it.document_id, it.document_hash) for it in row.evidence}
        named = [self._by_id[text] for text in _strings(material.inputs) if text in self._by_id]
        read = {(it.collection, it.document_id, it.document_hash) for it in named}
        if by_model and not read:
            read = {(collection, ANY_DOCUMENT, "") for collection, _ in self.documents}
        return frozenset(cited | read)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


def code_hash() -> str:
    """SHA-256, 64 hex digits, of every source file of this package, and of the one that finds passages for it."""
    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(elt_llm_query.__file__ or "").parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
