"""Points of a database: generations, filters, several collections, crashes and garbage, through Qdrant's own client."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from elt_llm_core.collection.generation import Generation
from elt_llm_core.collection.lifecycle import (
    collect_garbage,
    collect_points,
    drop,
    generation_opener,
    open_generation,
    remove_leftovers,
    roll_back,
)
from elt_llm_core.collection.purging import purge
from elt_llm_core.collection.verification import repair, verify_collection
from elt_llm_core.errors import IndexRefused, IndexUnavailable, SettingsError
from elt_llm_core.index.databases import PointDatabases
from elt_llm_core.index.points import ALIVE, Point, PointsView, stable_code
from elt_llm_core.index.qdrant import database_key
from elt_llm_core.index.searchable import Searchable, ValueFilter
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.tree import IndexSettings
from elt_llm_core.store.store import Store, open_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optional import needs
from sampling import FULL
from stored.shelf import COLLECTION, put, some_documents, writing

needs("qdrant_client")

from elt_llm_core.index.qdrant import QdrantPoints, collection_name  # noqa: E402
from qdrant_client import models as q  # noqa: E402

MODEL = FakeEmbedding(32)
QUESTION = MODEL.embed_question("Which vessel is at the quay at ebb?")
FOLDER = IndexSettings(backend="qdrant", url="qdrant")
NOWHERE = IndexSettings(backend="qdrant", url="http://127.0.0.1:9", timeout_seconds=1)


def publish(store: Store, documents: Mapping[str, Sequence[str]], name: str = COLLECTION, **more: bool) -> int:
    return put(store, documents, MODEL, name=name, index=FOLDER, **more).number


@contextmanager
def points(data_dir: Path) -> Iterator[QdrantPoints]:
    with PointDatabases(data_dir) as databases:
        database = databases.get(FOLDER, MODEL.fingerprint)
        assert isinstance(database, QdrantPoints)
        yield database


def stored(data_dir: Path) -> list[tuple[str, str, int, int]]:
    """Return lineage, node, born and died of every point, sorted."""
    with points(data_dir) as database:
        found, _ = database.client.scroll(database.name, limit=10_000)
    rows = [it.payload or {} for it in found]
    return sorted((row["lineage"], row["node"], row["born"], row["died"]) for row in rows)


def best(generation: Generation, count: int = 500) -> list[str]:
    return [node_id for node_id, _ in generation.nearest(QUESTION, count)]


def test_only_changed_points_are_written_and_each_generation_finds_its_own(tmp_path: Path) -> None:
    before, after = some_documents(6), {**some_documents(5), **some_documents(1, first=9)}
    with writing(tmp_path) as store:
        publish(store, before)
    with open_store(tmp_path) as reading, open_generation(reading, COLLECTION) as old:
        with writing(tmp_path) as store:
            assert publish(store, after) == 2
        with open_store(tmp_path) as store, open_generation(store, COLLECTION) as new:
            ids = list(new.every_id())
            assert set(best(new)) == set(ids)
        assert new.notes == ()
        rows = stored(tmp_path)
        assert [row[2] for row in rows].count(2) == 4
        assert [row[3] for row in rows].count(2) == 4
        assert set(best(old)) == set(old.every_id()) != set(ids)
        assert old.notes == ()


def test_a_point_whose_metadata_changed_is_written_again_although_its_vector_did_not(tmp_path: Path) -> None:
    documents = some_documents(3)
    with writing(tmp_path) as store:
        publish(store, documents)
        # A document with the same text: its path becomes one of those of the first document.
        publish(store, {**documents, "copy.md": documents["page-000.md"]})
        assert verify_collection(store, COLLECTION).damage == ()
    with open_store(tmp_path) as store, open_generation(store, COLLECTION) as generation:
        field = generation.field("source")
        assert field is not None
        allowed = generation.allow([ValueFilter([field.codes[list(field.values).index("copy.md")]])])
        assert len(generation.nearest(QUESTION, 50, allowed)) == allowed.count == 4
        assert generation.notes == ()


def test_two_collections_and_two_data_directories_of_one_physical_collection_never_mix(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        publish(store, some_documents(3), "left")
        publish(store, some_documents(3, first=2), "right")
        publish(store, some_documents(4), "left")
    with ExitStack() as opened:
        store = opened.enter_context(open_store(tmp_path))
        open_one = opened.enter_context(generation_opener(store))
        left, right = (opened.enter_context(open_one(name)) for name in ("left", "right"))
        assert set(best(left)) == set(left.every_id())
        assert set(best(right)) == set(right.every_id())
        assert left.notes == right.notes == ()
    assert len({lineage for lineage, *_ in stored(tmp_path)}) == 2
    with writing(tmp_path) as store:
        drop(store, "left")
    assert len({lineage for lineage, *_ in stored(tmp_path)}) == 1


def test_points_of_a_crashed_publish_are_seen_by_nobody_and_deleted_by_the_next_writer(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        publish(store, some_documents(4))
    lineage = stored(tmp_path)[0][0]
    with points(tmp_path) as database:  # what a publish of generation 2 had written when it was killed
        database.write(PointsView(lineage, 2), COLLECTION, _made_points(7))
        database.retire(PointsView(lineage, 2), [node for _, node, *_ in _first(database, 5)])
    with open_store(tmp_path) as store, open_generation(store, COLLECTION) as generation:
        assert set(best(generation)) == set(generation.every_id())
        assert generation.notes == ()
    with writing(tmp_path) as store:
        publish(store, some_documents(5))
        collect_points(store)
        assert verify_collection(store, COLLECTION).damage == ()
    assert not [row for row in stored(tmp_path) if row[1].startswith("made")]


def test_a_fresh_build_that_crashed_leaves_points_that_the_next_writer_deletes(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        publish(store, some_documents(2))
        former = stored(tmp_path)[0][0]
        publish(store, some_documents(3), afresh=True)
        store.collections.delete(store.collections.get(COLLECTION).id)  # the rows of neither are left
    with writing(tmp_path) as store:
        remove_leftovers(store)
    assert former
    assert stored(tmp_path) == []
    assert list((tmp_path / "points").iterdir()) == []


def test_dead_points_are_collected_once_no_reader_has_their_generation_open(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        publish(store, some_documents(4))
    reading = open_store(tmp_path)
    pinned = open_generation(reading, COLLECTION)
    with writing(tmp_path) as store:
        for count in (3, 2, 1):
            publish(store, some_documents(count))
            collect_garbage(store, 2)
    assert set(best(pinned)) == set(pinned.every_id())
    pinned.close()
    reading.close()
    assert {row[3] for row in stored(tmp_path)} == {2, 3, 4, ALIVE}
    with writing(tmp_path) as store:
        remove_leftovers(store)
        collect_garbage(store, 2)
    assert {row[3] for row in stored(tmp_path)} == {4, ALIVE}


def test_a_publish_upon_a_rolled_back_generation_starts_a_new_lineage(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        publish(store, some_documents(4))
        publish(store, some_documents(3))
        roll_back(store, COLLECTION)
    for _ in range(2):
        with open_store(tmp_path) as store, open_generation(store, COLLECTION) as generation:
            assert set(best(generation)) == set(generation.every_id())
            assert generation.notes == ()
        with writing(tmp_path) as store:
            publish(store, some_documents(6))
    assert len({lineage for lineage, *_ in stored(tmp_path)}) == 2


def test_a_copied_data_directory_does_not_change_the_points_of_the_other(tmp_path: Path) -> None:
    with writing(tmp_path / "one") as store:
        publish(store, some_documents(3))
    record = next((tmp_path / "one" / "points").glob("*.json"))
    record.write_text(json.dumps({**json.loads(record.read_text()), "home": "/elsewhere"}))
    kept = stored(tmp_path / "one")
    with writing(tmp_path / "one") as store:
        publish(store, some_documents(4))
        drop(store, COLLECTION)
    assert stored(tmp_path / "one") == kept


def test_missing_points_are_noted_searched_exactly_found_by_verify_and_repaired(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        publish(store, some_documents(4))
    with points(tmp_path) as database:
        rows = _first(database, 3)
        database._delete([q.FieldCondition(key="node", match=q.MatchAny(any=[row[1] for row in rows]))])
    with open_store(tmp_path) as store, open_generation(store, COLLECTION) as generation:
        assert set(best(generation)) == set(generation.every_id())
        assert "has 13 points of 'library', not 16. Vectors were searched exactly instead" in generation.notes[0]
    with writing(tmp_path) as store:
        damage = verify_collection(store, COLLECTION).damage
        assert damage[0].what == "The database has 13 points of the generation, not 16."
        repair(store, damage, SilentListener())
        collect_garbage(store, 2)
        assert verify_collection(store, COLLECTION).damage == ()
    assert len(stored(tmp_path)) == 16


def test_points_with_other_codes_are_found_by_verify(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        publish(store, some_documents(2))
        with points(tmp_path) as database:
            node = _first(database, 1)[0][1]
            chosen = q.Filter(must=[q.FieldCondition(key="node", match=q.MatchValue(value=node))])
            database.client.set_payload(database.name, {"codes": [1]}, points=chosen)
        [fault] = verify_collection(store, COLLECTION).damage
    assert fault.what == "1 points have other filter codes than their nodes."


def test_a_purge_leaves_only_points_of_the_published_generation(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        publish(store, some_documents(4))
        publish(store, some_documents(3))
        receipt = purge(store, [], SilentListener())
    assert "snapshots of qdrant, and its files until it has optimised them" in receipt.beyond_reach
    assert {row[3] for row in stored(tmp_path)} == {ALIVE}
    assert len(stored(tmp_path)) == 12


def test_a_publish_without_its_server_changes_nothing_and_names_the_mend(tmp_path: Path) -> None:
    with writing(tmp_path) as store:
        publish(store, some_documents(2))
        with pytest.raises(IndexUnavailable, match=r"http://127\.0\.0\.1:9 cannot be reached") as raised:
            put(store, some_documents(3), MODEL, index=NOWHERE)
        assert "Start the server, or correct index.url" in raised.value.hint
    with open_store(tmp_path) as store, open_generation(store, COLLECTION) as generation:
        assert generation.number == 1
        assert generation.size == 8


def test_a_folder_that_another_client_has_open_is_named(tmp_path: Path) -> None:
    with points(tmp_path), PointDatabases(tmp_path) as others, pytest.raises(IndexUnavailable, match="Another process"):
        others.get(FOLDER, MODEL.fingerprint)


@pytest.mark.parametrize(
    ("size", "distance", "shown"),
    [(33, q.Distance.COSINE, "33 dimensions and the distance Cosine"), (32, q.Distance.DOT, "the distance Dot")],
)
def test_a_collection_of_another_dimension_or_distance_is_refused(
    tmp_path: Path, size: int, distance: q.Distance, shown: str
) -> None:
    with points(tmp_path) as database:
        database.client.create_collection(database.name, q.VectorParams(size=size, distance=distance))
        with pytest.raises(IndexRefused, match=shown) as raised:
            database.prepare()
        assert "Delete or rename it" in raised.value.hint
    assert collection_name(MODEL.fingerprint) in str(raised.value)


def test_the_key_comes_from_the_environment_or_a_file_and_is_never_shown(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("sesame\n")
    assert database_key({}) is None
    assert database_key({"ELT_LLM_INDEX__API_KEY": " one "}) == "one"
    assert database_key({"ELT_LLM_INDEX__API_KEY_FILE": str(path)}) == "sesame"
    with pytest.raises(SettingsError, match="which cannot be read"):
        database_key({"ELT_LLM_INDEX__API_KEY_FILE": str(tmp_path / "none")})


def test_a_value_has_one_code_in_every_generation_and_none_in_another_field() -> None:
    assert stable_code("year", 2020) == stable_code("year", 2020.0) != stable_code("year", "2020")
    assert stable_code("year", 2020) != stable_code("edition", 2020)
    assert 0 <= stable_code("title", "é") < 2**63


class Shelves:
    """The same chunks, searched here and there."""

    def __init__(self, here: Searchable, there: Searchable) -> None:
        self.both = here, there


SHARES = {f"tenant-{number}": share for number, share in enumerate((1, 20, 500))}  # of 1,000 chunks


@pytest.fixture(scope="module")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelves]:
    """The same 1,000 chunks, of tenants of .1 %, 2 % and 50 % and others, searched here and in Qdrant."""
    texts = [f"Entry {number} about vessel {number % 37} and quay {number % 11}." for number in range(1000)]
    documents: dict[str, list[str]] = {}
    for name, share in SHARES.items():
        documents[f"{name}.md"], texts = texts[:share], texts[share:]
    documents |= {f"other-{number}.md": texts[number::40] for number in range(40)}
    folder = tmp_path_factory.mktemp("shelves")
    for name, index in (("here", None), ("there", FOLDER)):
        with writing(folder / name) as store:
            put(store, documents, MODEL, index=index)
    with ExitStack() as opened:
        stores = [opened.enter_context(open_store(folder / name)) for name in ("here", "there")]
        here, there = (opened.enter_context(open_generation(store, COLLECTION)) for store in stores)
        yield Shelves(here, there)


FILE = st.sampled_from([f"{name}.md" for name in SHARES] + [f"other-{number}.md" for number in range(40)])
CONDITION = st.tuples(st.lists(FILE, max_size=5, unique=True), st.booleans())


@settings(max_examples=300 if FULL else 60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    conditions=st.lists(CONDITION, min_size=1, max_size=3),
    number=st.integers(0, 50),
    top_k=st.sampled_from([1, 7, 50, 1000]),
)
def test_filtered_answers_are_those_of_the_local_index(
    shelves: Shelves, conditions: list[tuple[list[str], bool]], number: int, top_k: int
) -> None:
    vector, answers = MODEL.embed_question(f"vessel {number}"), []
    for index in shelves.both:
        field = index.field("source")
        assert field is not None
        codes = dict(zip(field.values, field.codes, strict=True))
        filters = [ValueFilter([codes[path] for path in paths], denies) for paths, denies in conditions]
        answers.append(index.nearest(vector, top_k, index.allow(filters)))
    here, there = answers
    assert [score for _, score in there] == pytest.approx([score for _, score in here], abs=1e-6)
    assert [node for node, _ in there] == [node for node, _ in here]
    assert shelves.both[1].notes == ()


def _made_points(count: int) -> list[Point]:
    vectors = np.random.default_rng(3).normal(size=(count, 32)).astype(np.float32)
    return [Point(f"made-{number}", vector, [], []) for number, vector in enumerate(vectors)]


def _first(database: QdrantPoints, count: int) -> list[tuple[str, str]]:
    found, _ = database.client.scroll(database.name, limit=10_000)
    rows = [it.payload or {} for it in found]
    return sorted((row["lineage"], row["node"]) for row in rows if not row["node"].startswith("made"))[:count]
