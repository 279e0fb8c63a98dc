"""Put documents into a store without parsing files, and publish them."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.collection.lifecycle import PublishedGeneration, publish
from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import ChromaSettings, IndexSettings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.backups import backup_faults
from elt_llm_core.store.database import SqliteDatabase, find_damage
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.records import NewDocument, NewNode, document_id, sha256
from elt_llm_core.store.store import Store, open_store
from elt_llm_core.text.stems import KeywordTokeniser

COLLECTION = "library"
WORDS = [
    "anchor",
    "basin",
    "canal",
    "delta",
    "estuary",
    "ferry",
    "gauge",
    "harbour",
    "island",
    "jetty",
    "keel",
    "lagoon",
    "mooring",
    "nautical",
    "oar",
    "pier",
    "quay",
    "reef",
    "sluice",
    "tide",
    "undertow",
    "vessel",
    "wharf",
    "yawl",
    "buoy",
    "current",
    "dredge",
    "ebb",
    "flood",
    "gale",
    "hull",
    "inlet",
    "lock",
    "mast",
    "navigator",
]


@dataclass(frozen=True)
class StoredLibrary:
    """A data directory, and the hashes of its two generations, oldest first."""

    data_dir: Path
    hashes: tuple[str, str]


class Notes(SilentListener):
    """Collects notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        """Record a note."""
        self.notes.append(message)


@contextmanager
def writing(place: Path | Workspace, listener: Callable[[str], None] | None = None) -> Iterator[Store]:
    """Open the store for writing under its lock; `listener` gets each SQL statement before it runs."""
    with writer_lock(place, "test"), open_store(place, for_writing=True) as store:
        if isinstance(store.database, SqliteDatabase):
            store.database._connection.set_trace_callback(listener)
        yield store


def store_faults(store: Store) -> list[str]:
    """Return what is wrong with the store: damaged rows and pages, and faults of backups."""
    return [*find_damage(store.database), *backup_faults(store.data_dir)]


def sentence(number: int, length: int = 6) -> str:
    """Return a sentence that is unique for this number."""
    chosen = [WORDS[(number * 7 + place * (number % 5 + 3)) % len(WORDS)] for place in range(length)]
    return f"Entry {number}: {' '.join(chosen)}."


def some_documents(count: int, chunks: int = 4, first: int = 0) -> dict[str, list[str]]:
    """Return texts of chunks by path; all texts differ."""
    return {
        f"page-{number:03}.md": [sentence(number * chunks + place) for place in range(chunks)]
        for number in range(first, first + count)
    }


def new_document(
    path: str, texts: Sequence[str], collection: str = COLLECTION, tokeniser: KeywordTokeniser | None = None
) -> NewDocument:
    """Return a document whose lines are the chunks `texts`; node ids depend only on path and text."""
    using = tokeniser or KeywordTokeniser()
    identity = document_id(collection, "shelf", path)
    nodes, start = [], 0
    for text in texts:
        nodes.append(
            NewNode(
                node_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{identity}/{text}")),
                start=start,
                end=start + len(text),
                text=text,
                context="",
                page=None,
                section=None,
                metadata={},
                stems=" ".join(using.stems(text)),
            )
        )
        start += len(text) + 1
    whole = "\n".join(texts)
    return NewDocument(
        document_id=identity,
        root="shelf",
        path=path,
        content_hash=sha256(whole),
        size=len(whole),
        reader="plain-1",
        chunker="line-1",
        tokeniser=using.fingerprint,
        outcome="ok" if nodes else "empty",
        title=Path(path).stem,
        text=whole,
        pages=(),
        metadata={},
        notes=(),
        nodes=tuple(nodes),
    )


def recipe_of(
    embedding: EmbeddingModel, chroma: ChromaSettings | None = None, index: IndexSettings | None = None
) -> GenerationRecipe:
    """Return the recipe (how a generation is built) with which `put` publishes."""
    return GenerationRecipe(
        embedding.fingerprint,
        "line-1",
        KeywordTokeniser(),
        chroma or ChromaSettings(),
        index=index or IndexSettings(),
    )


def stored_versions(
    store: Store,
    documents: Mapping[str, Sequence[str]],
    embedding: EmbeddingModel,
    name: str = COLLECTION,
    document_of: Callable[[str, Sequence[str], str], NewDocument] | None = None,
) -> list[int]:
    """Return the versions of these documents; new versions are stored and embedded.

    `document_of` makes a document from its path, the texts of its chunks and the collection.
    """
    record = store.collections.create(name)
    versions = []
    for path, texts in documents.items():
        document = (document_of or new_document)(path, texts, name)
        versions.append(store.documents.find(document.key) or store.documents.add(record.id, document))
    wanted = store.nodes.to_embed(versions)
    missing = store.vectors.missing(embedding.fingerprint.key, wanted)
    if missing:
        vectors = embedding.embed_texts([wanted[digest] for digest in missing])
        store.vectors.add(embedding.fingerprint.key, missing, vectors)
    return versions


def put(
    store: Store,
    documents: Mapping[str, Sequence[str]],
    embedding: EmbeddingModel | None = None,
    *,
    name: str = COLLECTION,
    afresh: bool = False,
    index: IndexSettings | None = None,
    document_of: Callable[[str, Sequence[str], str], NewDocument] | None = None,
) -> PublishedGeneration:
    """Publish a generation with exactly these documents; `index` says where vectors are searched."""
    model = embedding or FakeEmbedding()
    versions = stored_versions(store, documents, model, name, document_of)
    return publish(store, name, versions, recipe_of(model, index=index), SilentListener(), afresh=afresh)
