"""Vectors as points in Qdrant, in one collection of the server for each embedding model; see docs/qdrant.md.

The module also manages the connections to vector databases of both kinds, Qdrant and pgvector.
"""

import fcntl
import os
import sqlite3
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from elt_llm_core.errors import EltError, IndexRefused, IndexUnavailable, SettingsError
from elt_llm_core.index.points import (
    ALIVE,
    PROBE,
    TENANT_FIELD,
    LineageRecord,
    Point,
    PointDatabase,
    PointsFilter,
    PointsView,
    batches,
)
from elt_llm_core.settings.loader import INDEX_KEY_FILE_VARIABLE, INDEX_KEY_VARIABLE
from elt_llm_core.settings.tree import ChromaSettings, IndexSettings
from elt_llm_core.settings.workspace import Workspace
from elt_llm_core.store.conditions import DocumentConditions
from elt_llm_core.store.database import Database
from elt_llm_core.store.lock import try_lock
from elt_llm_core.store.postgres import as_server
from elt_llm_core.store.records import EmbeddingFingerprint
from elt_llm_core.store.store import Store
from elt_llm_core.utilities import Closeable, install_command

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client import models as q

_ASKED_AT_ONCE, _READ_AT_ONCE = 32, 1000  # query vectors per request; points per response


def open_qdrant(
    settings: IndexSettings, fingerprint: EmbeddingFingerprint, graph: ChromaSettings, data_dir: Path, key: str | None
) -> PointDatabase:
    """Return an object for an embedding model's points in Qdrant. It opens a folder now, but contacts a server later.

    Raises SettingsError if qdrant-client is not installed, and IndexUnavailable if another process uses the folder.
    """
    if util.find_spec("qdrant_client") is None:
        raise SettingsError(
            "index.backend is qdrant, and qdrant-client is not installed.", hint=f"Run: {install_command('qdrant')}"
        )
    from qdrant_client import QdrantClient

    with _translated(settings), warnings.catch_warnings():
        # The doctor warns about a key that is sent without TLS.
        warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
        if settings.is_folder:
            folder = data_dir / settings.url
            _refuse_open_folder(settings, folder)
            client = QdrantClient(path=str(folder), force_disable_check_same_thread=True)
        else:
            client = QdrantClient(
                url=settings.url,
                api_key=key,
                prefer_grpc=settings.prefer_grpc,
                timeout=settings.timeout_seconds,
                check_compatibility=False,
            )
    return QdrantPoints(client, settings, fingerprint, graph)


def collection_name(fingerprint: EmbeddingFingerprint) -> str:
    """Return the name of the Qdrant collection for an embedding model."""
    return f"elt-llm-{fingerprint.key.hex()[:16]}"


