"""Which rows a job wrote that rest on text which has changed since."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from elt_llm_core.collection import open_generation
from elt_llm_core.errors import UnknownCollection
from elt_llm_core.settings_loader import LoadedSettings
from elt_llm_core.state.reviews import JobReviews, KeptReview
from elt_llm_core.state.rows import JobName, JobRows, Place
from elt_llm_core.store.database import Database
from elt_llm_core.store.store import open_store

from elt_llm_consumer.corpus import CorpusDocument, read_corpus
from elt_llm_consumer.job_file import JobFile
from elt_llm_consumer.rows import Evidence, Row


@dataclass(frozen=True)
class StaleRow:
    """A row whose source text changed; `changes` say where and how, a sentence each."""

    table: str
    key: str
    name: str
    status: str
    changes: tuple[str, ...]


def read_sources(file: JobFile, loaded: LoadedSettings) -> dict[tuple[str, str], CorpusDocument]:
    """Every document that a job reads, by collection and id; none of a collection that is gone. Needs no model."""
    found: dict[tuple[str, str], CorpusDocument] = {}
    with open_store(loaded.data_dir) as store:
        for name in file.spec.sources.collections:
            with suppress(UnknownCollection), open_generation(store, name) as generation:
                documents = read_corpus([generation]).documents
                found |= {(it.collection, it.document_id): it for it in documents}
    return found


def stale_rows(state: Database, name: JobName, documents: Mapping[tuple[str, str], CorpusDocument]) -> list[StaleRow]:
    """Rows, as last written, under which the text has changed; `documents` are what there is, by collection and id."""
    reviews = JobReviews(state).all(name)
    found = []
    for place, shown in JobRows(state).shown(name).items():
        row = Row.model_validate_json(shown.content)
        changes = tuple(dict.fromkeys(_changes(row, documents)))
        if changes:
            found.append(StaleRow(place.table, place.key, row.name, _status(reviews, place), changes))
    return found


def _status(reviews: Mapping[Place, KeptReview], place: Place) -> str:
    return reviews[place].status if place in reviews else "PENDING"


def _changes(row: Row, documents: Mapping[tuple[str, str], CorpusDocument]) -> Iterator[str]:
    for evidence in row.evidence:
        change = _change(evidence, documents.get((evidence.collection, evidence.document_id)))
        if change:
            yield f"{evidence.place}: {change}"


def _change(evidence: Evidence, document: CorpusDocument | None) -> str:
    start, end = evidence.span
    if document is None:
        return "the document is gone"
    if document.text[start:end] == evidence.quote:
        if document.outline.page_at(start) != evidence.page:
            return f"the quote is on page {document.outline.page_at(start)} now"
        return "" if document.document_hash == evidence.document_hash else "the document changed, the quote stands"
    return "the quote stands elsewhere" if evidence.quote in document.text else "the quote is gone"
