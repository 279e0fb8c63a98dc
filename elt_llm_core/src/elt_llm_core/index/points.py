"""Vectors as points in a database: what publishing writes there, searches read and garbage collection deletes.

A *lineage* is one build of a collection from scratch and the generations that were built on it, one after the other. A
point is alive in the generations from `born` up to but excluding `died`, so publishing writes only changed points, and
readers of an earlier generation still find its points. Lineages have random names, so that collections, data
directories, dropped collections and crashed builds never share points, even within one collection of the database.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.contents import (
    RECALL_DEPTH,
    ROUNDING,
    SAMPLE_SIZE,
    GenerationArrays,
    recall,
    search_faults,
    top_positions,
)
from elt_llm_core.index.fields import FilterField, FilterFields
from elt_llm_core.index.searchable import FieldValue, ValueFilter
from elt_llm_core.settings.tree import IndexSettings
from elt_llm_core.store.conditions import DocumentConditions
from elt_llm_core.store.disk import replace_durably
from elt_llm_core.store.records import EmbeddingFingerprint

POINTS_FOLDER = "points"
TENANT_FIELD = "tenant_id"
ALIVE = 2**31 - 1  # `died` of a point that was not removed; it is a number, so that it can be compared
_WRITTEN_AT_ONCE = 256  # points


class PointsView(NamedTuple):
    """The points of one generation in a vector database.

    `lineage` is the name of the series of generations that share points, and `generation` is the number of this one.
    """

    lineage: str
    generation: int


PROBE = PointsView("0" * 32, 0)
"""The lineage and generation of the point that `prepare` writes and deletes as a check."""


class PointsFilter(NamedTuple):
    """A filter condition: a point must have one of `codes` or, if `denies` is true, none of them.

    Each code is a `stable_code`: the hash of a field and one of its values, such as of ("year", 2020).
    """

    codes: Sequence[int]
    denies: bool


class Point(NamedTuple):
    """A node as stored in a vector database. `tenants` are its values of the field `tenant_id`.

    `codes` are for filters: one `stable_code` (a hash of field and value) for each of the node's field values.
    """

    node_id: str
    vector: NDArray[np.float32]
    codes: list[int]
    tenants: list[str]


class PointDatabase(Protocol):
    """The points of one embedding model in a vector database. Several threads may share one object.

    Every method raises IndexUnavailable if the database cannot be reached, and IndexRefused if it refuses the request.
    """

    def is_exact(self, view: PointsView) -> bool:
        """Return whether every search of the generation in `view` is exact, because no approximate index is used.

        Then a check of the stored points needs only a few searches.
        """

    def prepare(self) -> None:
        """Create missing tables or collections, and check dimension, distance and the permission to write."""

    def rewind(self, view: PointsView) -> None:
        """Undo what was written for generations later than that of `view`, as by a publish that crashed."""

    def write(self, view: PointsView, collection: str, points: Iterable[Point]) -> None:
        """Write points that belong to the generation of `view` and to later ones, until they are retired.

        `collection` is stored with the points only as information for administrators.
        """

    def retire(self, view: PointsView, node_ids: Sequence[str]) -> None:
        """Mark the older points of these nodes as removed from the generation of `view` and from later ones."""

    def keep(self, lineage: str, numbers: Sequence[int]) -> None:
        """Delete the points of a lineage that belong to none of the generations `numbers`.

        A lineage is a series of generations that share points in the database.
        """

    def nearest(
        self, view: PointsView, vectors: NDArray[np.float32], count: int, filters: Sequence[PointsFilter] = ()
    ) -> list[list[str]]:
        """Return the ids of `count` nodes near each vector, best first. With filters, the search is exact."""

    def seen_by(self, conditions: DocumentConditions) -> "PointDatabase":
        """Return an object that finds only what a caller may see, if the database can check such conditions."""

    def count(self, view: PointsView) -> int:
        """Return the exact number of points that belong to the generation of `view`."""

    def every_point(self, view: PointsView) -> Iterator[tuple[str, list[int]]]:
        """Yield (node id, codes) of each point that belongs to the generation of `view`, in any order.

        The codes are the node's field values, each as a `stable_code` (a hash of field and value).
        """

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True)
class StoredLineage:
    """A lineage (the generations that share points) whose points are in a vector database.

    `kept` are the generations whose points the last garbage collection kept, or None if points were written since then.
    `home` is the data directory to which the lineage belongs.
    """

    name: str
    settings: IndexSettings
    fingerprint: EmbeddingFingerprint
    home: str
    kept: tuple[int, ...] | None


class LineageRecord:
    """The record of a data directory's lineages (generations that share points), one small file for each lineage.

    A file is written before the first point, so after a crash every point to delete is known. If a data directory was
    copied, the copied records are ignored, because their `home` is the path of the original.
    """

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / POINTS_FOLDER
        self.home = str(data_dir.resolve())

    def start(self, settings: IndexSettings, fingerprint: EmbeddingFingerprint) -> StoredLineage:
        """Record a new lineage (generations that will share points) with a random name, and return it."""
        lineage = StoredLineage(uuid.uuid4().hex, settings, fingerprint, self.home, None)
        self.save(lineage)
        return lineage

    def all(self) -> list[StoredLineage]:
        """Return the recorded lineages (generations that share points) of this data directory."""
        found = [_parsed_lineage(text) for text in self._texts()]
        return [lineage for lineage in found if lineage is not None and lineage.home == self.home]

    def find(self, name: str) -> StoredLineage | None:
        """Return this data directory's lineage (generations that share points) with this name, or None."""
        return next((lineage for lineage in self.all() if lineage.name == name), None)

    def save(self, lineage: StoredLineage) -> None:
        """Store the record of a lineage (generations that share points), replacing its earlier record."""
        content = {**asdict(lineage), "settings": lineage.settings.model_dump()}
        self._put(lineage.name, json.dumps(content, indent=1))

    def remove(self, lineage: StoredLineage) -> None:
        """Delete the record of a lineage (generations that shared points), whose points have already been deleted."""
        (self._folder / f"{lineage.name}.json").unlink(missing_ok=True)

    def _texts(self) -> list[str]:
        paths = sorted(self._folder.glob("*.json"))
        return [path.read_text(encoding="utf-8", errors="replace") for path in paths]

    def _put(self, name: str, text: str) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / f"{name}.json"
        new = path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        replace_durably(path, new)


