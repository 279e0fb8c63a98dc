"""Vectors ("points") in Qdrant and PostgreSQL: generations, filters, several collections, crashes and deletion."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from elt_llm_core.index.points import ALIVE, Point, PointsView, stable_code
from elt_llm_core.index.qdrant import lineages_of
from elt_llm_core.index.searchable import Searchable, ValueFilter
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.store import Store, open_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optional import needs
from sampling import FULL
from stored.points import MODEL, PgvectorPlace, PointsPlace, QdrantPlace
from stored.shelf import COLLECTION, put, some_documents, writing

pytestmark = pytest.mark.halved


if TYPE_CHECKING:
    from stored.postgres import PostgresServer

QUESTION = MODEL.embed_question("Which vessel is at the quay at ebb?")


PLACES = ["qdrant", pytest.param("qdrant server", marks=pytest.mark.network), "pgvector"]


@contextmanager
def _place(request: pytest.FixtureRequest, folder: Path) -> Iterator[PointsPlace]:
    """Yield an empty workspace whose vectors are in the database that the fixture's parameter names (pgvector, ...)."""
    if request.param == "pgvector":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        yield PgvectorPlace(postgres.workspace(folder))
        return
    needs("qdrant_client")
    from stored.qdrant_server import running_qdrant

    with running_qdrant() as server:
        yield QdrantPlace(folder, server.settings) if request.param == "qdrant server" else QdrantPlace(folder)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PointsPlace]:
    with _place(request, tmp_path) as made:
        yield made


def publish(place: PointsPlace, store: Store, documents: Mapping[str, Sequence[str]], **more: Any) -> int:
    return put(store, documents, MODEL, index=place.index, **more).number


def best(generation: Generation, count: int = 500) -> list[str]:
    return [node_id for node_id, _ in generation.nearest(QUESTION, count)]


def test_only_changed_points_are_written_and_each_generation_finds_its_own_points(place: PointsPlace) -> None:
    before, after = some_documents(6), {**some_documents(5), **some_documents(1, first=9)}
    with writing(place.workspace) as store:
        publish(place, store, before)
    with open_store(place.workspace) as reading, open_generation(reading, COLLECTION) as old:
        with writing(place.workspace) as store:
            assert publish(place, store, after) == 2
        with open_store(place.workspace) as store, open_generation(store, COLLECTION) as new:
            ids = list(new.every_id())
            assert set(best(new)) == set(ids)
        assert new.notes == ()
        rows = place.stored()
        assert [row[2] for row in rows].count(2) == 4
        assert [row[3] for row in rows].count(2) == 4
        assert set(best(old)) == set(old.every_id()) != set(ids)
        assert old.notes == ()


def test_a_point_is_written_again_even_if_only_its_metadata_changed(place: PointsPlace) -> None:
    documents = some_documents(3)
    with writing(place.workspace) as store:
        publish(place, store, documents)
        # A document with the same text: its path becomes one of those of the first document.
        publish(place, store, {**documents, "copy.md": documents["page-000.md"]})
        assert verify_collection(store, COLLECTION).damage == ()
    with open_store(place.workspace) as store, open_generation(store, COLLECTION) as generation:
        field = generation.field("source")
        assert field is not None
        allowed = generation.allow([ValueFilter([field.codes[list(field.values).index("copy.md")]])])
        assert len(generation.nearest(QUESTION, 50, allowed)) == allowed.count == 4
        assert generation.notes == ()


def test_points_of_two_collections_or_data_directories_in_one_database_never_mix(place: PointsPlace) -> None:
    with writing(place.workspace) as store:
        publish(place, store, some_documents(3), name="left")
        publish(place, store, some_documents(3, first=2), name="right")
        publish(place, store, some_documents(4), name="left")
    with ExitStack() as opened:
        store = opened.enter_context(open_store(place.workspace))
        open_one = opened.enter_context(generation_opener(store))
        left, right = (opened.enter_context(open_one(name)) for name in ("left", "right"))
        assert set(best(left)) == set(left.every_id())
        assert set(best(right)) == set(right.every_id())
        assert left.notes == right.notes == ()
    assert len({lineage for lineage, *_ in place.stored()}) == 2
    with writing(place.workspace) as store:
        drop(store, "left")
    assert len({lineage for lineage, *_ in place.stored()}) == 1


def test_points_of_a_crashed_publish_are_never_returned_and_are_deleted_by_the_next_writer(place: PointsPlace) -> None:
    with writing(place.workspace) as store:
        publish(place, store, some_documents(4))
    lineage, former = place.stored()[0][0], [row[1] for row in place.stored()[:5]]
    with place.points() as database:  # what a publish of generation 2 had written when it was killed
        database.write(PointsView(lineage, 2), COLLECTION, _made_points(7))
        database.retire(PointsView(lineage, 2), former)
    with open_store(place.workspace) as store, open_generation(store, COLLECTION) as generation:
        assert set(best(generation)) == set(generation.every_id())
        assert generation.notes == ()
    with writing(place.workspace) as store:
        publish(place, store, some_documents(5))
        collect_points(store)
        assert verify_collection(store, COLLECTION).damage == ()
    assert not [row for row in place.stored() if row[1].startswith("made")]


def test_the_next_writer_deletes_the_points_of_a_crashed_fresh_build(place: PointsPlace) -> None:
    with writing(place.workspace) as store:
        publish(place, store, some_documents(2))
        former = place.stored()[0][0]
        publish(place, store, some_documents(3), afresh=True)
        store.collections.delete(store.collections.get(COLLECTION).id)  # this deletes the rows of both generations
    with writing(place.workspace) as store:
        remove_leftovers(store)
        assert lineages_of(store).all() == []
    assert former
    assert place.stored() == []


