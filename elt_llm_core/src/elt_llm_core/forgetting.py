"""Forgetting a document: out of every index, text and vector, and left out by every later ingest."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.collection import clear_leftovers, open_generation, publish, recipe_of
from elt_llm_core.erased_samples import take_samples
from elt_llm_core.errors import StoreError
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.forget_choice import choose_to_forget
from elt_llm_core.forgotten_samples import keep_samples
from elt_llm_core.progress import Progress
from elt_llm_core.state.erasing import erase_forgotten
from elt_llm_core.store.doomed import delete_doomed, doomed_versions, known_files
from elt_llm_core.store.pins import discard
from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import Store
from elt_llm_core.store.uploads import delete_forgotten_uploads


@dataclass(frozen=True)
class ForgetReport:
    """What was forgotten. `pinned` are generations that a reader still has open; they go when it lets go."""

    collection: str
    documents: tuple[str, ...]
    passages: int
    generation: int | None
    deleted_generations: tuple[int, ...]
    pinned: tuple[int, ...]
    turns: int = 0
    """Turns of conversations that showed it, and are gone."""
    rows: int = 0
    """Rows of jobs that quoted it, and are gone."""
    reviews: int = 0
    """Reviews of such rows: gone, or left without what was said."""
    uploads: int = 0
    """Files that had been uploaded, and are deleted."""


def forget(
    store: Store, name: str, reference: str, progress: Progress, *, asked_at: float | None = None
) -> ForgetReport:
    """Remove what `choose_to_forget` finds: a new generation without it is published, every other with it deleted.

    Its upload goes, too, unless it came after `asked_at` (seconds since 1970; unset: now). The caller holds the
    writer's lock. A crash at any moment is mended by repeating it. Raises StoreError if a trace is left.
    """
    clear_leftovers(store)
    record = store.collections.get(name)
    choice = choose_to_forget(store, name, reference)
    with stage(Stage.FORGET):
        store.forgotten.add(record.id, [file.forgotten() for file in choice.files])
    remembered = store.forgotten.all(record.id)  # also of an earlier one that was cut off
    known = [file for file in known_files(store, record.id) if file.document_id in remembered.document_ids]
    identities = sorted({file.document_id for file in known})
    doomed = doomed_versions(store, record.id, identities, remembered.content_hashes)
    node_ids = [node.node_id for node in store.nodes.of_versions(doomed)]
    with stage(Stage.FORGET):
        _publish_without(store, record, doomed, progress)
    keep_samples(store, take_samples(store, doomed))
    with stage(Stage.FORGET):
        numbers = delete_doomed(store, record.id, identities, doomed)
        erased = erase_forgotten(store, name, remembered.document_ids)
        uploads = delete_forgotten_uploads(store, name, before=time.time() if asked_at is None else asked_at)
    pinned = [it for it in numbers if not discard(store.folder(name) / str(it), store.trash)]
    _refuse_traces(store, name, identities, node_ids)
    return ForgetReport(
        collection=name,
        documents=tuple(dict.fromkeys(file.path for file in known)),
        passages=len(node_ids),
        generation=store.collections.get(name).published,
        deleted_generations=tuple(numbers),
        pinned=tuple(pinned),
        turns=erased.turns,
        rows=erased.rows,
        reviews=erased.reviews,
        uploads=uploads,
    )


def _publish_without(store: Store, record: CollectionRecord, doomed: Sequence[int], progress: Progress) -> None:
    """Publish what readers see but for these versions, if it has one of them."""
    if record.published is None:
        return
    present = store.generations.versions(record.id, record.published)
    left = sorted(set(present) - set(doomed))
    if len(left) < len(present):
        recipe = recipe_of(store.generations.get(record.id, record.published))
        publish(store, record.name, left, recipe, progress, rolled_back=record.rolled_back)


def _refuse_traces(store: Store, name: str, identities: Sequence[str], node_ids: Sequence[str]) -> None:
    """Raises StoreError if the published generation still knows one of these documents or nodes."""
    if store.collections.get(name).published is None:
        return
    with open_generation(store, name) as generation:
        ids = getattr(generation.vector_store, "all_ids", lambda: generation.ids)()
        kept = {path.stem for path in (generation.directory / "artefacts").glob("*/*.json")}
        documents = {document.document_id for document in generation.documents()}
        left = {*node_ids} & {*generation.ids, *ids} | {*identities} & (kept | documents)
        if left:
            raise StoreError(
                f"{len(left)} traces are left in generation {generation.number} of '{name}'.",
                hint=f"Run: elt-llm verify -c {name}, then the same command again.",
            )
