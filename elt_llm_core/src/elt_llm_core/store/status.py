"""What a collection holds, in one value."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import Store


@dataclass(frozen=True)
class CollectionStatus:
    """A collection as people ask about it. Sizes are bytes.

    `artefacts` are the kinds of them; `duplicates` counts documents with the bytes of another one, which are indexed
    once; `forgotten` those that ingest leaves out.
    """

    collection: str
    generation: int | None
    published_at: str | None
    rolled_back: bool
    documents: int
    nodes: int
    collection_hash: str
    kept_generations: tuple[int, ...]
    embedding: str
    dimension: int
    language: str
    chunker: str
    size: int
    roots: tuple[str, ...]
    last_run: str | None
    unfinished_run: bool
    artefacts: tuple[str, ...]
    duplicates: int
    forgotten: int
    files_in_trouble: tuple[dict[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """The status as plain values."""
        return asdict(self)


def collection_status(store: Store, record: CollectionRecord) -> CollectionStatus:
    """The status of a collection, from its rows and the size of its folder."""
    rows = store.generations.of_collection(record.id)
    seen = next((row for row in rows if row.number == record.published), None)
    passport: dict[str, Any] = json.loads(seen.passport) if seen else {}
    embedding = passport.get("fingerprint", {})
    last = store.collections.last_run(record.id)
    versions = store.generations.versions(record.id, seen.number) if seen else []
    return CollectionStatus(
        collection=record.name,
        generation=record.published,
        published_at=seen.created_at if seen else None,
        rolled_back=record.rolled_back,
        documents=seen.documents if seen else 0,
        nodes=seen.nodes if seen else 0,
        collection_hash=seen.collection_hash.hex() if seen else "",
        kept_generations=tuple(row.number for row in rows),
        embedding=f"{embedding.get('provider')} {embedding.get('model')}" if embedding else "-",
        dimension=int(embedding.get("dimension", 0)),
        language=passport.get("language", "-"),
        chunker=passport.get("chunker", "-"),
        size=_size(store, record.name),
        roots=tuple(f"{name} = {path}" for name, (path, _) in store.collections.roots(record.id).items()),
        last_run=(last.finished_at or last.started_at) if last else None,
        unfinished_run=bool(last and not last.finished_at),
        artefacts=tuple(sorted({name for name, _, _ in store.documents.artefacts(versions)})),
        duplicates=len(versions) - len(store.documents.indexed(versions)),
        forgotten=store.forgotten.count(record.id),
        files_in_trouble=tuple(
            {"path": file.path, "outcome": file.outcome, "reason": file.reason}
            for file in store.files.of_collection(record.id).values()
            if file.outcome in ("failed", "empty")
        ),
    )


def _size(store: Store, name: str) -> int:
    folder = store.folder(name)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
