"""Document versions and their nodes are stored completely and read back unchanged."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from elt_llm_core.collection.lifecycle import publish
from elt_llm_core.errors import StoreError
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.records import FileRecord, NewDocument, document_id, sha256, version_key
from elt_llm_core.store.store import Store, open_store
from hypothesis import given
from hypothesis import strategies as st
from stored.shelf import COLLECTION, new_document, recipe_of


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with open_store(workspace, for_writing=True) as opened:
        opened.collections.create(COLLECTION)
        yield opened


def _add(store: Store, document: NewDocument) -> int:
    return store.documents.add(store.collections.get(COLLECTION).id, document)


def _count(store: Store, table: str) -> int:
    return int(store.database.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - a name from below


def test_a_document_version_is_found_by_its_key_with_its_text_and_spans(store: Store) -> None:
    document = new_document("a.md", ["First chunk.", "Second chunk."])
    version = _add(store, document)
    assert store.documents.find(document.key) == version
    assert store.documents.text(version) == "First chunk.\nSecond chunk."
    assert store.nodes.spans(version) == [(0, 12, "First chunk."), (13, 26, "Second chunk.")]
    assert store.documents.summary(version) == ("ok", (), 2)


@pytest.mark.parametrize(
    "change", [{"text": "Another text."}, {"start": 1}, {"end": 11}, {"text": "", "start": 0, "end": 0}]
)
def test_a_node_whose_text_differs_from_its_span_is_refused_and_nothing_is_stored(
    store: Store, change: dict[str, Any]
) -> None:
    document = new_document("a.md", ["First chunk.", "Second chunk."])
    wrong = replace(document, nodes=(document.nodes[0], replace(document.nodes[0], **change)))
    with pytest.raises(StoreError, match=r"a\.md"):
        _add(store, wrong)
    assert _count(store, "document_versions") == _count(store, "texts") == _count(store, "nodes") == 0


def test_no_part_of_a_document_whose_insertion_fails_is_stored(store: Store) -> None:
    document = new_document("a.md", ["First chunk.", "Second chunk."])
    unstorable = replace(document.nodes[1], page="not a number")  # type: ignore[arg-type]
    with pytest.raises(StoreError):
        _add(store, replace(document, nodes=(document.nodes[0], unstorable)))
    assert _count(store, "document_versions") == _count(store, "texts") == _count(store, "nodes") == 0


def test_the_same_document_version_cannot_be_stored_twice(store: Store) -> None:
    _add(store, new_document("a.md", ["Text."]))
    with pytest.raises(StoreError, match=r"(?i)unique"):
        _add(store, new_document("a.md", ["Text."]))
    assert _count(store, "document_versions") == 1


def test_equal_texts_of_two_documents_are_stored_once(store: Store) -> None:
    _add(store, new_document("a.md", ["Same text."]))
    _add(store, new_document("b.md", ["Same text."]))
    assert (_count(store, "document_versions"), _count(store, "texts")) == (2, 1)


def test_a_missing_document_version_is_reported(store: Store) -> None:
    for ask in (store.documents.text, store.documents.summary):
        with pytest.raises(StoreError, match="version 99") as caught:
            ask(99)
        assert caught.value.hint


def test_rows_of_the_files_found_by_a_scan_can_be_stored_replaced_and_deleted(store: Store) -> None:
    record = store.collections.get(COLLECTION)
    seen = FileRecord("d1", "root", "a.md", 1, 2, 3, b"hash", "ok", "")
    store.files.record(record.id, [seen], [])
    assert store.files.of_collection(record.id) == {"d1": seen}
    store.files.record(record.id, [replace(seen, size=9)], [])
    assert store.files.of_collection(record.id)["d1"].size == 9
    store.files.record(record.id, [], ["d1"])
    assert store.files.of_collection(record.id) == {}


@pytest.mark.parametrize(
    ("outcome", "changed", "outdated"), [("failed", True, True), ("failed", False, False), ("ok", True, False)]
)
def test_a_document_and_its_parts_are_outdated_if_their_changed_file_could_not_be_read(
    store: Store, outcome: str, changed: bool, outdated: bool
) -> None:
    collection, model = store.collections.get(COLLECTION).id, FakeEmbedding()
    book, part = new_document("a.xlsx", []), replace(new_document("a.xlsx#fees", []), part="fees")
    versions = store.documents.with_parts([store.documents.add(collection, book, [part])])
    number = publish(store, COLLECTION, versions, recipe_of(model), SilentListener()).number
    digest = b"new" if changed else book.content_hash
    file = FileRecord(book.document_id, "shelf", "a.xlsx", 1, 2, 3, digest, outcome, "damaged")
    store.files.record(collection, [file], [])
    asked = [book.document_id, part.document_id]
    assert store.documents.outdated(collection, number, asked) == (dict.fromkeys(asked, "damaged") if outdated else {})


PARTS = st.lists(st.one_of(st.text(max_size=4), st.binary(max_size=4)), max_size=4)


@given(PARTS, PARTS)
def test_the_function_sha256_gives_equal_digests_only_for_equal_lists_of_texts_and_bytes(
    one: list[str | bytes], two: list[str | bytes]
) -> None:
    plain = [
        [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in x] for x in (one, two)
    ]
    assert (sha256(*one) == sha256(*two)) == (plain[0] == plain[1])


def test_the_key_of_a_document_version_changes_with_each_of_its_inputs() -> None:
    assert len({document_id("c", "r", "p"), document_id("c", "rp", ""), document_id("cr", "", "p")}) == 3
    keys = {
        version_key(*values)
        for values in (("d", b"h", "r", "c"), ("d", b"h", "r", "c2"), ("d", b"h", "r2", "c"), ("d", b"h2", "r", "c"))
    }
    assert len(keys) == 4
