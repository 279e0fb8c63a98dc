"""Forgetting a document: out of every index, text and vector, and left out by every later ingest."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.collection import clear_leftovers, open_generation, publish, recipe_of
from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.failpoints import Stage, stage
from elt_llm_core.nearest_names import nearest_names
from elt_llm_core.progress import Progress
from elt_llm_core.store.doomed import KnownFile, delete_doomed, doomed_versions, known_files, part_named
from elt_llm_core.store.forgotten import name_digest
from elt_llm_core.store.pins import discard
from elt_llm_core.store.records import CollectionRecord, document_id
from elt_llm_core.store.store import Store


@dataclass(frozen=True)
class Choice:
    """What one request would forget: the files' rows, no two of one path alike; empty if that was done before."""

    files: tuple[KnownFile, ...]

    @property
    def paths(self) -> list[str]:
        """The documents by name, each once."""
        return list(dict.fromkeys(file.path for file in self.files))


@dataclass(frozen=True)
class ForgetReport:
    """What was forgotten. `pinned` are generations that a reader still has open; they go when it lets go."""

    collection: str
    documents: tuple[str, ...]
    passages: int
    generation: int | None
    deleted_generations: tuple[int, ...]
    pinned: tuple[int, ...]


def choose_to_forget(store: Store, name: str, reference: str) -> Choice:
    """The document with this id, path, file name or title, and every other one of the collection with its bytes.

    Raises UsageError if several documents are meant, if it is a part of a file, or if there is none and never was.
    """
    record = store.collections.get(name)
    known = known_files(store, record.id)
    chosen = _named(known, reference, name)
    if not chosen:
        _refuse_unless_forgotten(store, record, reference, known)
        return Choice(())
    hashes = {file.content_hash for file in chosen if file.present and file.size}
    identities = {file.document_id for file in chosen} | {
        file.document_id for file in known if file.present and file.content_hash in hashes
    }
    return Choice(tuple(file for file in known if file.document_id in identities))


def forget(store: Store, name: str, reference: str, progress: Progress) -> ForgetReport:
    """Remove what `choose_to_forget` finds: a new generation without it is published, every other with it deleted.

    The caller holds the writer's lock. A crash at any moment is mended by repeating it. Raises StoreError if a trace
    is left.
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
    with stage(Stage.FORGET):
        numbers = delete_doomed(store, record.id, identities, doomed)
    pinned = [it for it in numbers if not discard(store.folder(name) / str(it), store.trash)]
    _refuse_traces(store, name, identities, node_ids)
    return ForgetReport(
        collection=name,
        documents=tuple(dict.fromkeys(file.path for file in known)),
        passages=len(node_ids),
        generation=store.collections.get(name).published,
        deleted_generations=tuple(numbers),
        pinned=tuple(pinned),
    )


def _named(known: Sequence[KnownFile], reference: str, name: str) -> list[KnownFile]:
    """The rows of the one document that `reference` names, by the surest way first."""
    ways = (
        [file for file in known if file.document_id == reference],
        [file for file in known if file.path == reference],
        [file for file in known if reference == file.name],
        [file for file in known if reference == file.title and file.present],
    )
    found = next(filter(None, ways), [])
    by_identity = {file.document_id: file.path for file in found}
    if len(by_identity) > 1:
        raise UsageError(
            f"'{reference}' names {len(by_identity)} documents of '{name}'.",
            hint="Use an id: " + ", ".join(f"{it} ({path})" for it, path in sorted(by_identity.items())[:5]),
        )
    return [file for file in known if file.document_id in by_identity]


def _refuse_unless_forgotten(
    store: Store, record: CollectionRecord, reference: str, known: Sequence[KnownFile]
) -> None:
    if part := part_named(store, record.id, reference):
        raise UsageError(
            f"'{part[0]}' is a part of a file; only the whole file can be forgotten.",
            hint=f"Run: elt-llm forget '{part[1]}' -c {record.name}",
        )
    remembered = store.forgotten.all(record.id)
    roots = store.collections.roots(record.id)
    identities = {reference, *(document_id(record.name, root, reference) for root in roots)}
    if not identities & remembered.document_ids and name_digest(reference) not in remembered.names:
        raise UsageError(
            f"There is no document '{reference}' in '{record.name}'.",
            hint=nearest_names(reference, sorted({file.path for file in known})),
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