@dataclass
class QdrantPoints(Closeable):
    """The points of one embedding model in Qdrant, accessed through an open client."""

    client: "QdrantClient"
    settings: IndexSettings
    fingerprint: EmbeddingFingerprint
    graph: ChromaSettings

    @property
    def name(self) -> str:
        """The name of the collection in Qdrant."""
        return collection_name(self.fingerprint)

    def is_exact(self, view: PointsView) -> bool:
        """Return whether every search is exact, as in Qdrant's folder mode, which builds no graph."""
        return self.settings.is_folder

    def prepare(self) -> None:
        """Create the collection and its payload indexes if needed, check them, and write and delete one point."""
        with _translated(self.settings):
            if not self.client.collection_exists(self.name):
                self._create()
            described = self.client.get_collection(self.name)
            self._check_vectors(described.config.params.vectors)
            self._index_payload(described.payload_schema)
            vector = np.eye(1, self.fingerprint.dimension, dtype=np.float32)[0]
        self.write(PROBE, "", [Point("probe", vector, [], [])])
        self.keep(PROBE.lineage, ())

    def rewind(self, view: PointsView) -> None:
        """Undo what was written for generations later than that of `view`, as by a publish that crashed."""
        self._delete([_of_lineage(view.lineage), _range("born", above=view.generation)])
        died = [_of_lineage(view.lineage), _range("died", above=view.generation, below=ALIVE)]
        self._set_died(died, ALIVE)

    def write(self, view: PointsView, collection: str, points: Iterable[Point]) -> None:
        """Write points that belong to the generation of `view` and to later ones, until they are retired."""
        from qdrant_client import models as q

        for batch in batches(points):
            rows = [
                q.PointStruct(
                    id=str(uuid.uuid5(uuid.UUID(view.lineage), f"{point.node_id}/{view.generation}")),
                    vector=point.vector.tolist(),
                    payload={
                        "lineage": view.lineage,
                        "collection": collection,
                        "node": point.node_id,
                        "born": view.generation,
                        "died": ALIVE,
                        "codes": point.codes,
                        TENANT_FIELD: point.tenants,
                    },
                )
                for point in batch
            ]
            with _translated(self.settings):
                self.client.upsert(self.name, rows, wait=True)

    def retire(self, view: PointsView, node_ids: Sequence[str]) -> None:
        """Mark the older points of these nodes as removed from the generation of `view` and from later ones."""
        from qdrant_client import models as q

        these = q.FieldCondition(key="node", match=q.MatchAny(any=list(node_ids)))
        former = [_range("born", below=view.generation), _range("died", above=ALIVE - 1)]
        self._set_died([_of_lineage(view.lineage), these, *former], view.generation)

    def keep(self, lineage: str, numbers: Sequence[int]) -> None:
        """Delete the points of a lineage (generations that share points) that none of these generations contains."""
        if not numbers:
            self._delete([_of_lineage(lineage)])
            return
        kept = sorted(numbers)
        bounds = [-1, *kept]
        for before, first in zip(bounds, kept, strict=False):
            # Points that were written after one kept generation and removed by the next.
            self._delete([_of_lineage(lineage), _range("born", above=before), _range("died", below=first + 1)])
        self.rewind(PointsView(lineage, kept[-1]))

    def seen_by(self, conditions: DocumentConditions) -> "QdrantPoints":
        """Return this object, because Qdrant does not check the conditions of callers."""
        return self

    def nearest(
        self, view: PointsView, vectors: NDArray[np.float32], count: int, filters: Sequence[PointsFilter] = ()
    ) -> list[list[str]]:
        """Return the ids of `count` nodes near each vector, best first. With filters, the search is exact."""
        from qdrant_client import models as q

        wanted = _seen_by(view, filters)
        effort = max(self.graph.ef_search, count)
        # In a folder, every search is exact, and the library would warn about parameters.
        params = None if self.settings.is_folder else q.SearchParams(exact=bool(filters), hnsw_ef=effort)
        requests = [
            q.QueryRequest(query=vector.tolist(), filter=wanted, params=params, limit=count, with_payload=["node"])
            for vector in vectors
        ]
        consistency = q.ReadConsistencyType.MAJORITY if self.settings.replicas > 1 else None
        found: list[list[str]] = []
        with _translated(self.settings):
            for start in range(0, len(requests), _ASKED_AT_ONCE):
                asked = requests[start : start + _ASKED_AT_ONCE]
                answers = self.client.query_batch_points(self.name, asked, consistency=consistency)
                found += [[str(_payload(hit)["node"]) for hit in answer.points] for answer in answers]
        return found

    def count(self, view: PointsView) -> int:
        """Return the exact number of points that belong to the generation of `view`."""
        with _translated(self.settings):
            if not self.client.collection_exists(self.name):
                return 0
            return int(self.client.count(self.name, count_filter=_seen_by(view), exact=True).count)

    def every_point(self, view: PointsView) -> Iterator[tuple[str, list[int]]]:
        """Yield (node id, codes) of each point that belongs to the generation of `view`, in any order.

        The codes are the node's field values, each as a `stable_code` (a hash of field and value).
        """
        place: Any = None
        while True:
            with _translated(self.settings):
                points, place = self.client.scroll(
                    self.name,
                    scroll_filter=_seen_by(view),
                    limit=_READ_AT_ONCE,
                    offset=place,
                    with_payload=["node", "codes"],
                )
            for payload in map(_payload, points):
                yield str(payload["node"]), list(payload.get("codes") or ())
            if place is None:
                return

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def _create(self) -> None:
        from qdrant_client import models as q

        self.client.create_collection(
            self.name,
            vectors_config=q.VectorParams(size=self.fingerprint.dimension, distance=q.Distance.COSINE),
            hnsw_config=q.HnswConfigDiff(m=self.graph.max_neighbors, ef_construct=self.graph.ef_construction),
            shard_number=self.settings.shards,
            replication_factor=self.settings.replicas,
            write_consistency_factor=self.settings.replicas // 2 + 1,
        )

    def _check_vectors(self, vectors: Any) -> None:
        """Raise IndexRefused unless the collection's vectors have our dimension and are compared by cosine."""
        size, distance = getattr(vectors, "size", None), getattr(vectors, "distance", None)
        if (size, distance) != (self.fingerprint.dimension, "Cosine"):
            shown = f"{size} dimensions and the distance {distance}" if size else "named vectors"
            raise IndexRefused(
                f"The collection {self.name} of {self.settings.url} has {shown}; {self.fingerprint.model} needs"
                f" {self.fingerprint.dimension} dimensions and the distance Cosine.",
                hint="Another program made it. Delete or rename it there, or set index.url to another server.",
            )

    def _index_payload(self, present: Mapping[str, Any]) -> None:
        """Create missing payload indexes. Without them, the server would read every point for each search."""
        from qdrant_client import models as q

        if self.settings.is_folder:
            return
        keyword, integer = q.KeywordIndexType.KEYWORD, q.IntegerIndexType.INTEGER
        schemas: dict[str, q.KeywordIndexParams | q.IntegerIndexParams] = {
            "lineage": q.KeywordIndexParams(type=keyword, is_tenant=True),
            TENANT_FIELD: q.KeywordIndexParams(type=keyword, is_tenant=True),
            "collection": q.KeywordIndexParams(type=keyword),
            "node": q.KeywordIndexParams(type=keyword),
            "born": q.IntegerIndexParams(type=integer, lookup=False, range=True),
            "died": q.IntegerIndexParams(type=integer, lookup=False, range=True),
            "codes": q.IntegerIndexParams(type=integer, lookup=True, range=False),
        }
        for field in schemas.keys() - present.keys():
            self.client.create_payload_index(self.name, field, field_schema=schemas[field], wait=True)

    def _delete(self, must: Sequence["q.Condition"]) -> None:
        from qdrant_client import models as q

        with _translated(self.settings):
            if self.client.collection_exists(self.name):
                self.client.delete(self.name, q.FilterSelector(filter=q.Filter(must=list(must))), wait=True)

    def _set_died(self, must: Sequence["q.Condition"], number: int) -> None:
        from qdrant_client import models as q

        with _translated(self.settings):
            if self.client.collection_exists(self.name):
                self.client.set_payload(self.name, {"died": number}, points=q.Filter(must=list(must)), wait=True)


