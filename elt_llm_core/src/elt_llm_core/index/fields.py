"""A generation's filter fields, which are built from metadata, stored as arrays and read by name."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.index.contents import GenerationChange, GenerationContents, load_array, read_json
from elt_llm_core.index.searchable import FieldType, FieldValue
from elt_llm_core.store.nodes import NodeRecord, node_rows
from elt_llm_core.store.records import OWNER_FIELDS, StoredDocument
from elt_llm_core.store.store import Store

FILTERS_FOLDER, INDEX_NAME = "filters", "index.json"


@dataclass(frozen=True)
class FilterField:
    """A filter field with its values for each row. A row is a document if `rows` maps nodes to documents, else a node.

    `values` are distinct and ascending; dates are ISO 8601 texts. `codes` are indexes into `values`. If `bounds` is
    None, there is one code per row, and -1 means no value. Otherwise a row may have several values: row r has the codes
    codes[bounds[r]:bounds[r + 1]]. `rows`, shape (nodes,), is each node's document. If rows are nodes, `kinds` counts
    the values by type, such as 12 numbers and 3 texts.
    """

    name: str
    type: FieldType
    values: Sequence[FieldValue]
    codes: NDArray[Any]
    bounds: NDArray[Any] | None = None
    rows: NDArray[np.int64] | None = None
    kinds: Mapping[str, int] | None = None

    def having(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each node whether it has a chosen value, shape (nodes,). `chosen` has one bool per value."""
        # The code -1 (no value) selects the False at the end.
        hits: NDArray[np.bool_] = np.append(chosen, False)[self.codes]
        if self.bounds is not None:
            sums = np.concatenate([[0], np.cumsum(hits)])
            hits = sums[self.bounds[1:]] > sums[self.bounds[:-1]]
        return hits if self.rows is None else hits[self.rows]

    def places_among(self, nodes: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return which values occur in the nodes that a mask selects, as ascending indexes into `values`."""
        rows = np.flatnonzero(nodes) if self.rows is None else np.unique(self.rows[nodes])
        if self.bounds is None:
            codes = self.codes[rows]
        else:
            used = np.zeros(len(self.bounds) - 1, dtype=bool)
            used[rows] = True
            codes = self.codes[np.repeat(used, np.diff(self.bounds))]
        return np.unique(codes[codes >= 0]).astype(np.int64)


class FilterFields:
    """An open generation's filter fields, each read on first use. `complete` is false if it has no field but `page`."""

    def __init__(self, readers: Mapping[str, Callable[[], FilterField]], *, complete: bool = True) -> None:
        self._readers = dict(readers)
        self._read: dict[str, FilterField] = {}
        self.complete = complete

    @property
    def names(self) -> list[str]:
        """The names of all fields, ascending."""
        return sorted(self._readers)

    def get(self, name: str) -> FilterField | None:
        """Return the field with this name, or None. Raises CorruptIndex if the field's files cannot be read."""
        if name not in self._read and name in self._readers:
            self._read[name] = self._readers[name]()
        return self._read.get(name)


def single_valued(name: str, of_type: FieldType, rows: Sequence[FieldValue | None]) -> FilterField:
    """Build a field with at most one value per row. A row is a node or a document."""
    values = sorted({value for value in rows if value is not None})
    places = {value: place for place, value in enumerate(values)}
    codes = np.fromiter((-1 if value is None else places[value] for value in rows), dtype=np.int32, count=len(rows))
    return FilterField(name, of_type, values, codes)


def many_valued(name: str, of_type: FieldType, rows: Sequence[Sequence[FieldValue]]) -> FilterField:
    """Build a field with any number of values per row. A row is a node or a document."""
    flat = [value for row in rows for value in row]
    codes = single_valued(name, of_type, flat)
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return replace(codes, bounds=bounds)


def write_fields(directory: Path, fields: Sequence[FilterField]) -> None:
    """Write fields to a new generation's folder. A field with `rows` is stored with one row per document."""
    folder = directory / FILTERS_FOLDER
    folder.mkdir()
    listing = []
    for place, field in enumerate(fields):
        several = None if field.bounds is None else len(field.bounds) - 1
        kept_for = "node" if field.rows is None else "document"
        entry = {"name": field.name, "type": field.type, "of": kept_for, "rows_of_several": several}
        listing.append(entry if field.kinds is None else {**entry, "kinds": dict(field.kinds)})
        stored = field.codes if field.bounds is None else np.concatenate([field.bounds, field.codes])
        np.save(folder / f"{place}.npy", stored, allow_pickle=False)
        (folder / f"{place}.json").write_text(json.dumps(field.values), encoding="ascii")
    (folder / INDEX_NAME).write_text(json.dumps(listing, indent=1), encoding="ascii")


def open_fields(directory: Path, arrays: Mapping[str, NDArray[np.int64]]) -> FilterFields:
    """Open a generation's fields, given its arrays `document` and `page`. Raises CorruptIndex if files are damaged."""
    folder = directory / FILTERS_FOLDER
    readers: dict[str, Callable[[], FilterField]] = {"page": partial(_page_field, arrays["page"])}
    if not folder.is_dir():
        return FilterFields(readers, complete=False)
    listing = read_json(folder / INDEX_NAME)
    for place, entry in enumerate(listing):
        rows = arrays["document"] if entry["of"] == "document" else None
        readers[entry["name"]] = partial(_read_field, folder / str(place), entry, rows)
    return FilterFields(readers)


def fields_in_memory(fields: Sequence[FilterField], arrays: Mapping[str, NDArray[np.int64]]) -> FilterFields:
    """Return new fields in the same form as those that `open_fields` reads from files."""
    readers: dict[str, Callable[[], FilterField]] = {field.name: lambda field=field: field for field in fields}  # type: ignore[misc]
    return FilterFields({"page": partial(_page_field, arrays["page"]), **readers})


def _page_field(pages: NDArray[np.int64]) -> FilterField:
    values = np.unique(pages[pages > 0])
    codes = np.where(pages > 0, np.searchsorted(values, pages), -1)
    return FilterField("page", "number", values.tolist(), codes.astype(np.int32))


def _read_field(stem: Path, entry: Mapping[str, Any], rows: NDArray[np.int64] | None) -> FilterField:
    stored, kinds = load_array(stem.with_suffix(".npy"), mapped=True), entry.get("kinds")
    values = read_json(stem.with_suffix(".json"))
    if entry["rows_of_several"] is None:
        return FilterField(entry["name"], entry["type"], values, stored, rows=rows, kinds=kinds)
    bounds, codes = np.split(stored, [entry["rows_of_several"] + 1])
    return FilterField(entry["name"], entry["type"], values, codes, bounds, rows, kinds)


# Fields that every generation has, with their types. Values of other types are skipped.
_DOCUMENT_FIELDS: Mapping[str, FieldType] = {"authors": "text", "language": "text", "year": "number"}
_NODE_FIELDS: Mapping[str, FieldType] = {"kind": "text", "topics": "text", "organisations": "text", "dates": "date"}
_RESERVED_NAMES = frozenset({"document", "id", "source", "title", "modified_at", "section", "page", "collection"})
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ][\d:.+\-Z]{1,30})?)?)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.+\-Z]{1,30})?")


