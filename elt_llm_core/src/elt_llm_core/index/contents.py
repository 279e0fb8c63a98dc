"""A generation's contents: the nodes and vectors in the store, and the arrays and artefacts in its directory."""

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex
from elt_llm_core.store.nodes import NodeRecord
from elt_llm_core.store.records import EmbeddingFingerprint, sha256
from elt_llm_core.store.store import Store
from elt_llm_core.text.stems import KeywordTokeniser

CHROMA_FOLDER = "chroma"
MAPPED_FROM = 512 * 1024  # bytes; smaller files are read into memory, because each mapped file uses a file descriptor
IDS_NAME, VECTORS_NAME, FIELDS_NAME, DIGESTS_NAME = "ids.npy", "vectors.npy", "fields", "digests.npy"
CHANGED_NAME, ROWS_NAME = "changed_vectors.npy", "vector_rows.npy"
ARRAY_PARTS = (IDS_NAME, VECTORS_NAME, CHANGED_NAME, ROWS_NAME, FIELDS_NAME)
"""The files and the folder that `read_arrays` reads. Damage to them would change answers."""


class SegmentedVectors:
    """The vectors of a large generation, stored in two arrays but indexed like one, in the order of the nodes.

    `unchanged` are the vectors of the last build from scratch, some of which may be unused, and `changed` those added
    since. `rows`, shape (n,), is each node's row in `unchanged` followed by `changed`.
    """

    def __init__(self, unchanged: NDArray[np.float32], changed: NDArray[np.float32], rows: NDArray[np.int32]) -> None:
        self.unchanged, self.changed, self.rows = unchanged, changed, rows
        self.shape = (len(rows), unchanged.shape[1])

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self.rows)

    def __getitem__(self, index: Any) -> NDArray[np.float32]:
        """Return one vector, or the vectors at a slice or an array of positions, as NumPy does."""
        rows, size = self.rows[index], len(self.unchanged)
        if np.ndim(rows) == 0:
            vector: NDArray[np.float32] = self.unchanged[rows] if rows < size else self.changed[rows - size]
            return vector
        found = np.empty((len(rows), self.shape[1]), dtype=np.float32)
        recent = rows >= size
        found[~recent] = self.unchanged[rows[~recent]]
        found[recent] = self.changed[rows[recent] - size]
        return found

    def __matmul__(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return each node vector's inner product with a vector, or with each column of a matrix."""
        products: NDArray[np.float32] = np.concatenate([self.unchanged @ vector, self.changed @ vector])
        return products[self.rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.float32]:
        """Return a copy of all vectors as one array."""
        return self[:]


@dataclass(frozen=True)
class GenerationArrays:
    """The arrays of a generation. Each has one row per node, in the order of the sorted `ids`.

    `vectors` has shape (n, dimension), and each vector has length 1. Each of `fields` has shape (n,).
    """

    ids: NDArray[np.bytes_]
    vectors: NDArray[np.float32] | SegmentedVectors
    fields: Mapping[str, NDArray[np.int64]]

    def positions(self, node_ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions of these node ids in the arrays. Raises CorruptIndex if an id is missing."""
        wanted = np.array([node_id.encode() for node_id in node_ids], dtype="S")  # dtype "S" fits the longest id
        found = np.searchsorted(self.ids, wanted).astype(np.int64)
        last = len(self.ids) - 1
        if len(wanted) and not (last >= 0 and np.array_equal(self.ids[np.minimum(found, last)], wanted)):
            raise CorruptIndex("An index contains a node that is not in ids.npy.", hint="Run: elt-llm verify")
        return found

    def ids_at(self, positions: NDArray[np.int64]) -> list[str]:
        """Return the node ids at these positions of the arrays."""
        return [value.decode() for value in self.ids[positions].tolist()]

    def exact_search(self, vector: NDArray[np.float32], top_k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return positions and cosines of the `top_k` nearest vectors, best first, ties by id."""
        cosines = self.vectors @ vector
        best = top_positions(cosines, top_k)
        return best, cosines[best]


def top_positions(scores: NDArray[np.float32], top_k: int) -> NDArray[np.int64]:
    """Return the positions of the `top_k` highest scores, best first, ties by position."""
    count = min(top_k, len(scores))
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    threshold = np.partition(scores, len(scores) - count)[len(scores) - count]
    places = np.flatnonzero(scores >= threshold)
    return places[np.lexsort((places, -scores[places]))][:count].astype(np.int64)


ROUNDING = 1e-5  # a smaller difference of cosines is rounding


def recall(found: NDArray[np.float32], nearest: NDArray[np.float32]) -> float:
    """Return the share of the nearest neighbours that a search found, 0 to 1.

    `found` are the cosines of the search's results in any order, and `nearest` those of an exact search, best first. A
    result tied with the last of `nearest` counts as found.
    """
    return min(1.0, np.count_nonzero(found >= nearest[-1] - ROUNDING) / len(nearest)) if len(nearest) else 1.0


SAMPLE_SIZE = 200  # nodes whose vectors are searched for, to check a vector index
RECALL_DEPTH = 10  # nearest neighbours
MIN_RECALL = 0.99


def search_faults(lost: int, recalls: Sequence[float], least: float = MIN_RECALL, most_lost: float = 0) -> list[str]:
    """Return the faults of a vector index, given the results of searches for the vectors of sampled nodes.

    `lost` of the searches did not find the node itself; up to `most_lost` are accepted. `recalls` has the recall@10 of
    each search, and their mean must reach `least`.
    """
    faults = (
        [f"{lost} of {len(recalls)} searches for a node's vector do not find the node."] if lost > most_lost else []
    )
    if recalls and np.mean(recalls) < least:
        faults.append(f"Recall@{RECALL_DEPTH} against exact search is {np.mean(recalls):.3f}.")
    return faults


def write_arrays(directory: Path, arrays: GenerationArrays) -> None:
    """Write the arrays to a generation's directory that does not contain them yet.

    Of `SegmentedVectors`, whose older vectors are stored in the file of an earlier generation, only the newer vectors
    and the row numbers are written. That file must already be linked into the directory as `vectors.npy`.
    """
    save_array(directory / IDS_NAME, arrays.ids)
    if isinstance(arrays.vectors, SegmentedVectors):
        save_array(directory / CHANGED_NAME, arrays.vectors.changed)
        save_array(directory / ROWS_NAME, arrays.vectors.rows)
    else:
        save_array(directory / VECTORS_NAME, arrays.vectors)
    (directory / FIELDS_NAME).mkdir()
    for name, values in arrays.fields.items():
        save_array(directory / FIELDS_NAME / f"{name}.npy", values)


def read_arrays(directory: Path) -> GenerationArrays:
    """Open the arrays of a generation, with memory-mapped vectors. Raises CorruptIndex if one cannot be read."""
    vectors: NDArray[np.float32] | SegmentedVectors = load_array(directory / VECTORS_NAME, mapped=True)
    if (directory / ROWS_NAME).is_file():
        changed = load_array(directory / CHANGED_NAME, mapped=True)
        vectors = SegmentedVectors(np.asarray(vectors), changed, load_array(directory / ROWS_NAME, mapped=True))
    ids = load_array(directory / IDS_NAME, mapped=_is_large(directory / IDS_NAME))
    paths = sorted((directory / FIELDS_NAME).glob("*.npy"))
    fields = {path.stem: load_array(path, mapped=_is_large(path)) for path in paths}
    if len(ids) != len(vectors) or any(len(values) != len(ids) for values in fields.values()):
        raise damaged(directory, "its arrays have different lengths")
    return GenerationArrays(ids=ids, vectors=vectors, fields=fields)


def _is_large(path: Path) -> bool:
    return path.is_file() and path.stat().st_size >= MAPPED_FROM


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
    return np.asarray(loaded)  # still mapped, but no longer np.memmap, which is much slower to slice


def read_json(path: Path) -> Any:
    """Read one JSON file. Raises CorruptIndex if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise damaged(path, error) from error


def damaged(path: Path, why: object) -> CorruptIndex:
    """Return the CorruptIndex error for a file of a generation that cannot be read for the reason `why`."""
    return CorruptIndex(f"{path} is damaged: {why}.", hint="Run: elt-llm verify")


@dataclass(frozen=True)
class GenerationContents:
    """The nodes of a set of document versions, sorted by id, and their vectors.

    `vectors` has shape (len(nodes), dimension). `versions` are all versions in the generation, including duplicates,
    which contribute no nodes.
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
        """The contents as arrays. The field `document` is a position in `versions`; `page` is 0 if there is none."""
        place = {version: number for number, version in enumerate(self.versions)}
        return GenerationArrays(
            ids=np.array([node.node_id.encode() for node in self.nodes], dtype="S36"),
            vectors=self.vectors,
            fields={
                "document": np.array([place[node.version] for node in self.nodes], dtype=np.int64),
                "page": np.array([node.page or 0 for node in self.nodes], dtype=np.int64),
            },
        )


@dataclass(frozen=True)
class GenerationChange:
    """The nodes to remove and add for the next generation. All nodes of a changed document are replaced.

    `moved`, shape (number of nodes before,), is the new position of each old node, ascending, or -1 if its version is
    no longer indexed. Those nodes are in `removed`. `added` are the nodes of newly indexed versions, and `places` their
    positions, ascending. `ids` are the next generation's node ids.
    """

    versions_before: tuple[int, ...]
    versions: tuple[int, ...]
    moved: NDArray[np.int64]
    removed: tuple[NodeRecord, ...]
    added: "GenerationContents"
    places: NDArray[np.int64]
    ids: NDArray[np.bytes_]

    @property
    def vectors_removed(self) -> list[str]:
        """The ids of nodes whose old vectors are not in the next generation."""
        after = {node.node_id: node.embedded_hash for node in self.added.nodes}
        return [node.node_id for node in self.removed if after.get(node.node_id) != node.embedded_hash]

    @property
    def vectors_added(self) -> list[str]:
        """The ids of nodes whose new vectors are only in the next generation."""
        before = {node.node_id: node.embedded_hash for node in self.removed}
        return [node.node_id for node in self.added.nodes if before.get(node.node_id) != node.embedded_hash]

    def applied(self, before: NDArray[Any], added: NDArray[Any]) -> NDArray[Any]:
        """Return an array's rows for the next generation: `before` without removed nodes, with the `added` rows."""
        rows = np.empty((len(self.ids), *before.shape[1:]), dtype=before.dtype)
        # The starts of runs of nodes that move together. Position 0 starts a run even after a removed node (-1).
        starts = np.flatnonzero((np.diff(self.moved, prepend=-2) != 1) | (self.moved == 0))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(self.moved)], strict=True):
            if (place := int(self.moved[start])) >= 0:
                rows[place : place + end - start] = before[start:end]
        rows[self.places] = added
        return rows

    def segmented(self, before: GenerationArrays) -> SegmentedVectors:
        """Return the next generation's vectors. The array of `unchanged` vectors is shared with `before`."""
        vectors = before.vectors
        if not isinstance(vectors, SegmentedVectors):
            empty = np.zeros((0, vectors.shape[1]), dtype=np.float32)
            vectors = SegmentedVectors(vectors, empty, np.arange(len(vectors), dtype=np.int32))
        size, lost = len(vectors.unchanged), set(self.vectors_added)
        kept = np.array([node.node_id not in lost for node in self.added.nodes], dtype=bool)
        kept_ids = [node.node_id for node in self.added.nodes if node.node_id not in lost]
        rows_added = np.full(len(kept), -1, dtype=np.int32)
        rows_added[kept] = vectors.rows[before.positions(kept_ids)]
        rows = self.applied(vectors.rows, rows_added)
        recent = np.flatnonzero((rows < 0) | (rows >= size))
        changed = np.empty((len(recent), vectors.shape[1]), dtype=np.float32)
        copied = rows[recent] >= size
        changed[copied] = vectors.changed[rows[recent[copied]] - size]
        changed[~copied] = self.added.vectors[np.searchsorted(self.places, recent[~copied])]
        rows[recent] = size + np.arange(len(recent), dtype=np.int32)
        return SegmentedVectors(vectors.unchanged, changed, rows)


