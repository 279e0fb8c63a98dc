"""Taking out of conversations what was said of documents that are gone: an answer holds their words."""

import json
from collections.abc import Callable, Collection, Sequence
from contextlib import closing

from elt_llm_core.erased_samples import is_published
from elt_llm_core.results import Citation, QueryResult, RetrievedChunk
from elt_llm_core.state.calibrations import Calibrations
from elt_llm_core.state.database import STATE_NAME, open_state
from elt_llm_core.state.sessions import Sessions
from elt_llm_core.store.database import Database
from elt_llm_core.store.erasing import compact
from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import Store

Shown = tuple[str, str, str]
"""Collection, document id and hash of a document that a result quotes or lists."""


def erase_forgotten(store: Store, collection: str, document_ids: Collection[str]) -> int:
    """Delete every turn that shows one of these documents; returns how many there were. Raises StoreError."""

    def is_gone(result: QueryResult) -> bool:
        return any(name == collection and identity in document_ids for name, identity, _ in shown_in(result))

    return _with_state(store, lambda state: Sessions(state).erase(is_gone))


def erase_unpublished(store: Store, chosen: Sequence[CollectionRecord], samples: Sequence[str]) -> int:
    """Delete every turn that shows what one of these collections, or none that is left, publishes; then its bytes.

    So goes every turn with one of `samples` in it, words of what was erased, unless what is published says them too.
    Returns how many there were. Raises StoreError, as `compact` does.
    """
    published = {
        (record.name, document.document_id, document.document_hash)
        for record in chosen
        for document in store.documents.in_generation(record.id, record.published or 0)
    }
    others = {record.name for record in store.collections.all()} - {record.name for record in chosen}
    words = [sample for sample in samples if not is_published(store, sample)]

    def is_gone(result: QueryResult) -> bool:
        shown = shown_in(result)
        return any(it not in published and it[0] not in others for it in shown) or _says(result, words)

    def erase(state: Database) -> int:
        erased = Sessions(state).erase(is_gone)
        compact(state)
        return erased

    return _with_state(store, erase)


def forget_calibrations(store: Store, collection: str) -> None:
    """Drop what was fitted to a collection that is dropped. Raises StoreError."""

    def drop(state: Database) -> int:
        Calibrations(state).forget(collection)
        return 0

    _with_state(store, drop)


def shown_in(result: QueryResult) -> set[Shown]:
    """The documents that a result quotes or lists."""
    places: list[Citation | RetrievedChunk] = [*result.citations, *result.contexts]
    return {(it.collection, it.source_id, it.document_hash) for it in places}


def _says(result: QueryResult, words: Sequence[str]) -> bool:
    """Whether any part of a result has one of the words, what the search suggested among them."""
    text = result.model_dump_json().casefold() if words else ""
    return any(json.dumps(word, ensure_ascii=False)[1:-1].casefold() in text for word in words)


def _with_state(store: Store, work: Callable[[Database], int]) -> int:
    """Nothing to do where no conversation was ever held."""
    if not (store.data_dir / STATE_NAME).exists():
        return 0
    with closing(open_state(store.data_dir)) as state:
        return work(state)
