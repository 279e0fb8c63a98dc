"""Vectors ("points") in the workspace's PostgreSQL database, searched by its extension pgvector; see docs/postgres.md.

A lineage is a series of generations that share points. Each has its own table, so that its graph contains no points of
other collections and is built after the rows are loaded, and dropping the table leaves nothing behind. All statements
run in the store's session, so a writer that has lost its lock can no longer write points.

Adding a point to a graph takes milliseconds. Therefore a graph contains only the points that existed when it was built,
as long as they are alive; a search reads all others (the "loose" points) one by one. A publish builds the graph again
if more than a tenth of the points is loose.
"""

import struct
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import IndexRefused, IndexUnavailable, StoreError, StoreUnavailable
from elt_llm_core.index.points import (
    ALIVE,
    PROBE,
    LineageRecord,
    Point,
    PointsFilter,
    PointsView,
    StoredLineage,
    stable_code,
)
from elt_llm_core.settings.tree import GRAPH_FROM, ChromaSettings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.conditions import DocumentConditions
from elt_llm_core.store.postgres import POINTS_SCHEMA, STORE_SCHEMA, PostgresDatabase, caller_settings, grant_points
from elt_llm_core.store.records import OWNER_FIELDS, EmbeddingFingerprint
from elt_llm_core.utilities import Closeable

MIN_PGVECTOR = (0, 8, 4)  # earlier versions can corrupt an index
_LINEAGES = f"{POINTS_SCHEMA}.lineages"
_INDEXED_DIMENSION = 4000  # the maximum for a `halfvec` in a graph; longer vectors are searched exactly
_EFFORT, _MOST_EFFORT = 200, 1000  # candidates per search; 200 give a recall@50 of .99 at 100,000 points
_GRAPH, _LOOSE = "_graph_", "_loose_"  # in the names of indexes, before the generation for which a graph was built
_MOST_MEMORY = 512 << 10  # kilobytes for building a graph, unless the server's own setting is higher
_BYTES_OF_LINK = 60  # per link of a point at the lowest level, including the links at higher levels
_SESSION = {
    "hnsw.iterative_scan": "strict_order",  # search on while results belong to other generations
    "plan_cache_mode": "force_custom_plan",  # a generic plan would read the whole table
}
_MOST_LOOSE = 10  # the graph is built again when more than one of so many points is loose
_ALIVE_IN = "born <= ?1 AND died > ?1"
_OF_CALLER = [f"elt_llm.codes_{number}" for number in range(len(OWNER_FIELDS))]
# Each SELECT runs once per search, so the index on codes can be used. Without the first setting, no row is visible.
_ALLOWED = [f"codes && (SELECT CAST(nullif(current_setting('{name}', true), '') AS bigint[]))" for name in _OF_CALLER]
_POLICY = " AND ".join([_ALLOWED[0], *(f"coalesce({one}, true)" for one in _ALLOWED[1:])])