def build_fields(store: Store, contents: GenerationContents, documents: NDArray[np.int64]) -> list[FilterField]:
    """Build all fields except `page`. `documents`, shape (nodes,), has each node's position in `contents.versions`."""
    described = store.documents.of_versions(contents.versions)
    nodes = _NodeValues.read(store, contents.nodes, described)
    of_documents = _all_document_fields(described, documents, nodes.columns.keys())
    return [*of_documents, nodes.sections(), *(nodes.field(name) for name in nodes.columns)]


def updated_fields(
    store: Store, change: GenerationChange, before: FilterFields, documents: NDArray[np.int64]
) -> list[FilterField] | None:
    """Build the same fields as `build_fields`, but from the previous generation's fields and the changed nodes.

    Returns None if all nodes must be read, because a field of nodes is new or its type has changed.
    """
    described = store.documents.of_versions(change.versions)
    gone = store.documents.of_versions(sorted({node.version for node in change.removed}))
    known = {name: it for name in before.names if (it := before.get(name)) and it.kinds is not None}
    added = _NodeValues.read(store, change.added.nodes, described, known)
    removed = _NodeValues.read(store, change.removed, gone, known)
    if not added.columns.keys() <= known.keys():
        return None
    fields = []
    for name, field in known.items():
        kinds = Counter(field.kinds)
        kinds.update(added.kinds(name))
        kinds.subtract(removed.kinds(name))
        if _type_of(name, kinds) != field.type:
            return None
        if kinds[_OWN] or name in _NODE_FIELDS:
            several = bool(kinds[_LISTS])
            fields.append(replace(_merged(field, added.field(name, field.type), change, several=several), kinds=kinds))
    old_sections = before.get("section")
    if old_sections is None:
        return None
    sections = _merged(old_sections, added.sections(), change, several=False)
    return [*_all_document_fields(described, documents, {field.name for field in fields}), sections, *fields]