def test_points_that_were_removed_are_kept_until_no_reader_has_their_generation_open(place: PointsPlace) -> None:
    with writing(place.workspace) as store:
        publish(place, store, some_documents(4))
    reading = open_store(place.workspace)
    pinned = open_generation(reading, COLLECTION)
    with writing(place.workspace) as store:
        for count in (3, 2, 1):
            publish(place, store, some_documents(count))
            collect_garbage(store, 2)
    assert set(best(pinned)) == set(pinned.every_id())
    pinned.close()
    reading.close()
    assert {row[3] for row in place.stored()} == {2, 3, 4, ALIVE}
    with writing(place.workspace) as store:
        remove_leftovers(store)
        collect_garbage(store, 2)
    assert {row[3] for row in place.stored()} == {4, ALIVE}


def test_publishing_after_a_rollback_writes_all_points_again_under_a_new_lineage(place: PointsPlace) -> None:
    with writing(place.workspace) as store:
        publish(place, store, some_documents(4))
        publish(place, store, some_documents(3))
        roll_back(store, COLLECTION)
    for _ in range(2):
        with open_store(place.workspace) as store, open_generation(store, COLLECTION) as generation:
            assert set(best(generation)) == set(generation.every_id())
            assert generation.notes == ()
        with writing(place.workspace) as store:
            publish(place, store, some_documents(6))
    assert len({lineage for lineage, *_ in place.stored()}) == 2


def test_missing_points_cause_exact_search_with_a_note_and_verify_finds_and_repairs_them(place: PointsPlace) -> None:
    with writing(place.workspace) as store:
        publish(place, store, some_documents(4))
    place.lose(3)
    with open_store(place.workspace) as store, open_generation(store, COLLECTION) as generation:
        assert set(best(generation)) == set(generation.every_id())
        assert "has 13 points of 'library', not 16. Vectors were searched exactly instead" in generation.notes[0]
    with writing(place.workspace) as store:
        damage = verify_collection(store, COLLECTION).damage
        assert damage[0].what == "The database has 13 points of the generation, not 16."
        repair(store, damage, SilentListener())
        collect_garbage(store, 2)
        assert verify_collection(store, COLLECTION).damage == ()
    assert len(place.stored()) == 16


def test_the_verification_finds_points_whose_filter_codes_differ_from_those_of_their_nodes(place: PointsPlace) -> None:
    with writing(place.workspace) as store:
        publish(place, store, some_documents(2))
        place.recode()
        [fault] = verify_collection(store, COLLECTION).damage
    assert fault.what == "1 points have other filter codes than their nodes."


def test_a_purge_leaves_only_points_of_the_published_generation(place: PointsPlace) -> None:
    with writing(place.workspace) as store:
        publish(place, store, some_documents(4))
        publish(place, store, some_documents(3))
        receipt = purge(store, [], SilentListener())
    if isinstance(place, QdrantPlace):
        expected = f"snapshots of the vector database {place.index.url}, and its files until it has optimised them"
        assert expected in receipt.beyond_reach
    assert {row[3] for row in place.stored()} == {ALIVE}
    assert len(place.stored()) == 12


def test_the_filter_code_of_a_value_depends_only_on_the_value_and_its_field() -> None:
    assert stable_code("year", 2020) == stable_code("year", 2020.0) != stable_code("year", "2020")
    assert stable_code("year", 2020) != stable_code("edition", 2020)
    assert 0 <= stable_code("title", "é") < 2**63


class Shelves:
    """The same chunks in two indexes: in files on this machine, and in a database."""

    def __init__(self, here: Searchable, there: Searchable) -> None:
        self.both = here, there


SHARES = {f"tenant-{number}": share for number, share in enumerate((1, 20, 500))}  # of 1,000 chunks


@pytest.fixture(scope="module", params=["qdrant", "pgvector"])
def shelves(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelves]:
    """The same 1,000 chunks in both indexes; three files have .1 %, 2 % and 50 % of them, other files the rest."""
    texts = [f"Entry {number} about vessel {number % 37} and quay {number % 11}." for number in range(1000)]
    documents: dict[str, list[str]] = {}
    for name, share in SHARES.items():
        documents[f"{name}.md"], texts = texts[:share], texts[share:]
    documents |= {f"other-{number}.md": texts[number::40] for number in range(40)}
    folder = tmp_path_factory.mktemp("shelves")
    with ExitStack() as opened:
        place = opened.enter_context(_place(request, folder / "there"))
        both = (Workspace(folder / "here"), None), (place.workspace, place.index)
        for workspace, index in both:
            with writing(workspace) as store:
                put(store, documents, MODEL, index=index)
        stores = [opened.enter_context(open_store(workspace)) for workspace, _ in both]
        here, there = (opened.enter_context(open_generation(store, COLLECTION)) for store in stores)
        yield Shelves(here, there)


FILE = st.sampled_from([f"{name}.md" for name in SHARES] + [f"other-{number}.md" for number in range(40)])
CONDITION = st.tuples(st.lists(FILE, max_size=5, unique=True), st.booleans())


@settings(max_examples=300 if FULL else 12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    conditions=st.lists(CONDITION, min_size=1, max_size=3),
    number=st.integers(0, 50),
    top_k=st.sampled_from([1, 7, 50, 1000]),
)
def test_filtered_searches_give_the_same_results_as_the_local_index(
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
