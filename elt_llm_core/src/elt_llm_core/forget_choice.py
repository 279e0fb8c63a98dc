"""Which documents a request to forget one means; needs no heavy library, for it is asked before the lock is taken."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.errors import UsageError
from elt_llm_core.nearest_names import nearest_names
from elt_llm_core.store.doomed import KnownFile, known_files, part_named
from elt_llm_core.store.forgotten import name_digest
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
