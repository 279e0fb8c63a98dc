"""A generation built from the previous one and the changed chunks equals a generation built from the store."""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import PublishedGeneration, collect_garbage, open_generation, publish
from elt_llm_core.collection.purging import purge
from elt_llm_core.collection.recovery import recover
from elt_llm_core.collection.verification import repair, verify_collection
from elt_llm_core.index.usearch import GraphVectorStore, build_graph, graph_faults
from elt_llm_core.index.vector_index import ExactVectorStore
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.store.database import STORE_NAME
from elt_llm_core.store.lock import writer_lock
from elt_llm_core.store.records import NewDocument
from elt_llm_core.store.store import Store
from llama_index.core.vector_stores.types import VectorStoreQuery
from sampling import FULL
from stored.shelf import COLLECTION, new_document, recipe_of, sentence, stored_versions, writing

pytestmark = pytest.mark.halved


Texts = dict[str, list[str]]
EMBEDDING = FakeEmbedding()
OF_CHUNKS: tuple[Mapping[str, Any], ...] = (
    {},
    {"kind": "table", "topics": ["tides", "law"]},
    {"kind": "text", "topics": ["law"], "dates": ["2024-03", "2025-01-02"]},
    {"edition": 3, "valid": "2024-05-01"},
    {"edition": 4, "topics": "music", "score": 0.5},
)
OF_DOCUMENTS: tuple[Mapping[str, Any], ...] = (
    {},
    {"year": 2020, "authors": "Ann; Bo", "edition": 7},
    {"year": 1999, "kind": "report", "shelf": "b"},
)


