"""Find the rows whose source text has changed since they were written."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.errors import UnknownCollection
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.state.jobs import JobName, JobReviewTable, JobRowTable
from elt_llm_core.store.database import Database
from elt_llm_core.store.store import open_store

from elt_llm_consumer.evidence import Evidence, Row
from elt_llm_consumer.jobs.corpus import CorpusDocument, read_corpus
from elt_llm_consumer.jobs.job_file import JobFile

_MISSING = "is missing"


@dataclass(frozen=True)
class StaleRow:
    """A row whose source text has changed. `changes` describe where and how."""

    table: str
    key: str
    name: str
    status: str
    changes: tuple[str, ...]

    @property
    def lacks_quote(self) -> bool:
        """Whether a quote or its document is missing; otherwise quotes only moved, or text around them changed."""
        return any(one.endswith(_MISSING) for one in self.changes)


@dataclass(frozen=True)
class CurrentSources:
    """The current documents of a job by collection and id, and the numbers of their stored texts by file hash."""

    documents: Mapping[tuple[str, str], CorpusDocument]
    texts: Mapping[tuple[str, str], int]
    """The number of each text by document id and hash of the file, also of earlier versions that the store has."""

    def change(self, evidence: Evidence) -> str:
        """Return how the text around a quote has changed; empty if it has not, even if the file was saved again."""
        document = self.documents.get((evidence.collection, evidence.document_id))
        start, end = evidence.span
        if document is None:
            return f"the document {_MISSING}"
        if document.text[start:end] == evidence.quote:
            if document.outline.page_at(start) != evidence.page:
                return f"the quote is on page {document.outline.page_at(start)} now"
            hashes = (evidence.document_hash, document.document_hash)
            before, now = (self.texts.get((evidence.document_id, digest)) for digest in hashes)
            is_same = hashes[0] == hashes[1] or (before is not None and before == now)
            return "" if is_same else "the document changed, the quote did not"
        return "the quote has moved" if evidence.quote in document.text else f"the quote {_MISSING}"


def read_sources(file: JobFile, loaded: LoadedSettings) -> CurrentSources:
    """Return all documents of a job, without loading a model. Missing collections are skipped."""
    found: dict[tuple[str, str], CorpusDocument] = {}
    texts: dict[tuple[str, str], int] = {}
    with open_store(loaded.workspace) as store:
        for name in file.spec.sources.collections:
            with suppress(UnknownCollection), open_generation(store, name) as generation:
                documents = read_corpus([generation]).documents
                found |= {(it.collection, it.document_id): it for it in documents}
                texts |= store.documents.text_numbers([it.document_id for it in documents])
    return CurrentSources(found, texts)


def stale_rows(state: Database, name: JobName, sources: CurrentSources) -> list[StaleRow]:
    """Return the last written rows whose source text has changed, first those with a missing quote."""
    reviews = JobReviewTable(state).all(name)
    found = []
    for place, shown in JobRowTable(state).shown(name).items():
        row = Row.model_validate_json(shown.content)
        changes: dict[str, None] = {}
        for evidence in row.evidence:
            if change := sources.change(evidence):
                changes[f"{evidence.place}: {change}"] = None
        if changes:
            status = reviews[place].status if place in reviews else "PENDING"
            ordered = sorted(changes, key=lambda one: not one.endswith(_MISSING))
            found.append(StaleRow(place.table, place.key, row.name, status, tuple(ordered)))
    return sorted(found, key=lambda one: not one.lacks_quote)
