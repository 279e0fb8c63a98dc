"""The filter fields of a generation, built from metadata, stored as arrays and read by name."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.index.contents import GenerationContents, load_array, read_json
from elt_llm_core.index.searchable import FieldType, FieldValue
from elt_llm_core.store.nodes import node_rows
from elt_llm_core.store.records import StoredDocument
from elt_llm_core.store.store import Store

FILTERS_FOLDER, INDEX_NAME = "filters", "index.json"


@dataclass(frozen=True)
class FilterField:
    """The values of one field for each row. A row is a node, or a document if `rows` maps nodes to documents.

    `values` are distinct and ascending; dates are ISO 8601 texts. `codes` are indexes into `values`. Without `bounds`
    there is one code per row, and -1 means no value. With `bounds`, a row may have several values: row r has the codes
    codes[bounds[r]:bounds[r + 1]]. `rows`, shape (nodes,), is the document of each node.
    """

    name: str
    type: FieldType
    values: Sequence[FieldValue]
    codes: NDArray[Any]
    bounds: NDArray[Any] | None = None
    rows: NDArray[np.int64] | None = None

    def having(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each node whether it has a chosen value, shape (nodes,). `chosen` has one bool per value."""
        # The code -1 (no value) selects the False at the end.
        hits: NDArray[np.bool_] = np.append(chosen, False)[self.codes]
        if self.bounds is not None:
            sums = np.concatenate([[0], np.cumsum(hits)])
            hits = sums[self.bounds[1:]] > sums[self.bounds[:-1]]
        return hits if self.rows is None else hits[self.rows]


class FilterFields:
    """The fields of an open generation by name, read on first use. `complete` is false if only `page` is known."""

    def __init__(self, readers: Mapping[str, Callable[[], FilterField]], *, complete: bool = True) -> None:
        self._readers = dict(readers)
        self._read: dict[str, FilterField] = {}
        self.complete = complete

    @property
    def names(self) -> list[str]:
        """The names of all fields, ascending."""
        return sorted(self._readers)

    def get(self, name: str) -> FilterField | None:
        """Return the field of this name, or None. Raises CorruptIndex if the files of the field cannot be read."""
        if name not in self._read and name in self._readers:
            self._read[name] = self._readers[name]()
        return self._read.get(name)


def single_valued(name: str, of_type: FieldType, rows: Sequence[FieldValue | None]) -> FilterField:
    """Build a field that has at most one value per row. A row is a node or a document."""
    values = sorted({value for value in rows if value is not None})
    places = {value: place for place, value in enumerate(values)}
    codes = np.fromiter((-1 if value is None else places[value] for value in rows), dtype=np.int32, count=len(rows))
    return FilterField(name, of_type, values, codes)


def many_valued(name: str, of_type: FieldType, rows: Sequence[Sequence[FieldValue]]) -> FilterField:
    """Build a field that can have several values per row. A row is a node or a document."""
    flat = [value for row in rows for value in row]
    codes = single_valued(name, of_type, flat)
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return replace(codes, bounds=bounds)


def write_fields(directory: Path, fields: Sequence[FilterField]) -> None:
    """Write fields to the folder of a new generation. A field with `rows` has one row per document."""
    folder = directory / FILTERS_FOLDER
    folder.mkdir()
    listing = []
    for place, field in enumerate(fields):
        several = None if field.bounds is None else len(field.bounds) - 1
        kept_for = "node" if field.rows is None else "document"
        listing.append({"name": field.name, "type": field.type, "of": kept_for, "rows_of_several": several})
        stored = field.codes if field.bounds is None else np.concatenate([field.bounds, field.codes])
        np.save(folder / f"{place}.npy", stored, allow_pickle=False)
        (folder / f"{place}.json").write_text(json.dumps(field.values), encoding="ascii")
    (folder / INDEX_NAME).write_text(json.dumps(listing, indent=1), encoding="ascii")


def open_fields(directory: Path, arrays: Mapping[str, NDArray[np.int64]]) -> FilterFields:
    """Open the fields of a generation with its arrays `document` and `page`. Raises CorruptIndex for damaged files."""
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
    """Return the fields that `build_fields` built, as `open_fields` would read them from files."""
    readers: dict[str, Callable[[], FilterField]] = {field.name: lambda field=field: field for field in fields}  # type: ignore[misc]
    return FilterFields({"page": partial(_page_field, arrays["page"]), **readers})


def _page_field(pages: NDArray[np.int64]) -> FilterField:
    values = np.unique(pages[pages > 0])
    codes = np.where(pages > 0, np.searchsorted(values, pages), -1)
    return FilterField("page", "number", values.tolist(), codes.astype(np.int32))