@dataclass
class PgvectorPoints(Closeable):
    """The points of one embedding model, read and written through a store's open database, which is not closed here.

    A table with fewer points than `indexed_from` has no graph. Searches see what a caller with `conditions` may see.
    """

    database: PostgresDatabase
    fingerprint: EmbeddingFingerprint
    graph: ChromaSettings
    indexed_from: int = GRAPH_FROM
    conditions: DocumentConditions = ()

    def is_exact(self, view: PointsView) -> bool:
        """Return whether every search is exact, because the table of points has no HNSW graph yet.

        Generations that share points (a lineage) have one table.
        """
        with _translated():
            return self._graph_of(table_name(view.lineage)) is None

    def prepare(self) -> None:
        """Create the extension and the schema if needed. Write and delete one point as a check."""
        with _translated():
            if not self.database.has_table(_LINEAGES):
                with self.database.transaction():
                    self.database.execute(f"CREATE SCHEMA IF NOT EXISTS {POINTS_SCHEMA}")
                    self.database.execute(f"CREATE TABLE {_LINEAGES} (name TEXT PRIMARY KEY, record TEXT NOT NULL)")
            _create_extension(self.database)
        vector = np.eye(1, self.fingerprint.dimension, dtype=np.float32)[0]
        self.keep(PROBE.lineage, ())
        self.write(PROBE, "", [Point("probe", vector, [], [])])
        self.keep(PROBE.lineage, ())

    def rewind(self, view: PointsView) -> None:
        """Undo what was written for generations later than that of `view`, as by a publish that crashed."""
        table, number = table_name(view.lineage), view.generation
        with _translated():
            if self.database.has_table(table):
                self.database.execute(f"DELETE FROM {table} WHERE born > ?", (number,))  # noqa: S608
                statement = f"UPDATE {table} SET died = {ALIVE} WHERE died > ? AND died < {ALIVE}"  # noqa: S608
                self.database.execute(statement, (number,))

    def write(self, view: PointsView, collection: str, points: Iterable[Point]) -> None:
        """Write points that belong to the generation of `view` and to later ones, and build indexes if necessary."""
        table = table_name(view.lineage)
        with _translated():
            if not self.database.has_table(table):
                self._create(table, collection)
            rows = (_encoded(point, view.generation) for point in points)
            self.database.copy_binary(table, "node, born, died, codes, embedding", rows)
            name = table.partition(".")[2]
            self.database.execute(f"CREATE INDEX IF NOT EXISTS {name}_codes ON {table} USING gin (codes)")
            [(size,)] = self.database.rows(f"SELECT count(*) FROM {table}")  # noqa: S608 - from the name of a lineage
            if size >= self.indexed_from and self.fingerprint.dimension <= _INDEXED_DIMENSION:
                number = self._graph_of(table)
                if number is None or self._count(table, _loose(number)) * _MOST_LOOSE > size:
                    self._build_graph(table, view.generation, int(size))
            self.database.execute(f"ANALYZE {table}")

    def retire(self, view: PointsView, node_ids: Sequence[str]) -> None:
        """Mark the older points of these nodes as removed from the generation of `view` and from later ones."""
        with _translated():
            self.database.execute(
                f"UPDATE {table_name(view.lineage)} SET died = ?1"  # noqa: S608 - from the name of a lineage
                f" WHERE node = ANY(CAST(?2 AS text[])) AND born < ?1 AND died = {ALIVE}",
                (view.generation, list(node_ids)),
            )

    def keep(self, lineage: str, numbers: Sequence[int]) -> None:
        """Delete the points of a lineage (generations that share a table) that none of these generations contains.

        Without `numbers`, the whole table is deleted.
        """
        table = table_name(lineage)
        with _translated():
            if not numbers:
                self.database.execute(f"DROP TABLE IF EXISTS {table}")
            elif self.database.has_table(table):
                alive = (
                    "SELECT FROM unnest(CAST(? AS integer[])) AS kept (number) WHERE born <= number AND died > number"
                )
                self.database.execute(f"DELETE FROM {table} WHERE NOT EXISTS ({alive})", (list(numbers),))  # noqa: S608
                self.rewind(PointsView(lineage, max(numbers)))

    def nearest(
        self, view: PointsView, vectors: NDArray[np.float32], count: int, filters: Sequence[PointsFilter] = ()
    ) -> list[list[str]]:
        """Return the ids of `count` nodes near each vector, best first.

        Without filters, the table's HNSW graph is used if there is one. With filters, all points that fulfil them are
        compared, so the search is exact: it orders by vectors of full precision, and the graph is for half precision.
        With row-level security, the table's policy checks the caller's conditions once more.
        """
        table = table_name(view.lineage)
        effort = min(max(_EFFORT, self.graph.ef_search, count), _MOST_EFFORT)
        settings = {**_SESSION, "hnsw.ef_search": str(effort), **self._caller_settings()}
        with _translated():
            graph = None if filters else self._graph_of(table)
            statement = self._exact(table, filters) if graph is None else self._by_graph(table, graph)
            codes = [list(one.codes) for one in filters]
            asked = [(view.generation, str(vector.tolist()), count, *codes) for vector in vectors]
            try:
                found = self.database.rows_with(settings, statement, asked)
            except StoreError:
                if self.database.has_table(table):
                    raise
                return [[] for _ in asked]  # another machine dropped the collection
        return [[str(row[0]) for row in rows] for rows in found]

    def seen_by(self, conditions: DocumentConditions) -> "PgvectorPoints":
        """With row-level security, return an object that finds only what a caller with these conditions may see."""
        return replace(self, conditions=conditions) if conditions and self.database.restricts_callers else self

    def count(self, view: PointsView) -> int:
        """Return the exact number of points in the generation of `view`."""
        table, seen = table_name(view.lineage), (view.generation,)
        with _translated():
            if not self.database.has_table(table):
                return 0
            return int(self.database.rows(f"SELECT count(*) FROM {table} WHERE {_ALIVE_IN}", seen)[0][0])  # noqa: S608

    def every_point(self, view: PointsView) -> Iterator[tuple[str, list[int]]]:
        """Yield (node id, codes) of each point in the generation of `view`, in any order.

        The codes are the node's field values, each as a `stable_code` (a hash of field and value).
        """
        table, seen = table_name(view.lineage), (view.generation,)
        with _translated():
            yield from self.database.rows(f"SELECT node, codes FROM {table} WHERE {_ALIVE_IN}", seen)  # noqa: S608

    def close(self) -> None:
        """Do nothing, because the store closes its database."""

    def _exact(self, table: str, filters: Sequence[PointsFilter]) -> str:
        """Return the SQL statement that compares all points that fulfil the filters with the query vector."""
        codes = [
            f"{'NOT ' if one.denies else ''}codes && CAST(?{place} AS bigint[])" for place, one in enumerate(filters, 4)
        ]
        return self._nearest_of(table, [_ALIVE_IN, *codes], f"{self._extension}.vector" if filters else self._half)

    def _by_graph(self, table: str, graph: int) -> str:
        """Return the SQL statement that merges the nearest points in the graph with the nearest of the other points."""
        parts = (self._nearest_of(table, [_ALIVE_IN, which], self._half) for which in (_in_graph(graph), _loose(graph)))
        both = " UNION ALL ".join(f"({part})" for part in parts)
        return f"SELECT node FROM ({both}) AS found ORDER BY distance LIMIT ?3"  # noqa: S608 - from a lineage's name

    def _nearest_of(self, table: str, conditions: Sequence[str], kind: str) -> str:
        return (
            f"SELECT node, CAST(embedding AS {kind}) OPERATOR({self._extension}.<#>) CAST(?2 AS {kind}) AS distance"  # noqa: S608 - see above
            f" FROM {table} WHERE {' AND '.join(conditions)} ORDER BY distance LIMIT ?3"
        )

    def _graph_of(self, table: str) -> int | None:
        """Return the number of the generation for which a table's graph was built, or None if it has no graph."""
        schema, _, name = table.partition(".")
        [(number,)] = self.database.rows(
            "SELECT max(CAST(substr(indexname, ?2) AS integer)) FROM pg_indexes WHERE schemaname = ?1"
            " AND indexname LIKE ?3",
            (schema, len(name) + len(_GRAPH) + 1, f"{name}{_GRAPH}%"),
        )
        return None if number is None else int(number)

    def _count(self, table: str, condition: str) -> int:
        [(number,)] = self.database.rows(f"SELECT count(*) FROM {table} WHERE {condition}")  # noqa: S608 - see above
        return int(number)

    @cached_property
    def _extension(self) -> str:
        with _translated():
            return check_extension(self.database)[0]

    @property
    def _half(self) -> str:
        return f"{self._extension}.halfvec({self.fingerprint.dimension})"

    def _caller_settings(self) -> dict[str, str]:
        if not self.conditions:
            return {}
        codes = [[stable_code(one.field, value) for value in one.values] for one in self.conditions]
        arrays = (f"{{{','.join(map(str, own))}}}" for own in codes)
        return {**caller_settings(self.conditions), **dict(zip(_OF_CALLER, arrays, strict=False))}

    def _build_graph(self, table: str, generation: int, size: int) -> None:
        """Build the graph for the points up to a generation, and delete earlier graphs of the table."""
        name = table.partition(".")[2]
        links, candidates = self.graph.for_size(size)
        links = min(links, 100)  # the maximum of pgvector
        graph = (
            f"CREATE INDEX IF NOT EXISTS {name}{_GRAPH}{generation} ON {table} USING hnsw"
            f" (CAST(embedding AS {self._half}) {self._extension}.halfvec_ip_ops)"
            f" WITH (m = {links}, ef_construction = {max(candidates, 2 * links)}) WHERE {_in_graph(generation)}"
        )
        loose = f"CREATE INDEX IF NOT EXISTS {name}{_LOOSE}{generation} ON {table} (born) WHERE {_loose(generation)}"
        earlier = self.database.rows(
            "SELECT indexname FROM pg_indexes WHERE schemaname = ?1 AND (indexname LIKE ?2 OR indexname LIKE ?3)",
            # An earlier version's graph, which contains all points, has no number after its name.
            (POINTS_SCHEMA, f"{name}{_GRAPH.rstrip('_')}%", f"{name}{_LOOSE}%"),
        )
        self.database.execute(loose)
        self._execute_with_memory(graph, size * (2 * self.fingerprint.dimension + _BYTES_OF_LINK * links) // 1024)
        for (index,) in earlier:
            if not str(index).endswith((f"{_GRAPH}{generation}", f"{_LOOSE}{generation}")):
                self.database.execute(f"DROP INDEX IF EXISTS {POINTS_SCHEMA}.{index}")

    def _execute_with_memory(self, statement: str, needed: int) -> None:
        """Build an index with the memory that it needs, in kilobytes, up to a limit."""
        [(own,)] = self.database.rows("SELECT setting FROM pg_settings WHERE name = 'maintenance_work_mem'")
        self.database.execute(f"SET maintenance_work_mem = '{max(int(own), min(needed, _MOST_MEMORY))}kB'")
        try:
            self.database.execute(statement)
        except StoreError as error:
            # Parallel workers need shared memory, and a container may have too little of it.
            if "shared memory" not in str(error):
                raise
            self.database.execute("SET max_parallel_maintenance_workers = 0")
            self.database.execute(statement)
        finally:
            with suppress(StoreError):  # if the session is lost, so are its settings
                self.database.execute("RESET maintenance_work_mem")
                self.database.execute("RESET max_parallel_maintenance_workers")

    def _create(self, table: str, collection: str) -> None:
        with self.database.transaction():
            self.database.execute(
                f'CREATE TABLE {table} (node TEXT COLLATE "C" NOT NULL, born INTEGER NOT NULL, died INTEGER NOT NULL,'
                f" codes BIGINT[] NOT NULL, embedding {self._extension}.vector({self.fingerprint.dimension}) NOT NULL,"
                " PRIMARY KEY (node, born))"
            )
            self.database.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            self.database.execute(f"CREATE POLICY of_caller ON {table} USING ({_POLICY})")
            grant_points(self.database, table)
            self.database.execute(f"COMMENT ON TABLE {table} IS '{collection.replace(chr(39), '')}'")


def _in_graph(generation: int) -> str:
    """Return the SQL condition for points in the HNSW graph that was built for a generation."""
    return f"born <= {generation} AND died = {ALIVE}"


def _loose(generation: int) -> str:
    """Return the SQL condition for points that are not in the HNSW graph that was built for a generation."""
    return f"(born > {generation} OR died < {ALIVE})"


def table_name(lineage: str) -> str:
    """Return the name of the table with the points of a lineage (generations that share points).

    Raises ValueError if the lineage's name is not a UUID.
    """
    return f"{POINTS_SCHEMA}.p_{uuid.UUID(lineage).hex}"


def _encoded(point: Point, born: int) -> tuple[bytes, ...]:
    """Return a point in the binary form of its columns, which takes a tenth of the time of the text form."""
    codes = np.empty(len(point.codes), dtype=[("size", ">i4"), ("code", ">i8")])
    codes["size"], codes["code"] = 8, point.codes
    bounds = struct.pack(">ii", len(codes), 1) if point.codes else b""
    array = struct.pack(">iii", bool(point.codes), 0, 20) + bounds + codes.tobytes()  # 20 is the type bigint
    vector = struct.pack(">hh", len(point.vector), 0) + point.vector.astype(">f4").tobytes()
    return point.node_id.encode(), struct.pack(">i", born), struct.pack(">i", ALIVE), array, vector


class SharedLineages(LineageRecord):
    """The record of a workspace's lineages (generations that share points), stored as rows that all machines share."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database, self.home = database, ""

    def remove(self, lineage: StoredLineage) -> None:
        """Delete the record of a lineage (generations that shared points), whose points have already been deleted."""
        self._database.execute(f"DELETE FROM {_LINEAGES} WHERE name = ?", (lineage.name,))  # noqa: S608

    def _texts(self) -> list[str]:
        if not self._database.has_table(_LINEAGES):
            return []
        rows = self._database.rows(f"SELECT record FROM {_LINEAGES} ORDER BY name")  # noqa: S608
        return [str(text) for (text,) in rows]

    def _put(self, name: str, text: str) -> None:
        self._database.execute(
            f"INSERT INTO {_LINEAGES} (name, record) VALUES (?, ?)"  # noqa: S608 - a name of ours
            " ON CONFLICT (name) DO UPDATE SET record = EXCLUDED.record",
            (name, text),
        )


@contextmanager
def _translated() -> Iterator[None]:
    """Convert a StoreError in the block to IndexUnavailable or IndexRefused."""
    try:
        yield
    except (IndexUnavailable, IndexRefused):
        raise
    except StoreError as error:
        kind = IndexUnavailable if isinstance(error, StoreUnavailable) else IndexRefused
        raise kind(str(error), hint=error.hint) from error


_NEEDED = ".".join(map(str, MIN_PGVECTOR))
_INSTALL = f"Install pgvector {_NEEDED} or newer on the server's machine, or set index.backend: local."


def _create_extension(database: PostgresDatabase) -> None:
    """Create the extension in our schema unless the database has it. Raises IndexRefused if that fails."""
    if database.rows("SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
        return
    if not database.rows("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        raise IndexRefused(f"{database.name} has no extension vector (pgvector).", hint=_INSTALL)
    try:
        database.execute(f"CREATE EXTENSION IF NOT EXISTS vector SCHEMA {POINTS_SCHEMA}")
    except StoreUnavailable:
        raise
    except StoreError as error:
        raise _no_extension(database) from error


def _no_extension(database: PostgresDatabase) -> IndexRefused:
    return IndexRefused(
        f"The extension vector (pgvector) has not been created in {database.name}.",
        hint="Let a superuser run in this database: CREATE EXTENSION vector",
    )


def check_extension(database: PostgresDatabase) -> tuple[str, str]:
    """Return the schema and version of the extension. Raises IndexRefused if it is missing or too old."""
    row = database.row(
        "SELECT quote_ident(n.nspname), e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    )
    if row is None:
        raise _no_extension(database)
    schema, version = map(str, row)
    if tuple(int(part) for part in version.split(".")[:3]) < MIN_PGVECTOR:
        raise IndexRefused(
            f"The extension vector (pgvector) of {database.name} is {version}, but {_NEEDED} or newer is needed.",
            hint=f"{_INSTALL} Then let a superuser run in this database: ALTER EXTENSION vector UPDATE",
        )
    return schema, version


def describe_points(workspace: Workspace, *, is_chosen: bool) -> str:
    """Check that vectors can be searched in a workspace's database. Return a description for `elt-llm doctor`.

    The check is skipped if the settings do not choose pgvector (`is_chosen`) and no vectors are stored.
    """
    with closing(PostgresDatabase(workspace, STORE_SCHEMA)) as database:
        lineages = SharedLineages(database).all()
        if not is_chosen and not lineages:
            return "not checked: index.backend is local"
        _, version = check_extension(database)
        return f"{database.name}, pgvector {version}, tables of points: {len(lineages)}"
