"""Filterable fields of a generation: sorted values, and which of them each node has.

On the disk, below `fields/filters`: `index.json` lists the fields in order; the field in place n has `n.npy`, its
codes, and `n.json`, its values. A field that is the same for all nodes of a document is kept once per document and
spread by `fields/document.npy`. A generation from before there were fields has page numbers only.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import CorruptIndex

FieldType = Literal["text", "path", "number", "date"]
Value = str | int | float
FILTERS_FOLDER, INDEX_NAME = "filters", "index.json"


@dataclass(frozen=True)
class Field:
    """Which values each row has; a row is a node, or a document where `rows` spreads documents over nodes.

    `values` are distinct and ascend. `codes` are places in `values`: one per row, -1 for none; or, where a row may
    have several, those of all rows in order, row r having codes[bounds[r]:bounds[r + 1]]. Dates are ISO 8601 texts.
    `rows`, shape (nodes,), is the document of each node.
    """

    name: str
    type: FieldType
    values: Sequence[Value]
    codes: NDArray[Any]
    bounds: NDArray[Any] | None = None
    rows: NDArray[np.int64] | None = None

    def having(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mask, shape (nodes,), of those with at least one of the chosen values; `chosen` is one bool per value."""
        hits: NDArray[np.bool_] = np.append(chosen, False)[self.codes]  # -1, no value, falls on the False at the end
        if self.bounds is not None:
            sums = np.concatenate([[0], np.cumsum(hits)])
            hits = sums[self.bounds[1:]] > sums[self.bounds[:-1]]
        return hits if self.rows is None else hits[self.rows]


class Fields:
    """The fields of an open generation by name; each is read when it is first asked for, and kept.

    `complete` is False for a generation that was published before fields were kept.
    """

    def __init__(self, readers: Mapping[str, Callable[[], Field]], *, complete: bool = True) -> None:
        self._readers = dict(readers)
        self._read: dict[str, Field] = {}
        self.complete = complete

    @property
    def names(self) -> list[str]:
        """Names of all fields, ascending."""
        return sorted(self._readers)

    def get(self, name: str) -> Field | None:
        """The field of this name, or None. Raises CorruptIndex if its files cannot be read."""
        if name not in self._read and name in self._readers:
            self._read[name] = self._readers[name]()
        return self._read.get(name)


def single_valued(name: str, of_type: FieldType, rows: Sequence[Value | None]) -> Field:
    """A field whose rows have one value or none."""
    values = sorted({value for value in rows if value is not None})
    places = {value: place for place, value in enumerate(values)}
    codes = np.fromiter((-1 if value is None else places[value] for value in rows), dtype=np.int32, count=len(rows))
    return Field(name, of_type, values, codes)


def many_valued(name: str, of_type: FieldType, rows: Sequence[Sequence[Value]]) -> Field:
    """A field whose rows have any number of values."""
    flat = [value for row in rows for value in row]
    codes = single_valued(name, of_type, flat)
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return replace(codes, bounds=bounds)


def write_fields(directory: Path, fields: Sequence[Field]) -> None:
    """Write fields into the `fields` folder of a new generation; those with `rows` as fields of documents."""
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


def open_fields(directory: Path, arrays: Mapping[str, NDArray[np.int64]]) -> Fields:
    """The fields of a generation; `arrays` are its plain ones, `document` and `page`. Raises CorruptIndex."""
    folder = directory / FILTERS_FOLDER
    readers: dict[str, Callable[[], Field]] = {"page": partial(_page_field, arrays["page"])}
    if not folder.is_dir():
        return Fields(readers, complete=False)
    listing = _read_json(folder / INDEX_NAME)
    for place, entry in enumerate(listing):
        rows = arrays["document"] if entry["of"] == "document" else None
        readers[entry["name"]] = partial(_read_field, folder / str(place), entry, rows)
    return Fields(readers)


def _page_field(pages: NDArray[np.int64]) -> Field:
    values = np.unique(pages[pages > 0])
    codes = np.where(pages > 0, np.searchsorted(values, pages), -1)
    return Field("page", "number", values.tolist(), codes.astype(np.int32))


def _read_field(stem: Path, entry: Mapping[str, Any], rows: NDArray[np.int64] | None) -> Field:
    try:
        stored: NDArray[Any] = np.load(stem.with_suffix(".npy"), mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _corrupt(stem, str(error)) from error
    values = _read_json(stem.with_suffix(".json"))
    if entry["rows_of_several"] is None:
        return Field(entry["name"], entry["type"], values, stored, rows=rows)
    bounds, codes = np.split(stored, [entry["rows_of_several"] + 1])
    return Field(entry["name"], entry["type"], values, codes, bounds, rows)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise _corrupt(path, str(error)) from error


def _corrupt(path: Path, why: str) -> CorruptIndex:
    return CorruptIndex(f"{path} is damaged: {why}.", hint="Run: elt-llm verify")
