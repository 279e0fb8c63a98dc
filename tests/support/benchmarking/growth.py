"""A collection of any size, stored without reading files, and the time to publish changes of it."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import NAMESPACE_URL, uuid5

from benchmarking.corpus import PASSAGES_A_FILE, YEARS, GeneratedVectors, Source, generated_chunk
from elt_llm_core.collection.lifecycle import PublishedGeneration, collect_garbage, publish
from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import Settings
from elt_llm_core.store.records import MetadataValue, NewDocument, NewNode, document_id, sha256
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import KeywordTokeniser
from elt_llm_ingest.run.versions import embed_missing

SHELVES = 1000  # values of the field `shelf`; each file has one, so each value selects a thousandth of the files
_FILES_AT_ONCE = 50  # stored in one transaction
_TOPICS = ("law", "tides", "music", "trade", "soil")


@dataclass
class Clock:
    """CPU seconds of this process and seconds of the wall clock, by stage."""

    cpu: dict[str, float] = field(default_factory=dict)
    wall: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the block."""
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.cpu[name] = time.process_time() - cpu
        self.wall[name] = time.perf_counter() - wall

    def __str__(self) -> str:
        """Return the CPU seconds, with those of the wall clock in brackets."""
        total = f"{sum(self.cpu.values()):.2f} ({sum(self.wall.values()):.2f})"
        return f"{total} = " + ", ".join(f"{name} {self.cpu[name]:.2f} ({self.wall[name]:.2f})" for name in self.cpu)


class GrowingLibrary:
    """A collection of generated chunks; a file has twenty of them."""

    def __init__(self, store: Store, name: str, source: Source, model: EmbeddingModel) -> None:
        self._store, self._source, self._settings = store, source, Settings()
        self._vectors = GeneratedVectors(source, model)
        self._tokeniser = KeywordTokeniser()
        self._record = store.collections.create(name)
        self._recipe = GenerationRecipe(
            model.fingerprint, "bench-1", self._tokeniser, self._settings.chroma, self._settings.storage.graph_from
        )

    def add(self, files: Sequence[int], first: int) -> list[int]:
        """Store the files with these numbers, and the vectors of their chunks, which are numbered from `first` on."""
        versions: list[int] = []
        for start in range(0, len(files), _FILES_AT_ONCE):
            batch = files[start : start + _FILES_AT_ONCE]
            texts: list[str] = []
            with self._store.database.transaction():
                for number in batch:
                    document = self._document(number, first)
                    versions.append(self._store.documents.add_within(self._record.id, document))
                    texts += [node.embedded_text for node in document.nodes]
                    first += PASSAGES_A_FILE
                hashes = [sha256(text) for text in texts]
                vectors = self._vectors.embed_texts(texts)
                self._store.vectors.add_within(self._recipe.fingerprint.key, hashes, vectors)
        return versions

    def publish(self, versions: Sequence[int]) -> tuple[PublishedGeneration, Clock]:
        """Publish these document versions as an ingest does. All their chunks have vectors already."""
        clock, store, listener = Clock(), self._store, SilentListener()
        with clock.stage("vectors looked up"):
            embed_missing(store, versions, self._vectors, self._settings.embedding.batch_size, listener)
        with clock.stage("published"):
            published = publish(store, self._record.name, versions, self._recipe, listener)
        with clock.stage("garbage collected"):
            collect_garbage(store, self._settings.storage.keep_generations)
        return published, clock

    def _document(self, number: int, first: int) -> NewDocument:
        path = f"file-{number:05}.md"
        identity = document_id(self._record.name, "bench", path)
        nodes, start = [], 0
        for place in range(first, first + PASSAGES_A_FILE):
            text = f"{place:07} {generated_chunk(self._source, place).text}"
            stems = " ".join(self._tokeniser.stems(text))
            metadata: dict[str, MetadataValue] = {"kind": "text", "topics": [_TOPICS[place % 5], _TOPICS[place % 3]]}
            node_id = str(uuid5(NAMESPACE_URL, f"{identity}/{text}"))
            section = f"Library {number} > {place:07}"
            nodes.append(NewNode(node_id, start, start + len(text), text, "", None, section, metadata, stems))
            start += len(text) + 1
        whole = "\n".join(node.text for node in nodes)
        return NewDocument(
            document_id=identity,
            root="bench",
            path=path,
            content_hash=sha256(whole),
            size=len(whole),
            reader="bench-1",
            chunker="bench-1",
            tokeniser=self._tokeniser.fingerprint,
            outcome="ok",
            title=f"Library {number}",
            text=whole,
            pages=(),
            metadata={"year": YEARS[number % len(YEARS)], "shelf": number % SHELVES},
            notes=(),
            nodes=tuple(nodes),
        )