def _read_field(stem: Path, entry: Mapping[str, Any], rows: NDArray[np.int64] | None) -> FilterField:
    stored = load_array(stem.with_suffix(".npy"), mapped=True)
    values = read_json(stem.with_suffix(".json"))
    if entry["rows_of_several"] is None:
        return FilterField(entry["name"], entry["type"], values, stored, rows=rows)
    bounds, codes = np.split(stored, [entry["rows_of_several"] + 1])
    return FilterField(entry["name"], entry["type"], values, codes, bounds, rows)


# Fields that every generation has, with their types. Values of other types are skipped.
_DOCUMENT_FIELDS: Mapping[str, FieldType] = {"authors": "text", "language": "text", "year": "number"}
_NODE_FIELDS: Mapping[str, FieldType] = {"kind": "text", "topics": "text", "organisations": "text", "dates": "date"}
_RESERVED_NAMES = frozenset({"document", "id", "source", "title", "modified_at", "section", "page", "collection"})
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ][\d:.+\-Z]{1,30})?)?)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.+\-Z]{1,30})?")


def build_fields(store: Store, contents: GenerationContents, documents: NDArray[np.int64]) -> list[FilterField]:
    """Build all fields except `page`. `documents`, shape (nodes,), is the document number of each node."""
    described = store.documents.of_versions(contents.versions)
    by_id = node_rows(store.database, contents.versions)
    of_nodes = _columns([by_id[node_id][1] for node_id in contents.ids], _NODE_FIELDS)
    of_documents = _columns([document.metadata for document in described], _DOCUMENT_FIELDS)
    for name in of_nodes.keys() & of_documents.keys():
        column = of_documents.pop(name)
        inherited = (column[document] for document in documents.tolist())
        pairs = zip(of_nodes[name], inherited, strict=True)
        of_nodes[name] = [value if own is None else own for own, value in pairs]
    fields = [replace(field, rows=documents) for field in _document_fields(described)]
    fields += [replace(_typed_field(name, rows), rows=documents) for name, rows in of_documents.items()]
    fields.append(single_valued("section", "path", [by_id[node_id][0] for node_id in contents.ids]))
    return fields + [_typed_field(name, rows) for name, rows in of_nodes.items()]


def _document_fields(documents: Sequence[StoredDocument]) -> list[FilterField]:
    """Build the fields that identify a document. Identical documents each have the ids, paths and titles of all."""
    same: dict[tuple[str, str], list[StoredDocument]] = defaultdict(list)
    for document in documents:
        same[document.document_hash, document.part].append(document)
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
            [sorted({value for row in same[one.document_hash, one.part] for value in of(row)}) for one in documents],
        )
        for name, of in names.items()
    ]
    moments = [_as_date(document.modified_at) for document in documents]
    return [*found, single_valued("modified_at", "date", moments)]


def _columns(rows: Sequence[Mapping[str, Any]], expected: Mapping[str, FieldType]) -> dict[str, list[Any]]:
    """Return, by field name, the value of each row (node or document); None for a row without a value."""
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in expected}
    for place, row in enumerate(rows):
        for name, value in row.items():
            if name not in columns:
                columns[name] = [None] * len(rows)
            columns[name][place] = value
    return {name: column for name, column in columns.items() if name not in _RESERVED_NAMES}


def _typed_field(name: str, rows: Sequence[Any]) -> FilterField:
    """Build a field. Its type is the one that is defined for its name, or else the one that fits all its values."""
    if name == "authors":
        rows = [value.split(";") if isinstance(value, str) else value for value in rows]
    of_type = {**_NODE_FIELDS, **_DOCUMENT_FIELDS}.get(name) or _common_type(rows)
    cleaners: dict[FieldType, Callable[[Any], FieldValue | None]] = {"number": _as_number, "date": _as_date}
    # The results are cached, because values repeat often. `typed` distinguishes True from 1.
    clean = lru_cache(maxsize=None, typed=True)(cleaners.get(of_type, partial(_as_text, strip=name == "authors")))
    kept = [[clean(one) for one in _scalars(row)] for row in rows]
    if any(isinstance(row, list) for row in rows):
        return many_valued(name, of_type, [sorted({one for one in row if one is not None}) for row in kept])
    return single_valued(name, of_type, [row[0] if row else None for row in kept])


def _scalars(row: Any) -> list[Any]:
    """Return the value or values of a row as a list, without values of a type that a field cannot have."""
    return [value for value in (row if isinstance(row, list) else [row]) if isinstance(value, str | int | float)]


def _common_type(rows: Sequence[Any]) -> FieldType:
    values = {value for row in rows for value in _scalars(row)}
    if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "number"
    if values and all(isinstance(value, str) and _DAY.fullmatch(value) and _as_date(value) for value in values):
        return "date"
    return "text"


def _as_text(value: Any, *, strip: bool = False) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return (text.strip() if strip else text) or None


def _as_number(value: Any) -> int | float | None:
    """Return a finite number, also from a text of at most 15 digits, else None."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 16 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _as_date(value: Any) -> str | None:
    """Return the date in the precision of the text, such as 2024-03. A timestamp is converted to UTC."""
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