def read_change(
    store: Store,
    before: GenerationArrays,
    versions_before: Sequence[int],
    versions: Sequence[int],
    fingerprint: EmbeddingFingerprint,
) -> GenerationChange:
    """Compare a generation's document versions with those of the next one. `before` are the old arrays."""
    indexed_before, indexed = (set(store.documents.indexed(these)) for these in (versions_before, versions))
    ordered = tuple(sorted(indexed - indexed_before))
    gone = sorted(indexed_before - indexed)
    nodes = tuple(store.nodes.of_versions(ordered))
    vectors = store.vectors.matrix(fingerprint.key, [node.embedded_hash for node in nodes], fingerprint.dimension)
    kept = ~np.isin(np.array(versions_before), gone)[before.fields["document"]]
    added = np.array([node.node_id.encode() for node in nodes], dtype="S36")
    among_kept = np.searchsorted(before.ids[kept], added)
    places = among_kept + np.arange(len(added))
    others = np.ones(int(kept.sum()) + len(added), dtype=bool)
    others[places] = False
    moved = np.full(len(before.ids), -1, dtype=np.int64)
    moved[kept] = np.flatnonzero(others)
    return GenerationChange(
        versions_before=tuple(versions_before),
        versions=tuple(sorted(versions)),
        moved=moved,
        removed=tuple(store.nodes.of_versions(gone)),
        added=GenerationContents(ordered, nodes, vectors),
        places=places,
        ids=np.insert(before.ids[kept], among_kept, added),
    )


