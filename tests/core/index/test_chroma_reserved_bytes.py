"""The bytes that Chroma's files reserve for further vectors are zeros, not uninitialised memory."""

from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.collection.purging import purge
from elt_llm_core.collection.verification import verify_collection
from elt_llm_core.index.contents import CHROMA_FOLDER, clear_reserved_bytes, has_uncleared_bytes
from elt_llm_core.progress import SilentListener
from elt_llm_core.store.store import Store
from stored.shelf import COLLECTION, put, some_documents


def test_the_reserved_bytes_of_a_published_chroma_index_are_zero(store: Store) -> None:
    put(store, some_documents(3))
    folder = store.folder(COLLECTION) / "1" / CHROMA_FOLDER
    [data] = folder.glob("*/data_level0.bin")
    assert not has_uncleared_bytes(folder)
    assert data.read_bytes().endswith(bytes(1000))
    content = data.read_bytes()
    data.write_bytes(content[:-100] + b"a secret" + content[-92:])
    assert has_uncleared_bytes(folder)
    clear_reserved_bytes(folder)
    assert data.read_bytes() == content
    assert verify_collection(store, COLLECTION).damage == ()


def test_a_folder_without_index_files_has_no_reserved_bytes_to_clear(store: Store) -> None:
    clear_reserved_bytes(store.data_dir)
    assert not has_uncleared_bytes(store.data_dir / "missing")


def test_a_purge_rebuilds_an_index_whose_reserved_bytes_are_not_zero(store: Store) -> None:
    put(store, some_documents(3))
    [data] = (store.folder(COLLECTION) / "1" / CHROMA_FOLDER).glob("*/data_level0.bin")
    data.write_bytes(data.read_bytes()[:-8] + b"a secret")
    assert purge(store, [], SilentListener()).rebuilt == (COLLECTION,)
    with open_generation(store, COLLECTION) as generation:
        assert generation.notes == ()
        assert generation.size == 12