def _merged(before: FilterField, added: FilterField, change: GenerationChange, *, several: bool) -> FilterField:
    """Return the next generation's field, given the previous generation's field and the added nodes' field."""
    (old_rows, old_codes), (new_rows, new_codes) = _entries(before), _entries(added)
    kept = change.moved[old_rows] >= 0
    old_codes = old_codes[kept]
    used = np.unique(old_codes)
    old_values = [before.values[place] for place in used.tolist()]
    values = sorted({*old_values, *added.values})
    places = {value: place for place, value in enumerate(values)}
    numbers = np.zeros(len(before.values), dtype=np.int32)
    numbers[used] = [places[value] for value in old_values]
    new_numbers = np.array([places[value] for value in added.values], dtype=np.int32)
    rows = np.concatenate([change.moved[old_rows[kept]], change.places[new_rows]])
    codes = np.concatenate([numbers[old_codes], new_numbers[new_codes]])
    size = len(change.ids)
    if not several:
        single = np.full(size, -1, dtype=np.int32)
        single[rows] = codes
        return FilterField(before.name, before.type, values, single)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))]).astype(np.int64)
    return FilterField(before.name, before.type, values, codes[np.argsort(rows, kind="stable")], bounds)


def _entries(field: FilterField) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return each (row, index in `field.values`) pair of a field, as two arrays in the order of the rows."""
    if field.bounds is None:
        rows = np.flatnonzero(field.codes >= 0)
        return rows, field.codes[rows]
    return np.repeat(np.arange(len(field.bounds) - 1), np.diff(field.bounds)), field.codes


@dataclass(frozen=True)
class _NodeValues:
    """The field values and section headings of some nodes.

    A node whose metadata does not have a field inherits its document's value. `own` counts, by field, the nodes whose
    own metadata has it.
    """

    headings: Sequence[str | None]
    columns: Mapping[str, list[Any]]
    own: Mapping[str, int]

    @classmethod
    def read(
        cls, store: Store, nodes: Sequence[NodeRecord], documents: Sequence[StoredDocument], names: Iterable[str] = ()
    ) -> "_NodeValues":
        """Read the nodes' values in the fields `names` and in all fields that occur in the nodes' metadata."""
        by_id = node_rows(store.database, sorted({node.version for node in nodes}))
        rows = [by_id[node.node_id] for node in nodes]
        columns = _columns([metadata for _, metadata in rows], (*_NODE_FIELDS, *names))
        inherited = {document.version: document.metadata for document in documents}
        for name in columns.keys() & {name for metadata in inherited.values() for name in metadata}:
            pairs = zip(columns[name], nodes, strict=True)
            columns[name] = [inherited[node.version].get(name) if own is None else own for own, node in pairs]
        own = Counter(name for _, metadata in rows for name in metadata)
        return cls([heading for heading, _ in rows], columns, own)

    def sections(self) -> FilterField:
        """Return the field of the section headings."""
        return single_valued("section", "path", self.headings)

    def kinds(self, name: str) -> Counter[str]:
        """Return what decides a field's type and form, as counts: {"number": 12, "text": 3, "lists": 2, "own": 5}.

        The values are counted by type. "lists" counts the nodes with a list of values. "own" counts the nodes whose own
        metadata has the field; all others inherit the value of their document.
        """
        rows = _split_authors(name, self.columns.get(name, []))
        counts = Counter(
            map(lru_cache(maxsize=None, typed=True)(_kind), (one for row in rows for one in _scalars(row)))
        )
        return counts + Counter({_LISTS: sum(isinstance(row, list) for row in rows), _OWN: self.own.get(name, 0)})

    def field(self, name: str, of_type: FieldType | None = None) -> FilterField:
        """Return a field of these nodes. If `of_type` is None, its type is the one that fits the values."""
        kinds = self.kinds(name)
        return replace(_typed_field(name, self.columns[name], of_type or _type_of(name, kinds)), kinds=kinds)


def _all_document_fields(
    described: Sequence[StoredDocument], documents: NDArray[np.int64], of_nodes: Collection[str]
) -> list[FilterField]:
    """Build the fields with one row per document: all except those in `of_nodes`."""
    columns = _columns([document.metadata for document in described], _DOCUMENT_FIELDS)
    typed = [_typed_field(name, rows) for name, rows in columns.items() if name not in of_nodes]
    return [replace(field, rows=documents) for field in [*_document_fields(described), *typed]]


def _document_fields(documents: Sequence[StoredDocument]) -> list[FilterField]:
    """Build the fields that identify a document. Of identical documents, each has the ids and paths of all."""
    same: dict[tuple[object, ...], list[StoredDocument]] = defaultdict(list)
    for document in documents:
        same[document.content_key].append(document)
    names: dict[str, Callable[[StoredDocument], tuple[str, ...]]] = {
        "id": lambda row: (row.document_id,),
        "source": lambda row: (row.source,),
        "title": lambda row: (row.title,),
        "document": lambda row: (row.document_id, row.source, PurePosixPath(row.source).name, row.title),
    }
    found = [
        many_valued(
            name,
            "text",
            [sorted({value for row in same[one.content_key] for value in of(row)}) for one in documents],
        )
        for name, of in names.items()
    ]
    moments = [_as_date(document.modified_at) for document in documents]
    return [*found, single_valued("modified_at", "date", moments)]


def _columns(rows: Sequence[Mapping[str, Any]], expected: Iterable[str]) -> dict[str, list[Any]]:
    """Return the value of each row (node or document), by field name, with None for a row without a value."""
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in expected}
    for place, row in enumerate(rows):
        for name, value in row.items():
            if name not in columns:
                columns[name] = [None] * len(rows)
            columns[name][place] = value
    return {name: column for name, column in columns.items() if name not in _RESERVED_NAMES}


def _typed_field(name: str, rows: Sequence[Any], of_type: FieldType | None = None) -> FilterField:
    """Build a field. If `of_type` is None, `_type_of` chooses its type."""
    rows = _split_authors(name, rows)
    of_type = of_type or _type_of(name, Counter(_kind(one) for row in rows for one in _scalars(row)))
    cleaners: dict[FieldType, Callable[[Any], FieldValue | None]] = {"number": _as_number, "date": _as_date}
    # The results are cached, because values repeat often. `typed` distinguishes True from 1.
    clean = lru_cache(maxsize=None, typed=True)(cleaners.get(of_type, partial(_as_text, strip=name == "authors")))
    kept = [[clean(one) for one in _scalars(row)] for row in rows]
    if any(isinstance(row, list) for row in rows):
        return many_valued(name, of_type, [sorted({one for one in row if one is not None}) for row in kept])
    return single_valued(name, of_type, [row[0] if row else None for row in kept])


def _split_authors(name: str, rows: Sequence[Any]) -> Sequence[Any]:
    return [row.split(";") if isinstance(row, str) else row for row in rows] if name == "authors" else rows


def _scalars(row: Any) -> list[Any]:
    """Return a row's value or values as a list, keeping only texts, numbers and booleans."""
    return [value for value in (row if isinstance(row, list) else [row]) if isinstance(value, str | int | float)]


