"""Fixtures for the tests of elt_llm_core: an empty workspace, and a collection with two generations."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.store import Store
from stored.shelf import StoredLibrary, put, some_documents, writing


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> StoredLibrary:
    data_dir = tmp_path_factory.mktemp("template") / "data"
    with writing(data_dir) as store:
        first = put(store, some_documents(10))
        second = put(store, {**some_documents(10), **some_documents(1, first=50)})
    return StoredLibrary(data_dir, (first.collection_hash, second.collection_hash))


@pytest.fixture
def made(_template: StoredLibrary, tmp_path: Path) -> StoredLibrary:
    """Return a fresh copy of a collection with two generations. Generation 1 has 40 nodes, and generation 2 adds 4."""
    shutil.copytree(_template.data_dir, tmp_path / "data")
    return StoredLibrary(tmp_path / "data", _template.hashes)


@pytest.fixture
def store(tmp_path: Path, new_workspace: Callable[[Path], Workspace]) -> Iterator[Store]:
    """Open an empty workspace for writing."""
    with writing(new_workspace(tmp_path / "empty")) as opened:
        yield opened


@pytest.fixture
def embedding() -> FakeEmbedding:
    return FakeEmbedding()
