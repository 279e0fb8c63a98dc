"""What one generation is to contain, read from the store before anything is built."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.fingerprint import EmbeddingFingerprint
from elt_llm_core.index.arrays import Arrays
from elt_llm_core.store.nodes import NodeRecord
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import KeywordTokeniser


@dataclass(frozen=True)
class Contents:
    """The nodes of a set of document versions, sorted by id, with their vectors, shape (len(nodes), dimension).

    `versions` are all that the generation contains; those with the same bytes as another give no nodes.
    """

    versions: tuple[int, ...]
    nodes: tuple[NodeRecord, ...]
    vectors: NDArray[np.float32]

    @property
    def ids(self) -> list[str]:
        """Node ids, ascending."""
        return [node.node_id for node in self.nodes]

    def arrays(self) -> Arrays:
        """The plain arrays. `document` counts this generation's versions from 0; `page` is 0 where there is none."""
        place = {version: number for number, version in enumerate(self.versions)}
        return Arrays(
            ids=np.array([node.node_id.encode() for node in self.nodes], dtype="S36"),
            vectors=self.vectors,
            fields={
                "document": np.array([place[node.version] for node in self.nodes], dtype=np.int64),
                "page": np.array([node.page or 0 for node in self.nodes], dtype=np.int64),
            },
        )


def read_contents(
    store: Store, versions: Sequence[int], fingerprint: EmbeddingFingerprint, duplicates: str = "once"
) -> Contents:
    """Nodes and vectors of these versions. Raises StoreError if a vector is missing."""
    ordered = tuple(sorted(versions))
    nodes = tuple(store.nodes.of_versions(ordered if duplicates == "each" else store.documents.indexed(ordered)))
    hashes = [node.embedded_hash for node in nodes]
    return Contents(ordered, nodes, store.vectors.matrix(fingerprint.key, hashes, fingerprint.dimension))


def stems_of(store: Store, contents: Contents, tokeniser: KeywordTokeniser) -> list[list[str]]:
    """Stems of each node in order: the stored ones, or made anew where another tokeniser made those."""
    stored = store.nodes.stems_of_versions(contents.versions)
    present = tokeniser.fingerprint
    lists: list[list[str]] = []
    for node_id in contents.ids:
        made_by, stems, text = stored[node_id]
        lists.append(stems.split() if made_by == present else tokeniser.stems(text))
    return lists


def collection_hash(store: Store, contents: Contents) -> bytes:
    """sha256 over the sorted nodes: id, context, text, metadata with place, vector. Equal contents, equal hash."""
    texts = store.nodes.contents_of_versions(contents.versions)
    digest = hashlib.sha256()
    for node_id, vector in zip(contents.ids, contents.vectors, strict=True):
        for part in (node_id, *texts[node_id]):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        digest.update(vector.astype("<f4").tobytes())
    return digest.digest()
