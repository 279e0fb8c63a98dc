"""Stored filter fields find the same nodes as a simple loop over all nodes."""

from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.errors import CorruptIndex
from elt_llm_core.index.fields import FILTERS_FOLDER, FilterField, many_valued, open_fields, single_valued, write_fields
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.sampled_from(["apple", "apples", "Ärger", "zebra", "1"])
ONE_OR_NONE = st.lists(st.none() | WORDS, max_size=30)
SEVERAL = st.lists(st.lists(WORDS, unique=True, max_size=3), max_size=30)
NODES_OF_DOCUMENTS = np.array([0, 0, 2], dtype=np.int64)


def _mask_of(field: FilterField, wanted: str) -> list[bool]:
    chosen = np.array([value == wanted for value in field.values], dtype=bool)
    return [bool(has) for has in field.having(chosen)]


@given(ONE_OR_NONE, WORDS)
def test_nodes_are_found_by_the_value_of_a_filter_field_with_one_value_per_node(
    rows: list[str | None], wanted: str
) -> None:
    assert _mask_of(single_valued("word", "text", rows), wanted) == [value == wanted for value in rows]


@given(SEVERAL, WORDS)
def test_nodes_are_found_by_each_value_of_a_filter_field_with_several_values_per_node(
    rows: list[list[str]], wanted: str
) -> None:
    assert _mask_of(many_valued("word", "text", rows), wanted) == [wanted in row for row in rows]


def test_written_filter_fields_are_read_back_and_document_fields_apply_to_each_node(tmp_path: Path) -> None:
    of_documents = many_valued("names", "text", [["a", "b"], [], ["b"]])
    written = [
        single_valued("kind", "text", ["table", None, "text"]),
        FilterField(
            "names", "text", of_documents.values, of_documents.codes, of_documents.bounds, rows=NODES_OF_DOCUMENTS
        ),
        single_valued("year", "number", [2020, 1999, 2020]),
    ]
    write_fields(tmp_path, written)
    pages = np.array([0, 7, 3], dtype=np.int64)
    fields = open_fields(tmp_path, {"document": NODES_OF_DOCUMENTS, "page": pages})
    assert fields.complete
    assert fields.names == ["kind", "names", "page", "year"]
    read = {name: fields.get(name) for name in fields.names}
    assert {name: field.type for name, field in read.items() if field} == {
        "kind": "text",
        "names": "text",
        "page": "number",
        "year": "number",
    }
    assert [_mask_of(field, "b") for name, field in read.items() if field and name == "names"] == [[True, True, True]]
    assert [_mask_of(field, "a") for name, field in read.items() if field and name == "names"] == [[True, True, False]]
    assert [list(field.values) for name, field in read.items() if field and name == "page"] == [[3, 7]]
    assert [field.codes.tolist() for name, field in read.items() if field and name == "page"] == [[-1, 1, 0]]
    assert fields.get("no such") is None


def test_a_generation_without_a_fields_folder_has_only_the_page_field(tmp_path: Path) -> None:
    fields = open_fields(tmp_path, {"document": NODES_OF_DOCUMENTS, "page": np.zeros(3, dtype=np.int64)})
    assert (fields.complete, fields.names) == (False, ["page"])


def test_the_filter_fields_of_an_empty_generation_are_read_back(tmp_path: Path) -> None:
    none = np.zeros(0, dtype=np.int64)
    write_fields(tmp_path, [many_valued("names", "text", []), single_valued("kind", "text", [])])
    fields = open_fields(tmp_path, {"document": none, "page": none})
    assert [_mask_of(field, "a") for name in fields.names if (field := fields.get(name))] == [[], [], []]


@pytest.mark.parametrize("name", ["0.npy", "0.json"])
def test_a_damaged_field_file_raises_corrupt_index(tmp_path: Path, name: str) -> None:
    write_fields(tmp_path, [single_valued("kind", "text", ["table"])])
    (tmp_path / FILTERS_FOLDER / name).write_bytes(b"[")
    one = np.zeros(1, dtype=np.int64)
    with pytest.raises(CorruptIndex, match=name.replace(".npy", "")):
        open_fields(tmp_path, {"document": one, "page": one}).get("kind")
