"""Forget documents: remove their texts, vectors and index entries, and make later ingests skip them."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from elt_llm_core.collection.lifecycle import generation_recipe, open_generation, publish, remove_leftovers
from elt_llm_core.errors import StoreError
from elt_llm_core.progress import ProgressListener
from elt_llm_core.state.erasure import erase_forgotten
from elt_llm_core.store import forget_selection
from elt_llm_core.store.documents import ForgottenIdentities
from elt_llm_core.store.erasure import store_samples, take_samples
from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import Store
from elt_llm_core.store.uploads import delete_forgotten_uploads
from elt_llm_core.utilities import Failpoint, failpoint


@dataclass(frozen=True)
class ForgetReport:
    """The result of forgetting documents. `pinned` are deleted generations whose files a reader still has open."""

    collection: str
    documents: tuple[str, ...]
    chunks: int
    generation: int | None
    deleted_generations: tuple[int, ...]
    pinned: tuple[int, ...]
    turns: int = 0
    """The number of deleted conversation turns that showed a forgotten document."""
    rows: int = 0
    """The number of deleted job rows that quoted a forgotten document."""
    reviews: int = 0
    """The number of reviews deleted, or left without comment, because their row quoted a forgotten document."""
    uploads: int = 0
    """The number of deleted uploaded files."""
    elsewhere: tuple[str, ...] = ()
    """The documents of other collections with the same text, which are kept: ("hr: secret.md",)."""


def forget(
    store: Store,
    name: str,
    reference: str,
    progress: ProgressListener,
    *,
    asked_at: float | None = None,
    alone: bool = False,
) -> ForgetReport:
    """Publish a generation without the documents that `reference` names, and delete all generations that contain them.

    Their uploads are deleted too, except those newer than `asked_at` (seconds since 1970; default now). With `alone`,
    identical documents are kept, such as those of another tenant. The caller must hold the writer's lock. After a
    crash, the call can be repeated. Raises StoreError if the published generation still contains one of the documents.
    """
    remove_leftovers(store)
    record = store.collections.get(name)
    remembered, known = _remember(store, record, forget_selection.select_to_forget(store, name, reference, alone=alone))
    identities = sorted({file.document_id for file in known})
    doomed = forget_selection.versions_to_forget(store, record.id, identities, remembered.content_hashes)
    node_ids = [node.node_id for node in store.nodes.of_versions(doomed)]
    elsewhere = _publish_without(store, record, doomed, progress)
    with failpoint(Failpoint.FORGET):
        numbers = forget_selection.delete_forgotten_versions(store, record.id, identities, doomed)
        erased = erase_forgotten(store, name, remembered.document_ids)
        uploads = delete_forgotten_uploads(store, name, before=time.time() if asked_at is None else asked_at)
    pinned = tuple(it for it in numbers if not store.discard_files(record, it))
    _check_no_traces(store, name, identities, node_ids)
    return ForgetReport(
        collection=name,
        documents=tuple({file.document_id: file.path for file in known}.values()),
        chunks=len(node_ids),
        generation=store.collections.get(name).published,
        deleted_generations=tuple(numbers),
        pinned=pinned,
        uploads=uploads,
        elsewhere=elsewhere,
        **asdict(erased),
    )


def _remember(
    store: Store, record: CollectionRecord, chosen: Sequence[forget_selection.KnownFile]
) -> tuple[ForgottenIdentities, list[forget_selection.KnownFile]]:
    """Record these files as forgotten. Return the ids, hashes and files of all documents that are now forgotten."""
    with failpoint(Failpoint.FORGET):
        store.forgotten.add(record.id, [file.forgotten() for file in chosen])
    remembered = store.forgotten.all(record.id)
    return remembered, forget_selection.known_files(store, record.id, remembered.document_ids)


def _publish_without(
    store: Store, record: CollectionRecord, doomed: Sequence[int], progress: ProgressListener
) -> tuple[str, ...]:
    """Publish a generation without these versions, and store samples of them. Return their copies elsewhere."""
    with failpoint(Failpoint.FORGET):
        _publish_rest(store, record, doomed, progress)
    store_samples(store, take_samples(store, doomed))
    return tuple(forget_selection.copies_elsewhere(store, record.id, doomed))


def _publish_rest(store: Store, record: CollectionRecord, doomed: Sequence[int], progress: ProgressListener) -> None:
    """If the published generation contains any of these versions, publish a new generation without them."""
    if record.published is None:
        return
    present = store.generations.versions(record.id, record.published)
    left = sorted(set(present) - set(doomed))
    if len(left) < len(present):
        recipe = generation_recipe(store.generations.get(record.id, record.published))
        try:
            publish(store, record.name, left, recipe, progress, rolled_back=record.rolled_back)
        except StoreError as error:
            raise StoreError(
                f"{error} The document is recorded as forgotten, so the next ingest leaves it out; until"
                " then, answers may still quote it.",
                hint=error.hint,
            ) from error


def _check_no_traces(store: Store, name: str, identities: Sequence[str], node_ids: Sequence[str]) -> None:
    """Raise StoreError if the published generation still contains one of these documents or nodes."""
    if store.collections.get(name).published is None:
        return
    with open_generation(store, name) as generation:
        ids = getattr(generation.vector_store, "all_ids", lambda: generation.ids)()
        kept = {path.stem for path in (generation.directory / "artefacts").glob("*/*.json")}
        documents = {document.document_id for document in generation.documents()}
        left = {*node_ids} & {*generation.ids, *ids} | {*identities} & (kept | documents)
        if left:
            raise StoreError(
                f"{len(left)} documents or chunks to forget are still in generation {generation.number} of '{name}'.",
                hint=f"Run: elt-llm verify -c {name}, then the same command again.",
            )