def _payload(point: Any) -> Mapping[str, Any]:
    return point.payload or {}


def _of_lineage(lineage: str) -> "q.FieldCondition":
    from qdrant_client import models as q

    return q.FieldCondition(key="lineage", match=q.MatchValue(value=lineage))


def _range(field: str, *, above: int | None = None, below: int | None = None) -> "q.FieldCondition":
    from qdrant_client import models as q

    return q.FieldCondition(key=field, range=q.Range(gt=above, lt=below))


def _seen_by(view: PointsView, filters: Sequence[PointsFilter] = ()) -> "q.Filter":
    """Return the filter for the points that belong to a generation and fulfil the filters."""
    from qdrant_client import models as q

    alive = [_range("born", below=view.generation + 1), _range("died", above=view.generation)]
    codes = [(q.FieldCondition(key="codes", match=q.MatchAny(any=list(one.codes))), one.denies) for one in filters]
    return q.Filter(
        must=[_of_lineage(view.lineage), *alive, *(one for one, denies in codes if not denies)],
        must_not=[one for one, denies in codes if denies] or None,
    )


@contextmanager
def _translated(settings: IndexSettings) -> Iterator[None]:
    """Convert the client's exceptions in the block to IndexUnavailable or IndexRefused."""
    import grpc
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        content = (error.content or b"").decode("utf-8", "replace")[:300]
        raise _refusal(settings, f"{error.status_code} {content}", error.status_code or 0) from error
    except grpc.RpcError as error:
        raise _grpc_error(settings, error) from error
    except (ResponseHandlingException, QdrantException) as error:
        raise _unreachable(settings, str(error)) from error
    except RuntimeError as error:
        if "already accessed" not in str(error):
            raise
        raise _folder_is_open(settings) from error
    except (sqlite3.Error, OSError) as error:  # from a client that uses a folder
        raise _refusal(settings, str(error), 0) from error


def _refuse_open_folder(settings: IndexSettings, folder: Path) -> None:
    """Raise IndexUnavailable if another client has the folder open. Else the library would leak a file."""
    lock = folder / ".lock"
    if lock.is_file():
        with lock.open("r+b") as stream:
            if not try_lock(stream.fileno(), fcntl.LOCK_EX):
                raise _folder_is_open(settings)


def _folder_is_open(settings: IndexSettings) -> EltError:
    return IndexUnavailable(
        f"Another process has the folder {settings.url} in the data directory open.",
        hint="Wait for the other command, or start a Qdrant server and set index.url to it; see docs/qdrant.md.",
    )


def _unreachable(settings: IndexSettings, why: str) -> EltError:
    slow = "timed out" in why or "DEADLINE" in why
    start = "Raise index.timeout_seconds" if slow else "Start the server"
    return IndexUnavailable(
        f"Qdrant at {settings.url} cannot be reached: {why[:300]}",
        hint=f"{start}, or correct index.url and run: elt-llm ingest   (see docs/qdrant.md)",
    )


