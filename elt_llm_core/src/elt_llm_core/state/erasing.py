"""Taking out of conversations, rows and reviews what was said of documents that are gone: they hold their words."""

import json
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass

from elt_llm_core.erased_samples import is_published
from elt_llm_core.results import Citation, QueryResult, RetrievedChunk
from elt_llm_core.state.calibrations import Calibrations
from elt_llm_core.state.database import STATE_NAME, open_state
from elt_llm_core.state.feedback import Feedback
from elt_llm_core.state.job_queue import JobQueue
from elt_llm_core.state.reviews import JobReviews
from elt_llm_core.state.rows import ANY_DOCUMENT, JobRows, Quoted
from elt_llm_core.state.sessions import Sessions
from elt_llm_core.state.trace_files import erase_lines
from elt_llm_core.store.database import Database
from elt_llm_core.store.erasing import compact
from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import Store

Shown = Quoted
"""Collection, document id and hash of a document that a result quotes or lists."""


@dataclass(frozen=True)
class Erased:
    """How many turns of conversations, rows of jobs and reviews of rows were erased."""

    turns: int = 0
    rows: int = 0
    reviews: int = 0


@dataclass(frozen=True)
class _Doom:
    """What is to be erased: whatever quotes one of the documents that `is_gone` names, or says one of the words."""

    is_gone: Callable[[Quoted], bool]
    words: Sequence[str] = ()

    def of_result(self, result: QueryResult) -> bool:
        return any(map(self.is_gone, shown_in(result))) or self._says(result.model_dump_json() if self.words else "")

    def of_row(self, documents: frozenset[Quoted], text: str) -> bool:
        return any(map(self.is_gone, documents)) or self._says(text)

    def erase(self, state: Database) -> Erased:
        Feedback(state).erase(self.of_row)
        erase_lines(state.path.parent, self.of_row)
        return Erased(
            Sessions(state).erase(self.of_result),
            JobRows(state).erase(self.of_row),
            JobReviews(state).erase(self.of_row),
        )

    def _says(self, text: str) -> bool:
        """Whether JSON or plain text has one of the words."""
        folded = text.casefold() if self.words else ""
        return any(form.casefold() in folded for word in self.words for form in (word, _in_json(word)))


def erase_forgotten(store: Store, collection: str, document_ids: Collection[str]) -> Erased:
    """Delete every turn, row, review, opinion and trace that shows one of these documents. Raises StoreError."""

    def is_gone(quoted: Quoted) -> bool:
        return quoted[0] == collection and (quoted[1] in document_ids or quoted[1] == ANY_DOCUMENT)

    return _with_state(store, _Doom(is_gone).erase)


def erase_unpublished(store: Store, chosen: Sequence[CollectionRecord], samples: Sequence[str]) -> Erased:
    """Delete what shows anything but what these collections publish, or are left to publish; then its bytes.

    So goes every turn, row and review with one of `samples` in it, words of what was erased, unless what is published
    says them too. Returns how many there were. Raises StoreError, as `compact` does.
    """
    published = {
        (record.name, document.document_id, document.document_hash)
        for record in chosen
        for document in store.documents.in_generation(record.id, record.published or 0)
    }
    there = {record.name for record in store.collections.all()}
    others = there - {record.name for record in chosen}

    def is_gone(quoted: Quoted) -> bool:
        if quoted[1] == ANY_DOCUMENT:
            return quoted[0] not in there or (bool(samples) and quoted[0] not in others)
        return quoted not in published and quoted[0] not in others

    def erase(state: Database) -> Erased:
        erased = _Doom(is_gone, [sample for sample in samples if not is_published(store, sample)]).erase(state)
        JobQueue(state).forget_ended()  # they name files, and nobody waits for them
        compact(state)
        return erased

    return _with_state(store, erase)


def erase_dropped(store: Store, collection: str) -> Erased:
    """Drop what was fitted to a collection that is dropped, and the rows and reviews that quote it. Raises StoreError.

    Turns about it go with the next purge.
    """
    doom = _Doom(lambda quoted: quoted[0] == collection)

    def erase(state: Database) -> Erased:
        Calibrations(state).forget(collection)
        Feedback(state).erase(doom.of_row)
        return Erased(rows=JobRows(state).erase(doom.of_row), reviews=JobReviews(state).erase(doom.of_row))

    return _with_state(store, erase)


def shown_in(result: QueryResult) -> set[Shown]:
    """The documents that a result quotes or lists."""
    places: list[Citation | RetrievedChunk] = [*result.citations, *result.contexts]
    return {(it.collection, it.source_id, it.document_hash) for it in places}


def _in_json(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)[1:-1]


def _with_state(store: Store, work: Callable[[Database], Erased]) -> Erased:
    """Nothing to do where nothing was ever asked of a document."""
    if not (store.data_dir / STATE_NAME).exists():
        return Erased()
    with closing(open_state(store.data_dir)) as state:
        return work(state)
