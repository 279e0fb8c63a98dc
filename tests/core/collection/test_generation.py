"""A generation with damaged, missing or outdated indexes still answers, with a note on each index."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import open_generation, publish
from elt_llm_core.errors import CorruptIndex, StoreError, UsageError
from elt_llm_core.index.builder import GenerationRecipe
from elt_llm_core.index.vector_index import ExactVectorStore
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.store.store import Store, open_store
from elt_llm_core.text.stems import KeywordTokeniser
from llama_index.core.vector_stores.types import VectorStoreQuery
from stored.shelf import COLLECTION, StoredLibrary, put, some_documents, stored_versions

ASK = """
import sys
from pathlib import Path
from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.store.store import open_store
from llama_index.core.vector_stores.types import VectorStoreQuery
question = FakeEmbedding().embed_question("anchor basin").tolist()
with open_store(Path(sys.argv[1])) as store, open_generation(store, "library") as generation:
    found = generation.vector_store.query(VectorStoreQuery(query_embedding=question, similarity_top_k=3))
    print(len(found.ids), *generation.notes)
"""


@contextmanager
def _opened(data_dir: Path) -> Iterator[Generation]:
    with open_store(data_dir) as store, open_generation(store, COLLECTION) as generation:
        yield generation


def _best(generation: Generation, question: str) -> tuple[list[str], list[float]]:
    vector = FakeEmbedding().embed_question(question)
    result = generation.vector_store.query(VectorStoreQuery(query_embedding=vector.tolist(), similarity_top_k=5))
    return result.ids or [], result.similarities or []


def _chroma_file(data_dir: Path, name: str) -> Path:
    [path] = (data_dir / "collections" / COLLECTION / "2" / "chroma").rglob(name)
    return path


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _turn_into_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [_truncate, _empty, Path.unlink, _turn_into_a_folder])
@pytest.mark.parametrize("name", ["chroma.sqlite3", "header.bin", "index_metadata.pickle"])
def test_an_unreadable_vector_index_is_replaced_by_exact_search_with_a_note(
    made: StoredLibrary, name: str, harm: Callable[[Path], None]
) -> None:
    with _opened(made.data_dir) as whole:
        expected = _best(whole, "anchor basin")
    harm(_chroma_file(made.data_dir, name))
    with _opened(made.data_dir) as generation:
        assert isinstance(generation.vector_store, ExactVectorStore)
        [note] = generation.notes
        assert "Vectors were searched exactly instead. Run: elt-llm verify -c library" in note
        assert np.allclose(_best(generation, "anchor basin")[1], expected[1], atol=1e-5)


def test_a_truncated_vector_index_never_crashes_the_reading_process(made: StoredLibrary) -> None:
    _truncate(_chroma_file(made.data_dir, "header.bin"))
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(made.data_dir)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 ")
    assert "header.bin: its bytes have changed" in done.stdout


@pytest.mark.parametrize("name", ["vocab.index.json", "params.index.json", "data.csc.index.npy"])
def test_a_damaged_keyword_index_is_rebuilt_in_memory_with_a_note(made: StoredLibrary, name: str) -> None:
    with _opened(made.data_dir) as whole:
        expected = whole.keyword.scores("anchor basin")
    _truncate(made.data_dir / "collections" / COLLECTION / "2" / "bm25" / name)
    with _opened(made.data_dir) as generation:
        [note] = generation.notes
        assert "rebuilt in memory. Run: elt-llm verify -c library" in note
        assert np.allclose(generation.keyword.scores("anchor basin"), expected)


ARRAYS = ["ids.npy", "vectors.npy", "fields/page.npy", "fields/document.npy", "fields/filters/0.npy"]


@pytest.mark.parametrize("name", ARRAYS)
def test_a_damaged_array_is_rebuilt_in_memory_with_a_note(made: StoredLibrary, name: str) -> None:
    with _opened(made.data_dir) as whole:
        ids, vectors, fields = whole.ids, np.array(whole.arrays.vectors), whole.filter_fields
        found = {name: fields.get(name) for name in fields.names}
        expected = {name: (it.type, list(it.values), np.array(it.codes)) for name, it in found.items() if it}
    _truncate(made.data_dir / "collections" / COLLECTION / "2" / name)
    with _opened(made.data_dir) as generation:
        [note] = generation.notes
        assert name in note
        assert "rebuilt in memory. Run: elt-llm verify -c library" in note
        assert generation.ids == ids
        assert np.array_equal(generation.arrays.vectors, vectors)
        for field, (kind, values, codes) in expected.items():
            rebuilt = generation.filter_fields.get(field)
            assert rebuilt is not None
            assert (rebuilt.type, list(rebuilt.values)) == (kind, values)
            assert np.array_equal(rebuilt.codes, codes)


def test_a_damaged_array_is_not_rebuilt_from_a_damaged_store(made: StoredLibrary) -> None:
    _truncate(made.data_dir / "collections" / COLLECTION / "2" / "vectors.npy")
    with closing(sqlite3.connect(made.data_dir / "store.sqlite3")) as store, store:
        store.execute("UPDATE vectors SET vector = zeroblob(256) WHERE id = 5")
    with pytest.raises(StoreError, match="have changed since they were published") as refused, _opened(made.data_dir):
        pytest.fail("the generation was opened")
    assert "elt-llm recover" in refused.value.hint


class OtherTokeniser(KeywordTokeniser):
    """A tokeniser that returns the same stems but has another fingerprint."""

    @property
    def fingerprint(self) -> str:
        return "an older tokeniser"


def test_a_keyword_index_of_another_tokeniser_is_rebuilt_in_memory_with_a_note(
    store: Store, embedding: FakeEmbedding
) -> None:
    versions = stored_versions(store, some_documents(3), embedding)
    recipe = GenerationRecipe(embedding.fingerprint, "line-1", OtherTokeniser(), ChromaSettings())
    publish(store, COLLECTION, versions, recipe, SilentListener())
    with open_generation(store, COLLECTION) as generation:
        assert "another tokeniser" in generation.notes[0]
        assert "elt-llm ingest -c library" in generation.notes[0]
        scores = generation.keyword.scores("entry")
    put(store, some_documents(3), embedding)
    with open_generation(store, COLLECTION) as generation:
        assert generation.notes == ()
        assert np.allclose(generation.keyword.scores("entry"), scores)


def test_a_generation_that_is_opened_twice_stays_usable_after_it_is_closed_once(made: StoredLibrary) -> None:
    with open_store(made.data_dir) as store:
        first, second = open_generation(store, COLLECTION), open_generation(store, COLLECTION)
        expected = _best(first, "tide")
        first.close()
        first.close()
        assert _best(second, "tide") == expected
        second.close()


def test_a_document_of_a_generation_is_found_by_id_path_file_name_or_title(store: Store) -> None:
    put(store, {"a/one.md": ["First text."], "b/one.md": ["Second text."], "b/two.md": ["Third text."]})
    with open_generation(store, COLLECTION) as generation:
        two = generation.document("b/two.md")
        assert two.text == "Third text."
        for reference in (two.document_id, "two.md", "two"):
            assert generation.document(reference) == two
        with pytest.raises(UsageError, match="names 2 documents") as caught:
            generation.document("one.md")
        assert all(path in caught.value.hint for path in ("a/one.md", "b/one.md"))
        with pytest.raises(UsageError, match="no document") as caught:
            generation.document("b/tow.md")
        assert "b/two.md" in caught.value.hint


def test_reading_a_missing_node_raises_an_error(made: StoredLibrary) -> None:
    with _opened(made.data_dir) as generation:
        with pytest.raises(CorruptIndex, match="not in the store"):
            generation.nodes(["no such node"])
        with pytest.raises(CorruptIndex):
            generation.arrays.positions(["no such node"])
        assert generation.nodes([]) == []
        assert generation.arrays.positions(generation.ids[3:5]).tolist() == [3, 4]