def _grpc_error(settings: IndexSettings, error: Any) -> EltError:
    code = getattr(error.code(), "name", "") if callable(getattr(error, "code", None)) else ""
    details = error.details() if callable(getattr(error, "details", None)) else str(error)
    if code in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}:
        return _unreachable(settings, f"{code} {details}")
    status = {"UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "RESOURCE_EXHAUSTED": 507}.get(code, 0)
    return _refusal(settings, f"{code} {details}", status)


def _refusal(settings: IndexSettings, why: str, status: int) -> EltError:
    """Return the error for a server's refusal, with a hint that fits the reason."""
    lower = why.lower()
    if status in {502, 503, 504}:
        return _unreachable(settings, why)
    if status == 401:
        hint = "Set ELT_LLM_INDEX__API_KEY to the server's key, or ELT_LLM_INDEX__API_KEY_FILE to a file with it."
    elif status == 403 or "read-only" in lower or "readonly" in lower:
        hint = "Use a key that may write and create collections, and check that the server is not read-only."
    elif status == 507 or any(sign in lower for sign in ("no space left", "out of memory", "disk is full")):
        hint = "Free space or memory on Qdrant's machine, then run the same command again."
    else:
        hint = "Read the log of the server. If its version is older than 1.16, update it."
    return IndexRefused(f"Qdrant at {settings.url} refused the request: {why}", hint=hint)


class PointDatabases(Closeable):
    """Connections to vector databases, opened on first use and shared by threads until they are closed."""

    def __init__(
        self, data_dir: Path, current: IndexSettings | None = None, *, database: Database | None = None
    ) -> None:
        """Prepare connections. The settings `current` replace those that passports recorded for the same database.

        `database` is the workspace's open database, through which points in PostgreSQL are read and written.
        """
        self._data_dir, self._current, self._database = data_dir, current, database
        self._open: dict[tuple[str, bytes], PointDatabase] = {}
        self._lock = Lock()

    def get(
        self, settings: IndexSettings, fingerprint: EmbeddingFingerprint, graph: ChromaSettings | None = None
    ) -> PointDatabase:
        """Return an object that reads and writes an embedding model's points. `graph` has the parameters of new graphs.

        Raises SettingsError if qdrant-client is not installed, and IndexUnavailable if another process uses the folder.
        """
        if self._current is not None and settings.is_same_place(self._current):
            settings = self._current
        name = settings.model_dump_json(), fingerprint.key
        with self._lock:
            if name not in self._open:
                self._open[name] = self._opened(settings, fingerprint, graph or ChromaSettings())
            return self._open[name]

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for database in self._open.values():
                database.close()
            self._open.clear()

    def _opened(
        self, settings: IndexSettings, fingerprint: EmbeddingFingerprint, graph: ChromaSettings
    ) -> PointDatabase:
        if settings.backend == "pgvector" and self._database is not None:
            from elt_llm_core.index.pgvector import PgvectorPoints

            return PgvectorPoints(as_server(self._database), fingerprint, graph)
        return open_qdrant(settings, fingerprint, graph, self._data_dir, database_key(os.environ))


def point_databases(store: Store, current: IndexSettings | None = None) -> PointDatabases:
    """Return connections to the vector databases of an open store."""
    return PointDatabases(store.data_dir, current, database=store.database)


def lineages_of(store: Store) -> LineageRecord:
    """Return the record of a workspace's lineages (generations that share points), in its folder or shared database."""
    if not store.workspace.is_shared:
        return LineageRecord(store.data_dir)
    from elt_llm_core.index.pgvector import SharedLineages

    return SharedLineages(as_server(store.database))


def check_place(index: IndexSettings, workspace: Workspace) -> None:
    """Raise SettingsError if some machine of the workspace could not reach the vectors in `index.backend`."""
    if index.backend == "qdrant" and workspace.is_shared:
        raise SettingsError(
            "index.backend: qdrant cannot be used together with storage.backend: postgres.",
            hint="Set index.backend: pgvector to search the vectors in PostgreSQL, or local to search them in files"
            " that every machine builds from the database.",
        )
    if index.backend == "pgvector" and not workspace.is_shared:
        raise SettingsError(
            "index.backend: pgvector needs storage.backend: postgres.",
            hint="Set storage.backend: postgres, or index.backend: local.",
        )


def database_key(environment: Mapping[str, str]) -> str | None:
    """Return the vector database's key from an environment variable, or from the file that another variable names.

    Raises SettingsError if the file cannot be read. The error does not contain the key.
    """
    if key := environment.get(INDEX_KEY_VARIABLE, "").strip():
        return key
    if not (path := environment.get(INDEX_KEY_FILE_VARIABLE, "")):
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{INDEX_KEY_FILE_VARIABLE} names {path}, which cannot be read.",
            hint="Correct the path or its permissions.",
        ) from error