def read_contents(
    store: Store, versions: Sequence[int], fingerprint: EmbeddingFingerprint, duplicates: str = "once"
) -> GenerationContents:
    """Read the nodes and vectors of these versions. Raises StoreError if a vector is missing.

    `duplicates` is "once" to read the nodes of only one of several identical documents, or "each" to read those of all.
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


def node_digests(store: Store, contents: GenerationContents) -> NDArray[np.uint8]:
    """Return each node's SHA-256, shape (n, 32), over its id, context, text, metadata (with its span) and vector."""
    versions = sorted({node.version for node in contents.nodes})
    texts = store.nodes.contents_of_versions(versions)
    pairs = zip(contents.ids, contents.vectors, strict=True)
    digests = [sha256(node_id, *texts[node_id], vector.astype("<f4").tobytes()) for node_id, vector in pairs]
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(digests), 32)


Hashing = Literal["whole", "nodes"]


def collection_hash(store: Store, contents: GenerationContents, hashing: Hashing = "nodes") -> bytes:
    """Return the hash of all nodes, equal for equal contents.

    It is the SHA-256 of all nodes' digests, so that publishing reads only changed nodes. If `hashing` is "whole", it is
    the SHA-256 of all nodes' contents, as in earlier program versions.
    """
    if hashing == "nodes":
        return hash_of_digests(node_digests(store, contents))
    texts = store.nodes.contents_of_versions(contents.versions)
    digest = hashlib.sha256()
    for node_id, vector in zip(contents.ids, contents.vectors, strict=True):
        for part in (node_id, *texts[node_id]):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        digest.update(vector.astype("<f4").tobytes())
    return digest.digest()


