"""Places where vectors can be points of a database: a folder of Qdrant's client, and PostgreSQL with pgvector."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elt_llm_core.index.points import PointDatabase
from elt_llm_core.index.qdrant import PointDatabases, point_databases
from elt_llm_core.models.fakes import FakeEmbedding
from elt_llm_core.settings.tree import IndexSettings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.store import open_store

if TYPE_CHECKING:
    from elt_llm_core.index.qdrant import QdrantPoints

MODEL = FakeEmbedding(32)
QDRANT_FOLDER = IndexSettings(backend="qdrant", url="qdrant")
PGVECTOR = IndexSettings(backend="pgvector")


@dataclass(frozen=True)
class PointsPlace:
    """A workspace whose vectors are points of a database."""

    workspace: Workspace
    index: IndexSettings

    @contextmanager
    def points(self) -> Iterator[PointDatabase]:
        """Open the stored vectors (points) of the embedding model."""
        if self.workspace.is_shared:
            with open_store(self.workspace) as store, point_databases(store) as databases:
                yield databases.get(self.index, MODEL.fingerprint)
        else:
            with PointDatabases(self.workspace.folder) as databases:
                yield databases.get(self.index, MODEL.fingerprint)

    def stored(self) -> list[tuple[str, str, int, int]]:
        """Return (lineage, node, born, died) of every point, sorted. The last two are generation numbers."""
        raise NotImplementedError

    def lose(self, count: int) -> None:
        """Delete the first `count` points, as if a database had lost them."""
        raise NotImplementedError

    def recode(self) -> None:
        """Damage the first point: replace its filter codes (the stored field values) by others."""
        raise NotImplementedError


class QdrantPlace(PointsPlace):
    """Points in a folder, or in a server."""

    def __init__(self, folder: Path, index: IndexSettings = QDRANT_FOLDER) -> None:
        super().__init__(Workspace(folder), index)

    @contextmanager
    def qdrant(self) -> Iterator["QdrantPoints"]:
        """Open the stored vectors of the model as `QdrantPoints`, whose further methods other databases lack."""
        from elt_llm_core.index.qdrant import QdrantPoints

        with self.points() as database:
            assert isinstance(database, QdrantPoints)
            yield database

    def stored(self) -> list[tuple[str, str, int, int]]:
        """Return (lineage, node, born, died) of every point, sorted. The last two are generation numbers."""
        with self.qdrant() as database:
            found, _ = database.client.scroll(database.name, limit=10_000)
        rows = [it.payload or {} for it in found]
        return sorted((row["lineage"], row["node"], row["born"], row["died"]) for row in rows)

    def lose(self, count: int) -> None:
        """Delete the first `count` points, as if a database had lost them."""
        from qdrant_client import models as q

        nodes = [row[1] for row in self.stored()[:count]]
        with self.qdrant() as database:
            database._delete([q.FieldCondition(key="node", match=q.MatchAny(any=nodes))])

    def recode(self) -> None:
        """Damage the first point: replace its filter codes (the stored field values) by others."""
        from qdrant_client import models as q

        node = self.stored()[0][1]
        with self.qdrant() as database:
            chosen = q.Filter(must=[q.FieldCondition(key="node", match=q.MatchValue(value=node))])
            database.client.set_payload(database.name, {"codes": [1]}, points=chosen)


class PgvectorPlace(PointsPlace):
    """Points in the database of the workspace."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, PGVECTOR)

    def tables(self) -> list[str]:
        """Return the tables of points."""
        with open_store(self.workspace) as store:
            rows = store.database.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'p\\_%' ORDER BY 1")
        return [str(name) for (name,) in rows]

    def stored(self) -> list[tuple[str, str, int, int]]:
        """Return (lineage, node, born, died) of every point, sorted. The last two are generation numbers."""
        found = []
        for table in self.tables():
            with open_store(self.workspace) as store:
                rows = store.database.rows(f"SELECT node, born, died FROM elt_llm_points.{table}")  # noqa: S608
            found += [(table.removeprefix("p_"), str(node), int(born), int(died)) for node, born, died in rows]
        return sorted(found)

    def lose(self, count: int) -> None:
        """Delete the first `count` points, as if a database had lost them."""
        for lineage, node, born, _ in self.stored()[:count]:
            with open_store(self.workspace) as store:
                statement = f"DELETE FROM elt_llm_points.p_{lineage} WHERE node = ? AND born = ?"  # noqa: S608
                store.database.execute(statement, (node, born))

    def recode(self) -> None:
        """Damage the first point: replace its filter codes (the stored field values) by others."""
        lineage, node, born, _ = self.stored()[0]
        with open_store(self.workspace) as store:
            statement = f"UPDATE elt_llm_points.p_{lineage} SET codes = '{{1}}' WHERE node = ? AND born = ?"  # noqa: S608
            store.database.execute(statement, (node, born))
