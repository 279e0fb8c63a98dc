"""Fixtures that make generations, in memory or published in a store."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation, publish
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.index.contents import GenerationArrays
from elt_llm_core.index.fields import FilterFields
from elt_llm_core.index.keyword_index import KeywordIndex, build_keyword_index
from elt_llm_core.index.local_index import LocalIndex
from elt_llm_core.index.vector_index import ExactVectorStore
from elt_llm_core.models.embedding_model import EmbeddingModel
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.store.records import EmbeddingFingerprint, NewDocument, NewNode, StoredNode, sha256
from elt_llm_core.store.store import open_store
from elt_llm_core.text.outline import Outline
from elt_llm_core.text.stems import KeywordTokeniser
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryResult

NodeTexts = Mapping[str, str]
MakeGeneration = Callable[..., "MemoryGeneration"]


@dataclass(frozen=True)
class MemoryPassport:
    fingerprint: EmbeddingFingerprint
    chunker: str = "markdown-3:200:32:512"


class BrokenVectorStore(ExactVectorStore):
    """A vector store whose files are damaged."""

    def __init__(self, arrays: GenerationArrays) -> None:
        super().__init__(arrays)

    def query(self, query: VectorStoreQuery, **_: object) -> VectorStoreQueryResult:
        raise CorruptIndex("the vector index is damaged.", hint="Run: elt-llm verify")


@dataclass(eq=False, kw_only=True)
class MemoryGeneration(LocalIndex):
    """An in-memory generation of one-node documents; `fetched` records the ids of nodes whose text was read."""

    collection: str
    passport: MemoryPassport
    stored: dict[str, StoredNode]
    notes: tuple[str, ...] = ()
    fetched: list[str] = field(default_factory=list)
    number: int = 1

    @property
    def identity(self) -> str:
        return f"{self.collection} {id(self)}"

    def stems(self, node_ids: Sequence[str]) -> list[list[str]]:
        return [self.keyword.tokeniser.stems(self.stored[node_id].text) for node_id in node_ids]

    def nodes(self, node_ids: Sequence[str]) -> list[StoredNode]:
        self.fetched.extend(node_ids)
        return [self.stored[node_id] for node_id in node_ids]

    def texts(self, document_ids: Sequence[str]) -> dict[str, str]:
        return {node.document_id: node.text for node in self.stored.values() if node.document_id in document_ids}

    def outlines(self, document_ids: Sequence[str]) -> dict[str, Outline]:
        return dict.fromkeys(document_ids, Outline())

    def outdated(self, _: Sequence[str]) -> dict[str, str]:
        return {}

    def with_broken_vectors(self) -> "MemoryGeneration":
        return replace(self, vector_store=BrokenVectorStore(self.arrays))

    def without_keywords(self) -> "MemoryGeneration":
        return replace(self, keyword=KeywordIndex(None, self.keyword.tokeniser, self.size))


def in_memory(texts: NodeTexts, embedding: EmbeddingModel, collection: str = "handbook") -> MemoryGeneration:
    ids = sorted(texts)
    tokeniser = KeywordTokeniser()
    vectors = embedding.embed_texts([texts[node_id] for node_id in ids])
    arrays = GenerationArrays(np.array(ids, dtype="S64"), vectors, {})
    return MemoryGeneration(
        collection=collection,
        arrays=arrays,
        filter_fields=FilterFields({}),
        vector_store=ExactVectorStore(arrays),
        keyword=build_keyword_index([tokeniser.stems(texts[node_id]) for node_id in ids], tokeniser),
        passport=MemoryPassport(embedding.fingerprint),
        stored={node_id: _stored(node_id, text) for node_id, text in texts.items()},
    )


def _stored(node_id: str, text: str) -> StoredNode:
    return StoredNode(
        node_id=node_id,
        document_id=f"document-{node_id}",
        source=f"{node_id}.md",
        title=f"Title of {node_id}",
        document_hash="0" * 64,
        text=text,
        context="",
        start=0,
        end=len(text),
        page=None,
        section=None,
        ordinal=0,
        metadata={"topic": "rules"},
    )


@pytest.fixture
def embedding() -> FakeEmbedding:
    return FakeEmbedding(dimension=256)


@pytest.fixture
def make_generation(embedding: FakeEmbedding) -> MakeGeneration:
    """A function that makes an in-memory generation from {node id: text}, for an embedding and a collection name."""

    def make(texts: NodeTexts, collection: str = "handbook", model: EmbeddingModel | None = None) -> MemoryGeneration:
        return in_memory(texts, model or embedding, collection)

    return make


@pytest.fixture
def publish_generation(
    tmp_path: Path, embedding: FakeEmbedding
) -> Iterator[Callable[[Mapping[str, Sequence[str]]], Generation]]:
    """A function that publishes a generation with Chroma and BM25 files from {path: texts of its chunks}."""
    with ExitStack() as opened:

        def make(documents: Mapping[str, Sequence[str]]) -> Generation:
            store = opened.enter_context(open_store(tmp_path / "data", for_writing=True))
            tokeniser = KeywordTokeniser()
            record = store.collections.create("handbook")
            versions = []
            for path, texts in documents.items():
                document = _new_document(path, texts, tokeniser)
                versions.append(store.documents.add(record.id, document))
                hashes = [sha256(node.embedded_text) for node in document.nodes]
                vectors = embedding.embed_texts([node.embedded_text for node in document.nodes])
                store.vectors.add(embedding.fingerprint.key, hashes, vectors)
            recipe = GenerationRecipe(embedding.fingerprint, "test", tokeniser, ChromaSettings())
            publish(store, "handbook", versions, recipe, SilentListener())
            return opened.enter_context(open_generation(store, "handbook", embedding.fingerprint))

        yield make


def _new_document(path: str, texts: Sequence[str], tokeniser: KeywordTokeniser) -> NewDocument:
    nodes, start = [], 0
    for number, text in enumerate(texts):
        nodes.append(
            NewNode(
                node_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{path}/{number}")),
                start=start,
                end=start + len(text),
                text=text,
                context="",
                page=None,
                section=None,
                metadata={},
                stems=" ".join(tokeniser.stems(text)),
            )
        )
        start += len(text) + 1
    return NewDocument(
        document_id=sha256(path).hex()[:32],
        root="root",
        path=path,
        content_hash=sha256("\n".join(texts)),
        size=start,
        reader="plain",
        chunker="test",
        tokeniser=tokeniser.fingerprint,
        outcome="ok",
        title=path,
        text="\n".join(texts),
        pages=(),
        metadata={},
        notes=(),
        nodes=tuple(nodes),
    )