def hash_of_digests(digests: NDArray[np.uint8]) -> bytes:
    """Return the collection hash, given the nodes' digests in the order of their ids."""
    return hashlib.sha256(digests.tobytes()).digest()


ARTEFACTS_FOLDER = "artefacts"


def write_artefacts(directory: Path, artefacts: Sequence[tuple[str, str, str]]) -> None:
    """Write each artefact, given as (name, document id, JSON text), to `artefacts/NAME/DOCUMENT.json`.

    An artefact is a JSON value that a reader extracted from a document in addition to the text.
    """
    for name, document_id, content in artefacts:
        folder = directory / ARTEFACTS_FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{document_id}.json").write_text(content, encoding="utf-8")


_HEADER = struct.Struct("<iQQQQ")  # format, offset, capacity, elements, bytes per element
_BLOCK_SIZE = 1 << 20


def clear_reserved_bytes(folder: Path) -> None:
    """In a closed Chroma directory, overwrite the bytes that files reserve for further vectors with zeros."""
    for path, start in _reserved_regions(folder):
        size = path.stat().st_size
        with path.open("r+b") as stream:
            stream.seek(start)
            for place in range(start, size, _BLOCK_SIZE):
                stream.write(bytes(min(_BLOCK_SIZE, size - place)))


def has_uncleared_bytes(folder: Path) -> bool:
    """Return whether Chroma's files reserve bytes that are not zero, as those of older program versions do."""
    for path, start in _reserved_regions(folder):
        with path.open("rb") as stream:
            stream.seek(start)
            while piece := stream.read(_BLOCK_SIZE):
                if piece.strip(b"\0"):
                    return True
    return False


def _reserved_regions(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield Chroma's files with bytes reserved for further vectors, and the offset of these bytes."""
    for header in sorted(folder.glob("*/header.bin")):
        content = header.read_bytes()
        if len(content) < _HEADER.size:
            continue
        _, _, room, elements, size = _HEADER.unpack_from(content)
        for name, width in (("data_level0.bin", size), ("length.bin", 4)):
            path = header.with_name(name)
            if elements <= room and path.is_file() and path.stat().st_size == room * width:
                yield path, elements * width