_OWN, _LISTS = "own", "lists"


def _kind(value: FieldValue) -> FieldType:
    """Return the field type that fits one value: 7 -> "number", "2024-03-01" -> "date", "2024-03" -> "text"."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return "date" if isinstance(value, str) and _DAY.fullmatch(value) and _as_date(value) else "text"


def _type_of(name: str, kinds: Mapping[str, int]) -> FieldType:
    """Return the field's predefined type. If it has none, return the type that fits all values counted in `kinds`."""
    if name in OWNER_FIELDS:
        return "text"  # otherwise the tenants 7 and 007 would be the same
    if name in _NODE_FIELDS or name in _DOCUMENT_FIELDS:
        return {**_NODE_FIELDS, **_DOCUMENT_FIELDS}[name]
    fitting: list[FieldType] = [kind for kind in ("number", "date") if kinds.get(kind)]
    return fitting[0] if len(fitting) == 1 and not kinds.get("text") else "text"


def _as_text(value: Any, *, strip: bool = False) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return (text.strip() if strip else text) or None


def _as_number(value: Any) -> int | float | None:
    """Return a finite number as it is, a text of at most 15 digits as a number, and otherwise None."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 16 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _as_date(value: Any) -> str | None:
    """Return a date with the precision of the text, such as 2024-03, or None. Timestamps are converted to UTC."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        moment = datetime.fromisoformat(value + "-01-01"[len(value) - 4 :] if len(value) < 10 else value)
    except ValueError:
        return None
    if len(value) <= 10:
        return value
    zoned = moment.astimezone(UTC) if moment.tzinfo else moment
    return zoned.replace(tzinfo=None).isoformat(timespec="seconds")
