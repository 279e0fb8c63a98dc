"""Which fields a generation can be filtered by, made from what the store knows of its documents and nodes.

Metadata are fields under their own names. A name that several documents give values of different kinds is text. What
a chunk says of itself goes before what its document says, as in results.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.index.contents import Contents
from elt_llm_core.index.fields import Field, FieldType, Value, many_valued, single_valued
from elt_llm_core.store.field_rows import DocumentRow, NodeRow, document_rows, node_rows
from elt_llm_core.store.store import Store

# Fields that are there even where no document has a value, with the type that other values are left out for.
_OF_DOCUMENTS: Mapping[str, FieldType] = {"authors": "text", "language": "text", "year": "number"}
_OF_NODES: Mapping[str, FieldType] = {"kind": "text", "topics": "text", "organisations": "text", "dates": "date"}
_TAKEN = frozenset({"document", "id", "source", "title", "modified_at", "section", "page", "collection"})
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ][\d:.+\-Z]{1,30})?)?)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.+\-Z]{1,30})?")
_Columns = Mapping[str, Sequence[Any]]


def fields_of(store: Store, contents: Contents, documents: NDArray[np.int64]) -> list[Field]:
    """All fields but the page, which has its own array; `documents`, shape (nodes,), is the document of each node."""
    described = document_rows(store.database, contents.versions)
    by_id = node_rows(store.database, contents.versions)
    nodes = [by_id[node_id] for node_id in contents.ids]
    of_nodes = _columns([node.metadata for node in nodes], _OF_NODES)
    of_documents = _columns([document.metadata for document in described], _OF_DOCUMENTS)
    for name in of_nodes.keys() & of_documents.keys():
        of_nodes[name] = _first_given(of_nodes[name], of_documents.pop(name), documents)
    fields = [replace(field, rows=documents) for field in _document_fields(described)]
    fields += [replace(_typed(name, rows), rows=documents) for name, rows in of_documents.items()]
    return [*fields, _section_field(nodes), *(_typed(name, rows) for name, rows in of_nodes.items())]


def _document_fields(documents: Sequence[DocumentRow]) -> list[Field]:
    """What names a document. One of several with the same bytes is indexed: it is found by the names of all."""
    same: dict[tuple[bytes, str], list[DocumentRow]] = defaultdict(list)
    for document in documents:
        same[document.bytes_key].append(document)
    names: dict[str, Callable[[DocumentRow], tuple[str, ...]]] = {
        "id": lambda row: (row.document_id,),
        "source": lambda row: (row.source,),
        "title": lambda row: (row.title,),
        "document": lambda row: (row.document_id, row.source, PurePosixPath(row.source).name, row.title),
    }
    found = [
        many_valued(
            name,
            "text",
            [sorted({value for row in same[one.bytes_key] for value in of(row)}) for one in documents],
        )
        for name, of in names.items()
    ]
    moments = [_as_date(document.modified_at) for document in documents]
    return [*found, single_valued("modified_at", "date", moments)]


def _section_field(nodes: Sequence[NodeRow]) -> Field:
    return single_valued("section", "path", [node.section for node in nodes])


def _columns(rows: Sequence[Mapping[str, Any]], expected: Mapping[str, FieldType]) -> dict[str, list[Any]]:
    """By name, the value that each row has, None where it has none."""
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in expected}
    for place, row in enumerate(rows):
        for name, value in row.items():
            if name not in columns:
                columns[name] = [None] * len(rows)
            columns[name][place] = value
    return {name: column for name, column in columns.items() if name not in _TAKEN}


def _first_given(of_nodes: Sequence[Any], of_documents: Sequence[Any], documents: NDArray[np.int64]) -> list[Any]:
    return [
        of_documents[document] if value is None else value
        for value, document in zip(of_nodes, documents.tolist(), strict=True)
    ]


def _typed(name: str, rows: Sequence[Any]) -> Field:
    """The column as a field of the type that is expected under its name, else of the one that fits all its values."""
    if name == "authors":
        rows = [value.split(";") if isinstance(value, str) else value for value in rows]
    of_type = {**_OF_NODES, **_OF_DOCUMENTS}.get(name) or _type_of(rows)
    cleaners: dict[FieldType, Callable[[Any], Value | None]] = {"number": _as_number, "date": _as_date}
    # The same values come again and again; True is not taken for 1.
    clean = lru_cache(maxsize=None, typed=True)(cleaners.get(of_type, partial(_as_text, strip=name == "authors")))
    if any(isinstance(value, list) for value in rows):
        return many_valued(name, of_type, [_cleaned(value, clean) for value in rows])
    return single_valued(name, of_type, [clean(value) if _is_plain(value) else None for value in rows])


def _type_of(rows: Sequence[Any]) -> FieldType:
    values = {one for row in rows for one in (row if isinstance(row, list) else [row]) if _is_plain(one)}
    if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "number"
    if values and all(isinstance(value, str) and _DAY.fullmatch(value) and _as_date(value) for value in values):
        return "date"
    return "text"


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _cleaned(value: Any, clean: Callable[[Any], Value | None]) -> list[Value]:
    if value is None:
        return []
    given = value if isinstance(value, list) else [value]
    return sorted({cleaned for one in given if _is_plain(one) and (cleaned := clean(one)) is not None})


def _as_text(value: Any, *, strip: bool = False) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return (text.strip() if strip else text) or None


def _as_number(value: Any) -> int | float | None:
    """A number, also one that is written as text; the int of a float that is one."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 16 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _as_date(value: Any) -> str | None:
    """A date as far as it is known, such as 2024-03; a moment in UTC, to the second."""
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
