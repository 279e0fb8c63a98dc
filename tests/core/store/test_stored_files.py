"""A stored version of a file is read back unchanged, with its parts."""

from dataclasses import replace
from pathlib import Path

import pytest
from elt_llm_core.errors import StoreError
from elt_llm_core.store.documents import file_versions_of, read_file_version
from elt_llm_core.store.records import NewDocument
from elt_llm_core.text.outline import Section
from stored.shelf import new_document, some_documents, writing


def _rich_document() -> NewDocument:
    [(path, texts)] = some_documents(1).items()
    plain = new_document(path, texts)
    nodes = tuple(replace(node, context="Above", page=1, metadata={"kind": "prose"}) for node in plain.nodes)
    return replace(
        plain,
        nodes=nodes,
        pages=(0, 20),
        sections=(Section(0, 1, "First"),),
        metadata={"year": 1999, "authors": "A; B"},
        notes=("A note",),
        extraction="dates-1",
        modified_at="2024-01-01T00:00:00+00:00",
        artefacts={"model": {"entities": [1, 2]}},
    )


def test_a_stored_file_with_the_documents_within_it_is_read_back_unchanged(tmp_path: Path) -> None:
    document = _rich_document()
    parts = [replace(new_document(f"{document.path}#{name}", [f"About {name}."]), part=name) for name in ("a", "b")]
    with writing(tmp_path) as store:
        collection = store.collections.create("library").id
        version = store.documents.add(collection, document, parts)
        stored = read_file_version(store.database, version)
        assert (stored.collection, stored.document, list(stored.parts)) == (collection, document, parts)
        assert list(stored.numbers) == store.documents.with_parts([version])
        assert file_versions_of(store.database, stored.numbers) == [version]


def test_a_missing_document_version_is_reported(tmp_path: Path) -> None:
    with writing(tmp_path) as store, pytest.raises(StoreError, match="version 7 is not in the store"):
        read_file_version(store.database, 7)