def _chance(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - repeatable, not secret


def _document(path: str, texts: Sequence[str], name: str) -> NewDocument:
    document = new_document(path, texts, name)
    number = sum(path.encode())
    nodes = tuple(
        replace(
            node,
            metadata=OF_CHUNKS[len(node.text) % len(OF_CHUNKS)],
            page=place % 3 or None,
            section=f"part {len(node.text) % 7}",
        )
        for place, node in enumerate(document.nodes)
    )
    return replace(document, nodes=nodes, metadata=OF_DOCUMENTS[number % len(OF_DOCUMENTS)])


def _publish(store: Store, texts: Texts, graph_from: int, *, afresh: bool = False) -> PublishedGeneration:
    versions = stored_versions(store, texts, EMBEDDING, document_of=_document)
    recipe = replace(recipe_of(EMBEDDING, ChromaSettings()), graph_from=graph_from)
    published = publish(store, COLLECTION, versions, recipe, SilentListener(), afresh=afresh)
    collect_garbage(store, keep=2)
    return published


def _library(count: int) -> Texts:
    return {f"page-{number:03}.md": [sentence(number * 5 + place) for place in range(5)] for number in range(count)}


def _edited(texts: Texts, chance: random.Random, step: int) -> Texts:
    """Return the documents without one, with a chunk of another changed, and with a new one, sometimes a copy."""
    edited = {path: list(chunks) for path, chunks in texts.items()}
    edited.pop(chance.choice(sorted(edited)))
    chunks = edited[chance.choice(sorted(edited))]
    chunks[chance.randrange(len(chunks))] = sentence(1000 + step, length=chance.randrange(3, 9))
    copied = chance.random() < 0.3
    added = list(chance.choice(list(edited.values()))) if copied else [sentence(2000 + step), sentence(3000 + step)]
    return {**edited, f"new-{step}.md": added}


def _fields(generation: Generation) -> dict[str, Any]:
    """Return, by field name, the field's type and, for each of its values, which nodes have it."""
    found: dict[str, Any] = {}
    for name in generation.filter_fields.names:
        field = generation.filter_fields.get(name)
        assert field is not None
        places = range(len(field.values))
        masks = [field.having(np.arange(len(field.values)) == place) for place in places]
        found[name] = (field.type, [(value, mask.tolist()) for value, mask in zip(field.values, masks, strict=True)])
    return found


def _contents(generation: Generation) -> dict[str, Any]:
    vectors = generation.arrays.vectors[np.arange(generation.size)]
    return {
        "ids": generation.ids,
        "vectors": vectors.tobytes(),
        "products": np.round(generation.arrays.vectors @ vectors[0], 5).tolist(),
        "arrays": {name: values.tolist() for name, values in generation.arrays.fields.items()},
        "fields": _fields(generation),
        "scores": [generation.keyword.scores(text).tobytes() for text in ("anchor", "tide and reef", "entry 1003")],
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize("graph_from", [10, 50_000])
@pytest.mark.parametrize("seed", range(20 if FULL else 2))
def test_a_generation_updated_from_the_previous_one_equals_a_generation_built_from_the_store(
    tmp_path: Path, seed: int, graph_from: int
) -> None:
    chance, texts = _chance(seed), _library(60)
    updated = 0
    with writing(tmp_path / "updated") as store, writing(tmp_path / "afresh") as other:
        for each in (store, other):
            _publish(each, texts, graph_from)
        for step in range(4):
            texts = _edited(texts, chance, step)
            published = _publish(store, texts, graph_from)
            updated += not published.afresh
            assert published.collection_hash == _publish(other, texts, graph_from, afresh=True).collection_hash
            with open_generation(store, COLLECTION) as one, open_generation(other, COLLECTION) as two:
                assert one.passport.index == ("usearch" if graph_from == 10 else "chroma")
                assert _contents(one) == _contents(two)
                assert one.notes == ()
            assert verify_collection(store, COLLECTION, deep=True).damage == ()
    assert updated >= 2


def test_a_field_whose_type_changes_is_rebuilt_from_the_values_of_all_chunks(tmp_path: Path) -> None:
    texts = _library(60)
    with writing(tmp_path / "data") as store:
        _publish(store, texts, 10)
        before = {f"page-{number:03}.md" for number in range(60)}
        assert texts.keys() == before
        record = store.collections.get(COLLECTION)
        with open_generation(store, COLLECTION) as generation:
            field = generation.filter_fields.get("score")
            assert field is not None
            assert field.type == "number"
        document = new_document("other.md", [sentence(5000)])
        nodes = tuple(replace(node, metadata={"score": "high"}) for node in document.nodes)
        version = store.documents.add(record.id, replace(document, nodes=nodes))
        wanted = store.nodes.to_embed([version])
        store.vectors.add(EMBEDDING.fingerprint.key, list(wanted), EMBEDDING.embed_texts(list(wanted.values())))
        versions = [*store.generations.versions(record.id, 1), version]
        publish(store, COLLECTION, versions, replace(recipe_of(EMBEDDING), graph_from=10), SilentListener())
        with open_generation(store, COLLECTION) as generation:
            field = generation.filter_fields.get("score")
            assert field is not None
            assert (field.type, field.values) == ("text", ["0.5", "high"])


def test_a_search_in_an_updated_large_collection_finds_the_same_chunks_as_an_exact_search(tmp_path: Path) -> None:
    texts = _library(60)
    with writing(tmp_path / "data") as store:
        _publish(store, texts, 10)
        texts = _edited(_edited(texts, _chance(1), 0), _chance(2), 1)
        _publish(store, texts, 10)
        with open_generation(store, COLLECTION) as generation:
            assert type(generation.vector_store).__name__ == "GraphVectorStore"
            for place in range(0, generation.size, 7):
                vector = generation.arrays.vectors[place]
                expected, cosines = generation.arrays.exact_search(vector, 12)
                query = VectorStoreQuery(query_embedding=vector.tolist(), similarity_top_k=12)
                found = generation.vector_store.query(query)
                assert found.ids == generation.arrays.ids_at(expected)
                assert np.allclose(found.similarities or [], cosines, atol=1e-6)


def test_generations_share_large_files_until_the_index_is_rebuilt_completely(tmp_path: Path) -> None:
    texts = _library(60)
    with writing(tmp_path / "data") as store:
        _publish(store, texts, 10)
        _publish(store, _edited(texts, _chance(1), 0), 10)
        folders = [store.folder(COLLECTION) / number for number in ("1", "2")]
        for name in ("vectors.npy", "usearch/graph.usearch"):
            assert (folders[0] / name).samefile(folders[1] / name)
        _publish(store, texts, 10, afresh=True)
        assert (store.folder(COLLECTION) / "3" / "vectors.npy").stat().st_nlink == 1


def test_after_a_purge_no_file_of_a_large_collection_contains_the_vector_of_a_deleted_chunk(tmp_path: Path) -> None:
    texts = _library(60)
    with writing(tmp_path / "data") as store:
        _publish(store, texts, 10)
        with open_generation(store, COLLECTION) as generation:
            nodes = generation.nodes(generation.ids)
            deleted = [node.node_id for node in nodes if node.source == "page-007.md"]
            vectors = generation.arrays.vectors[generation.arrays.positions(deleted)]
        del texts["page-007.md"]
        _publish(store, texts, 10)
        traces = [form for vector in vectors for form in (vector.tobytes(), vector.astype(np.float16).tobytes())]
        traces += [node_id.encode() for node_id in deleted]
        assert _files_with(tmp_path, traces) >= {"vectors.npy", "graph.usearch"}
        assert purge(store, [], SilentListener()).is_clean
        assert _files_with(tmp_path, traces) == set()
        with open_generation(store, COLLECTION) as generation:
            assert (generation.size, generation.passport.index, generation.notes) == (295, "usearch", ())


def _files_with(folder: Path, traces: Sequence[bytes]) -> set[str]:
    """Return the names of the files that contain one of these byte strings."""
    contents = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name for name, content in contents.items() if any(trace in content for trace in traces)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "name",
    ["ids.npy", "vectors.npy", "changed_vectors.npy", "vector_rows.npy", "digests.npy", "usearch/graph.usearch"],
)
def test_damage_to_a_file_of_a_large_collection_is_found_and_repaired(tmp_path: Path, name: str) -> None:
    texts = _library(60)
    with writing(tmp_path / "data") as store:
        _publish(store, texts, 10)
        _publish(store, _edited(texts, _chance(1), 0), 10)
        path = store.folder(COLLECTION) / "2" / name
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
        damage = verify_collection(store, COLLECTION).damage
        # Both generations have the large files in common.
        assert {it.generation for it in damage} == ({1, 2} if name in ("vectors.npy", "usearch/graph.usearch") else {2})
        assert all(name in it.what for it in damage)
        if name == "usearch/graph.usearch":
            with open_generation(store, COLLECTION) as generation:
                assert "searched exactly" in generation.notes[0]
        elif name != "digests.npy":
            with open_generation(store, COLLECTION) as generation:
                assert name in generation.notes[0]
                assert "rebuilt in memory" in generation.notes[0]
                assert type(generation.vector_store) is ExactVectorStore
                found = generation.vector_store.query(VectorStoreQuery(EMBEDDING.embed_question("anchor").tolist(), 5))
                assert found.ids
        repair(store, damage, SilentListener())
        assert verify_collection(store, COLLECTION, deep=True).damage == ()
        with open_generation(store, COLLECTION) as generation:
            assert generation.notes == ()


def test_a_damaged_file_is_not_the_base_of_the_next_generation(tmp_path: Path) -> None:
    texts = _library(60)
    with writing(tmp_path / "data") as store:
        _publish(store, texts, 10)
        path = store.folder(COLLECTION) / "1" / "digests.npy"
        content = bytearray(path.read_bytes())
        content[-1] ^= 0xFF
        path.write_bytes(content)
        assert _publish(store, _edited(texts, _chance(1), 0), 10).afresh
        assert {it.generation for it in verify_collection(store, COLLECTION).damage} == {1}


def test_an_embedding_model_can_be_loaded_after_a_graph_was_built(tmp_path: Path) -> None:
    """One library crashed the process if it was loaded after the other, which only a separate process can show."""
    script = (
        "import sys, numpy; from pathlib import Path; from elt_llm_core.index.usearch import build_graph;"
        " from elt_llm_core.settings.tree import ChromaSettings;"
        " build_graph(Path(sys.argv[1]), numpy.eye(8, dtype=numpy.float32), ChromaSettings());"
        " import onnxruntime; print('loaded')"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "loaded\n"), done.stderr


def test_a_graph_that_was_built_from_other_vectors_is_reported(tmp_path: Path) -> None:
    with writing(tmp_path / "data") as store:
        _publish(store, _library(60), 10)
        with open_generation(store, COLLECTION) as generation:
            arrays = generation.arrays
            build_graph(tmp_path, arrays.vectors[::-1], ChromaSettings())
            own = GraphVectorStore(generation.directory, arrays, ChromaSettings())
            other = GraphVectorStore(tmp_path, arrays, ChromaSettings())
            assert graph_faults(own, arrays, fresh=False) == []
            assert len(graph_faults(other, arrays, fresh=False)) == 2


def test_no_vector_is_restored_into_a_damaged_store_from_damaged_arrays(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with writing(data_dir) as store:
        _publish(store, _library(60), 10)
        published = _publish(store, _edited(_library(60), _chance(1), 0), 10)
        path = store.folder(COLLECTION) / str(published.number) / "vector_rows.npy"
    rows = np.load(path)
    rows[:10] = rows[1:11]  # each of these chunks refers to the vector of the next chunk
    path.unlink()
    np.save(path, rows)
    with closing(sqlite3.connect(data_dir / STORE_NAME)) as damaged, damaged:
        damaged.execute("UPDATE vectors SET vector = zeroblob(256)")
    with writer_lock(data_dir, "test"):
        assert recover(data_dir, SilentListener()) is not None
    with writing(data_dir) as store:
        texts = store.nodes.to_embed(
            [version for (version,) in store.database.rows("SELECT id FROM document_versions")]
        )
        left = [digest for digest in texts if digest not in store.vectors.missing(EMBEDDING.fingerprint.key, texts)]
        stored = store.vectors.matrix(EMBEDDING.fingerprint.key, left, EMBEDDING.fingerprint.dimension)
        assert len(left) > 200  # from the arrays of the former generation
        assert np.array_equal(stored, EMBEDDING.embed_texts([texts[digest] for digest in left]))