def _parsed_lineage(text: str) -> StoredLineage | None:
    """Parse the record of a lineage: generations that share points in a vector database.

    Returns None if the record is damaged. The caller then ignores the lineage, and its points are not deleted.
    """
    try:
        content = json.loads(text)
        return StoredLineage(
            content["name"],
            IndexSettings.model_validate(content["settings"]),
            EmbeddingFingerprint(**content["fingerprint"]),
            content["home"],
            None if content["kept"] is None else tuple(content["kept"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def stable_code(field: str, value: FieldValue) -> int:
    """Return a number that identifies a field's value in filters: 63 bits of a hash of `field` and `value`.

    It is the same in every generation of every collection.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 2020.0 and 2020 are the same value
    digest = hashlib.blake2b(json.dumps([field, value]).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True)
class NodeCodes:
    """The codes of all nodes of a generation. A code is a `stable_code`: the hash of a field and one of its values.

    `at` returns the codes of one node. `sums` has one number per node, so that the field values of all nodes can be
    compared with those of another generation.
    """

    sums: NDArray[np.uint64]
    """The sum of each node's codes, modulo 2**64, shape (nodes,). Nodes with the same codes have equal sums."""
    _parts: Sequence[tuple[FilterField, NDArray[np.uint64]]]

    @classmethod
    def of(cls, fields: FilterFields, size: int) -> "NodeCodes":
        """Compute the codes of `size` nodes: one `stable_code` (a hash of field and value) per value in `fields`."""
        sums, parts = np.zeros(size, dtype=np.uint64), []
        for name in fields.names:
            if (field := fields.get(name)) is not None:
                codes = np.array([stable_code(name, value) for value in field.values] + [0], dtype=np.uint64)
                parts.append((field, codes))
                of_rows = codes[field.codes]  # the code -1 (no value) selects the 0 at the end
                if field.bounds is not None:
                    totals = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(of_rows, dtype=np.uint64)])
                    of_rows = totals[field.bounds[1:]] - totals[field.bounds[:-1]]
                sums += of_rows if field.rows is None else of_rows[field.rows]
        return cls(sums, parts)

    def at(self, place: int) -> tuple[list[int], list[str]]:
        """Return the codes of the node at this position, one hash for each of its field values, and its tenants."""
        found: list[int] = []
        tenants: list[str] = []
        for field, codes in self._parts:
            row = place if field.rows is None else int(field.rows[place])
            bounds = (row, row + 1) if field.bounds is None else (int(field.bounds[row]), int(field.bounds[row + 1]))
            numbers = [number for number in field.codes[slice(*bounds)].tolist() if number >= 0]
            found += codes[numbers].tolist()
            if field.name == TENANT_FIELD:
                tenants = [str(field.values[number]) for number in numbers]
        return found, tenants


@dataclass(frozen=True)
class PointsChange:
    """What changes in the vector database when a generation is published.

    `written` are the positions, in the new generation, of the nodes whose points are written. `retired` are the ids of
    the nodes whose old points do not belong to the new generation.
    """

    written: NDArray[np.int64]
    retired: Sequence[str]


def points_change(
    before: tuple[GenerationArrays, NodeCodes], after: tuple[GenerationArrays, NodeCodes], vectors_added: Sequence[str]
) -> PointsChange:
    """Compare two generations, each as its arrays and the codes of its nodes, and return which points change.

    A point is written again if its node is new, has a new vector (`vectors_added` are the ids) or has other codes
    (hashes of its field values). All nodes are compared, because even an unchanged document can get other field values:
    `source`, for example, also has the paths of its duplicates.
    """
    (old, old_codes), (new, new_codes) = before, after
    places = np.searchsorted(old.ids, new.ids)
    known = np.zeros(len(new.ids), dtype=bool)
    inside = places < len(old.ids)
    known[inside] = old.ids[places[inside]] == new.ids[inside]
    same = known.copy()
    same[known] = old_codes.sums[places[known]] == new_codes.sums[known]
    same[new.positions(vectors_added)] = False
    stays = np.zeros(len(old.ids), dtype=bool)
    stays[places[same]] = True
    return PointsChange(np.flatnonzero(~same), old.ids_at(np.flatnonzero(~stays)))


def write_points(
    database: PointDatabase,
    view: PointsView,
    collection: str,
    generation: tuple[GenerationArrays, NodeCodes],
    change: PointsChange,
) -> None:
    """Write a generation's new points, which no reader sees yet, then retire points of the previous generation.

    After a crash, no published generation sees the new points, and the next writer deletes them.
    """
    database.write(view, collection, _points_at(change.written, *generation))
    for batch in batches(change.retired):
        database.retire(view, batch)


def _points_at(places: NDArray[np.int64], arrays: GenerationArrays, codes: NodeCodes) -> Iterator[Point]:
    for batch in batches(places.tolist()):
        ids, vectors = arrays.ids_at(np.array(batch)), arrays.vectors[np.array(batch)]
        for place, node_id, vector in zip(batch, ids, vectors, strict=True):
            yield Point(node_id, vector, *codes.at(place))


_Item = TypeVar("_Item")


def batches(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Yield the items in lists of at most 256."""
    left = iter(items)
    while batch := list(islice(left, _WRITTEN_AT_ONCE)):
        yield batch


def points_faults(
    database: PointDatabase, view: PointsView, arrays: GenerationArrays, changed: NDArray[np.int64] | None = None
) -> list[str]:
    """Return the faults of a generation's points: a wrong number of points, or vectors that searches do not find.

    The vectors of a sample of nodes, some at `changed` positions, are searched for. Each search must find the node or
    an equal vector.
    """
    size = len(arrays.ids)
    if (found := database.count(view)) != size:
        return [f"The database has {found} points of the generation, not {size}."]
    sample = SAMPLE_SIZE // 10 if database.is_exact(view) else SAMPLE_SIZE
    spread = np.linspace(0, size - 1, min(sample, size)).astype(np.int64)
    if changed is not None and len(changed):
        spread = np.concatenate([spread[::10], changed[:: 1 + len(changed) // sample]])
    places = np.unique(spread)
    asked = np.ascontiguousarray(arrays.vectors[places])
    lost, recalls, depth = 0, [], min(RECALL_DEPTH, size)
    for vector, ids in zip(asked, database.nearest(view, asked, depth), strict=True):
        cosines = arrays.vectors @ vector
        best = cosines[top_positions(cosines, depth)]
        try:
            hits = cosines[arrays.positions(ids)]
        except CorruptIndex:
            return ["The database has points of nodes that are not in the generation."]
        lost += hits.max(initial=-1) < best[0] - ROUNDING
        recalls.append(recall(hits, best))
    return search_faults(int(lost), recalls)


def compared_points(database: PointDatabase, view: PointsView, arrays: GenerationArrays, codes: NodeCodes) -> list[str]:
    """Read every point and return the faults: additional or missing points, or points with wrong codes.

    A point's codes, by which searches are filtered, are hashes of its node's field values.
    """
    sums: dict[str, int] = {}
    for node_id, own in database.every_point(view):
        if node_id in sums:
            return ["The database has two points for one node."]
        sums[node_id] = sum(own) % (1 << 64)
    expected = dict(zip(arrays.ids_at(np.arange(len(arrays.ids))), codes.sums.tolist(), strict=True))
    if sums.keys() != expected.keys():
        return [f"The database has {len(sums)} points, which are not those of the generation's {len(expected)} nodes."]
    wrong = sum(sums[node_id] != expected[node_id] for node_id in expected)
    return [f"{wrong} points have other filter codes than their nodes."] if wrong else []


_FURTHER = 32  # additional results, so that ties with the last result are noticed
_MOST_CODES = 5000  # in one request; a longer filter is searched on this machine
_TIE = 1e-6


class PointSearch:
    """Searches one generation in a vector database. Cosines are computed here, from the generation's own vectors.

    Searches see what a caller with `conditions` may see. If the generation's points are found to be damaged, `notes`
    reports that, and from then on vectors are searched exactly on this machine.
    """

    def __init__(
        self,
        database: Callable[[], PointDatabase],
        view: PointsView,
        size: int,
        collection: str,
        conditions: DocumentConditions = (),
    ) -> None:
        self._database, self._view, self._size, self._collection = database, view, size, collection
        self._conditions = conditions
        self._checked = False
        self.notes: tuple[str, ...] = ()

    def nearest(
        self,
        arrays: GenerationArrays,
        vector: NDArray[np.float32],
        count: int,
        filters: Sequence[PointsFilter] = (),
        mask: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
        """Return positions and cosines of the `count` nearest nodes, best first, ties by id.

        Returns None if this machine must search instead. `mask`, shape (nodes,), is true for the nodes that the filters
        allow. Raises IndexUnavailable and IndexRefused.
        """
        if self.notes or sum(len(one.codes) for one in filters) > _MOST_CODES:
            return None
        try:
            self._check()
            points = self._database().seen_by(self._conditions)
            [ids] = points.nearest(self._view, vector[np.newaxis], count + _FURTHER, filters)
            places = np.sort(arrays.positions(ids))
        except CorruptIndex as error:
            self.notes = (f"{error} Vectors were searched exactly instead. {error.hint}",)
            return None
        if mask is not None:
            places = places[mask[places]]
        cosines = arrays.vectors[places] @ vector
        best = top_positions(cosines, count)
        attainable = len(arrays.ids) if mask is None else int(np.count_nonzero(mask))
        if len(best) < min(count, attainable):
            return None
        # If the last result ties with the worst candidate, vectors that are not candidates may tie with it, too.
        is_cut_off = len(ids) == count + _FURTHER and len(best)
        if is_cut_off and cosines[best[-1]] - cosines.min() <= _TIE:
            return None
        return places[best], cosines[best]

    def _check(self) -> None:
        """Check once that the database has as many points as the generation has nodes. Raises CorruptIndex."""
        if not self._checked:
            found = self._database().count(self._view)
            if found != self._size:
                raise CorruptIndex(
                    f"The database has {found} points of '{self._collection}', not {self._size}.",
                    hint=f"Run: elt-llm verify -c {self._collection}",
                )
            self._checked = True


def points_filters(
    filters: Iterable[ValueFilter], value_of: Callable[[int], tuple[str, FieldValue]]
) -> tuple[PointsFilter, ...]:
    """Convert filters of one generation to filters of a vector database.

    In a `ValueFilter`, a code is a number that refers to a field value of this generation only, and `value_of` returns
    its (field, value). In a `PointsFilter`, a code is a `stable_code`: a hash of field and value.
    """
    return tuple(PointsFilter([stable_code(*value_of(code)) for code in one.codes], one.denies) for one in filters)
