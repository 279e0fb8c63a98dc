"""The contents of a generation: nodes and vectors read from the store, arrays and artefacts in its directory."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex
from elt_llm_core.store.nodes import NodeRecord
from elt_llm_core.store.records import EmbeddingFingerprint
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import KeywordTokeniser

MAPPED_FROM = 512 * 1024  # bytes; smaller files are read into memory, as each mapped file uses a file descriptor
IDS_NAME, VECTORS_NAME, FIELDS_NAME = "ids.npy", "vectors.npy", "fields"


@dataclass(frozen=True)
class GenerationArrays:
    """The arrays of a generation. Each has one row per node, in the order of the sorted `ids`.

    `vectors` has shape (n, dimension), and each vector has length 1. Each of `fields` has shape (n,).
    """

    ids: NDArray[np.bytes_]
    vectors: NDArray[np.float32]
    fields: Mapping[str, NDArray[np.int64]]

    def positions(self, node_ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of these node ids in the arrays. Raises CorruptIndex if an id is missing."""
        wanted = np.array([node_id.encode() for node_id in node_ids], dtype="S")  # at full length, never truncated
        found = np.searchsorted(self.ids, wanted).astype(np.int64)
        last = len(self.ids) - 1
        if len(wanted) and not (last >= 0 and np.array_equal(self.ids[np.minimum(found, last)], wanted)):
            raise CorruptIndex("An index names a node that is not in ids.npy.", hint="Run: elt-llm verify")
        return found

    def ids_at(self, positions: NDArray[np.int64]) -> list[str]:
        """Return the node ids at these positions of the arrays."""
        return [value.decode() for value in self.ids[positions].tolist()]

    def exact_search(
        self, vector: NDArray[np.float32], top_k: int, mask: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return positions and cosines of the `top_k` nearest vectors, best first, ties by id.

        Only vectors whose `mask`, shape (n,), is true are searched.
        """
        cosines = self.vectors @ vector.astype(np.float32)
        if mask is not None:
            cosines = np.where(mask, cosines, -np.inf).astype(np.float32)
        order = top_positions(cosines, top_k)
        order = order[np.isfinite(cosines[order])]
        return order, cosines[order]


def top_positions(scores: NDArray[np.float32], top_k: int) -> NDArray[np.int64]:
    """Return the positions of the `top_k` highest scores, best first, ties by position."""
    count = min(top_k, len(scores))
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    threshold = np.partition(scores, len(scores) - count)[len(scores) - count]
    places = np.flatnonzero(scores >= threshold)
    return places[np.lexsort((places, -scores[places]))][:count].astype(np.int64)


def write_arrays(directory: Path, arrays: GenerationArrays) -> None:
    """Write all arrays into a new directory."""
    save_array(directory / IDS_NAME, arrays.ids)
    save_array(directory / VECTORS_NAME, arrays.vectors)
    (directory / FIELDS_NAME).mkdir()
    for name, values in arrays.fields.items():
        save_array(directory / FIELDS_NAME / f"{name}.npy", values)


def read_arrays(directory: Path) -> GenerationArrays:
    """Open the arrays of a generation, with memory-mapped vectors. Raises CorruptIndex if one cannot be read."""
    vectors = load_array(directory / VECTORS_NAME, mapped=True)
    ids = load_array(directory / IDS_NAME, mapped=False)
    paths = sorted((directory / FIELDS_NAME).glob("*.npy"))
    fields = {path.stem: load_array(path, mapped=path.stat().st_size >= MAPPED_FROM) for path in paths}
    if len(ids) != len(vectors) or any(len(values) != len(ids) for values in fields.values()):
        raise damaged(directory, "its arrays have different lengths")
    return GenerationArrays(ids=ids, vectors=vectors, fields=fields)


def save_array(path: Path, values: NDArray[Any]) -> None:
    """Write one array to a new file."""
    with path.open("xb") as stream:
        np.save(stream, values, allow_pickle=False)


def load_array(path: Path, *, mapped: bool) -> NDArray[Any]:
    """Read one array, or map it into memory. Raises CorruptIndex if it cannot be read."""
    try:
        loaded: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise damaged(path, error) from error
    return np.asarray(loaded)  # still mapped, but a plain array, which slices much faster


def read_json(path: Path) -> Any:
    """Read one JSON file. Raises CorruptIndex if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise damaged(path, error) from error


def damaged(path: Path, why: object) -> CorruptIndex:
    """Return the error for a file of a generation that cannot be read."""
    return CorruptIndex(f"{path} is damaged: {why}.", hint="Run: elt-llm verify")


@dataclass(frozen=True)
class GenerationContents:
    """The nodes of a set of document versions, sorted by id, and their vectors.

    `vectors` has shape (len(nodes), dimension). `versions` are all versions of the generation, including duplicates of
    other versions, which have no nodes of their own.
    """

    versions: tuple[int, ...]
    nodes: tuple[NodeRecord, ...]
    vectors: NDArray[np.float32]

    @property
    def ids(self) -> list[str]:
        """The node ids, ascending."""
        return [node.node_id for node in self.nodes]

    @cached_property
    def arrays(self) -> GenerationArrays:
        """The contents as arrays. `document` is a position in `versions`. `page` is 0 for a node without a page."""
        place = {version: number for number, version in enumerate(self.versions)}
        return GenerationArrays(
            ids=np.array([node.node_id.encode() for node in self.nodes], dtype="S36"),
            vectors=self.vectors,
            fields={
                "document": np.array([place[node.version] for node in self.nodes], dtype=np.int64),
                "page": np.array([node.page or 0 for node in self.nodes], dtype=np.int64),
            },
        )


def read_contents(
    store: Store, versions: Sequence[int], fingerprint: EmbeddingFingerprint, duplicates: str = "once"
) -> GenerationContents:
    """Read the nodes and vectors of these versions. Raises StoreError if a vector is missing.

    `duplicates` has the values of `Passport.duplicates`.
    """
    ordered = tuple(sorted(versions))
    nodes = tuple(store.nodes.of_versions(ordered if duplicates == "each" else store.documents.indexed(ordered)))
    hashes = [node.embedded_hash for node in nodes]
    return GenerationContents(ordered, nodes, store.vectors.matrix(fingerprint.key, hashes, fingerprint.dimension))


def node_stems(store: Store, nodes: Sequence[NodeRecord], tokeniser: KeywordTokeniser) -> list[list[str]]:
    """Return the stems of each node in order. Stems that another tokeniser stored are computed again."""
    stored = store.nodes.stems_of_versions(sorted({node.version for node in nodes}))
    present = tokeniser.fingerprint
    rows = (stored[node.node_id] for node in nodes)
    return [stems.split() if made_by == present else tokeniser.stems(text) for made_by, stems, text in rows]


def collection_hash(store: Store, contents: GenerationContents) -> bytes:
    """Return the SHA-256 of all nodes, sorted by id: their ids, contexts, texts, metadata (with spans) and vectors."""
    texts = store.nodes.contents_of_versions(contents.versions)
    digest = hashlib.sha256()
    for node_id, vector in zip(contents.ids, contents.vectors, strict=True):
        for part in (node_id, *texts[node_id]):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        digest.update(vector.astype("<f4").tobytes())
    return digest.digest()


ARTEFACTS_FOLDER = "artefacts"


def write_artefacts(directory: Path, artefacts: Sequence[tuple[str, str, str]]) -> None:
    """Write each (name, document id, JSON text) to `artefacts/NAME/DOCUMENT.json`."""
    for name, document_id, content in artefacts:
        folder = directory / ARTEFACTS_FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{document_id}.json").write_text(content, encoding="utf-8")
