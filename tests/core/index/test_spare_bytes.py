"""Memory that Chroma happened to have is not published in what its files have in reserve."""

from elt_llm_core.collection import open_generation
from elt_llm_core.index.chroma import CHROMA_FOLDER
from elt_llm_core.index.spare_bytes import clear_spare_bytes, has_stray_bytes
from elt_llm_core.progress import SilentProgress
from elt_llm_core.purging import purge
from elt_llm_core.store.store import Store
from elt_llm_core.verification import examine
from shelf import COLLECTION, put, some_documents


def test_a_published_index_has_nothing_in_reserve(store: Store) -> None:
    put(store, some_documents(3))
    folder = store.folder(COLLECTION) / "1" / CHROMA_FOLDER
    [data] = folder.glob("*/data_level0.bin")
    assert not has_stray_bytes(folder)
    assert data.read_bytes().endswith(bytes(1000))
    content = data.read_bytes()
    data.write_bytes(content[:-100] + b"a secret" + content[-92:])
    assert has_stray_bytes(folder)
    clear_spare_bytes(folder)
    assert data.read_bytes() == content
    assert examine(store, COLLECTION).damage == ()


def test_a_folder_without_an_index_is_no_matter(store: Store) -> None:
    clear_spare_bytes(store.data_dir)
    assert not has_stray_bytes(store.data_dir / "missing")


def test_a_purge_rebuilds_an_index_with_stray_memory(store: Store) -> None:
    put(store, some_documents(3))
    [data] = (store.folder(COLLECTION) / "1" / CHROMA_FOLDER).glob("*/data_level0.bin")
    data.write_bytes(data.read_bytes()[:-8] + b"a secret")
    assert purge(store, [], SilentProgress()).rebuilt == (COLLECTION,)
    with open_generation(store, COLLECTION) as generation:
        assert generation.notes == ()
        assert generation.size == 12
