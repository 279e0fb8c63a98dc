"""Open query engines and lend them to requests; check that collections and models are usable."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Lock

from elt_llm_core.collection.lifecycle import open_generation
from elt_llm_core.errors import EltError, UnknownCollection
from elt_llm_core.store.store import Store
from elt_llm_core.utilities import Closeable
from elt_llm_query.engine import Engine

from elt_llm_api.serve.access.principal import ReadableCollection

EngineKey = tuple[tuple[ReadableCollection, ...], str]
"""The collections in order, each with the caller's conditions, and the name of a profile."""
VersionFunction = Callable[[EngineKey], tuple[tuple[str, int], ...]]
"""A fast function that returns the versions that an engine depends on, such as each collection's generation."""


@dataclass
class _PooledEngine:
    """An engine, the versions of collections and settings it was opened with, and how many requests use it."""

    engine: Engine
    versions: tuple[tuple[str, int], ...]
    users: int = 0
    superseded: bool = False


class EnginePool(Closeable):
    """Opens engines at their first use, and closes the least recently used beyond `max_open`. The class is thread-safe.

    `open_one` opens an engine. It is never called for the same collections and profile by two threads at once.
    """

    def __init__(
        self,
        open_one: Callable[[EngineKey], Engine],
        versions: VersionFunction,
        max_open: int = 8,
        close_seconds: float = 30.0,
    ) -> None:
        """Set how engines are opened, and `close_seconds`, the longest time that `close` waits for engines in use."""
        self._open_one, self._versions = open_one, versions
        self._max_open, self._close_seconds = max_open, close_seconds
        self._engines: OrderedDict[EngineKey, _PooledEngine] = OrderedDict()
        self._opening: set[EngineKey] = set()
        self._changed = Condition()
        self._closed = False

    @contextmanager
    def lend(self, collections: Sequence[ReadableCollection], profile: str = "default") -> Iterator[Engine]:
        """Lend an engine for these collections and this profile. It stays open until the `with` block ends.

        Raises the errors of opening an engine.
        """
        pooled = self._acquire((tuple(collections), profile))
        try:
            yield pooled.engine
        finally:
            with self._changed:
                pooled.users -= 1
                is_idle = pooled.superseded and pooled.users == 0
                self._changed.notify_all()
            if is_idle:
                pooled.engine.close()

    @property
    def open_count(self) -> int:
        """The number of open engines."""
        with self._changed:
            return len(self._engines)

    def close(self) -> None:
        """Close every engine that is not in use. Afterwards no engine is lent.

        Waits a limited time for engines in use. An engine that is still in use then is closed when it is returned.
        """
        with self._changed:
            self._closed = True
            removed = [self._engines.pop(key) for key in list(self._engines)]
            self._changed.wait_for(
                lambda: not self._opening and all(pooled.users == 0 for pooled in removed), self._close_seconds
            )
            idle = _supersede(removed)
        for engine in idle:
            engine.close()

    def _acquire(self, key: EngineKey) -> _PooledEngine:
        versions = self._versions(key)
        with self._changed:
            self._changed.wait_for(lambda: key not in self._opening)
            if self._closed:
                raise RuntimeError("No engine can be opened any more: the server is stopping.")
            pooled = self._engines.get(key)
            if pooled and pooled.versions == versions:
                self._engines.move_to_end(key)
                pooled.users += 1
                return pooled
            self._opening.add(key)
        opened: _PooledEngine | None = None
        try:
            opened = _PooledEngine(self._open_one(key), versions, users=1)
        finally:
            self._finish_opening(key, opened)
        return opened

    def _finish_opening(self, key: EngineKey, opened: _PooledEngine | None) -> None:
        """Add an engine to the pool and mark it as opened, in one step, so that no other thread opens it again."""
        with self._changed:
            removed = [self._engines.pop(key)] if opened and key in self._engines else []
            if opened and self._closed:
                removed.append(opened)
            elif opened:
                self._engines[key] = opened
            while len(self._engines) > self._max_open:
                removed.append(self._engines.popitem(last=False)[1])
            idle = _supersede(removed)
            self._opening.discard(key)
            self._changed.notify_all()
        for engine in idle:
            engine.close()


def _supersede(removed: Sequence[_PooledEngine]) -> list[Engine]:
    """Mark engines that were removed from the pool. Return those that no request uses; the caller must close them."""
    for pooled in removed:
        pooled.superseded = True
    return [pooled.engine for pooled in removed if pooled.users == 0]


_log = logging.getLogger(__name__)
FileState = tuple[tuple[str, int, int, int], ...]


def file_state(paths: Iterable[Path]) -> FileState:
    """Return path, modification time in ns, size and inode of each existing file, to detect changes of the files."""
    entries: list[tuple[str, int, int, int]] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        if path.is_file():
            entries.append((str(path), status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(entries)


class CollectionHealthCache:
    """Checks whether published collections can be opened for a question. Caches the result until their files change.

    Opening compares the files that answers depend on with their recorded hashes. The first check of a large collection
    takes seconds; a later check reads no file. The class is thread-safe.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._checked: dict[str, tuple[tuple[object, ...], EltError | None]] = {}

    def fault(self, name: str) -> EltError | None:
        """Return why a published collection cannot be read. Return None if it is readable or unpublished."""
        try:
            record = self._store.collections.get(name)
        except UnknownCollection:
            return None  # the collection was deleted meanwhile
        if record.published is None:
            return None
        folder = self._store.folder(name) / str(record.published)
        # Only files that a question reads: other files may change, because opening a collection writes them.
        state = (record.id, record.published, file_state(sorted([*folder.glob("*"), *folder.glob("fields/**/*")])))
        with self._lock:
            checked = self._checked.get(name)
            if checked is None or checked[0] != state:
                checked = self._checked[name] = state, self._open(name)
            return checked[1]

    def _open(self, name: str) -> EltError | None:
        try:
            open_generation(self._store, name).close()
        except UnknownCollection:
            return None
        except EltError as error:
            _log.error("The collection '%s' cannot be searched: %s %s", name, error, error.hint)
            return error
        return None


MODEL_CHECK_SECONDS = 30.0


class ModelAvailability:
    """Caches for `seconds` whether the language model of each profile responds. The class is thread-safe.

    `check` tests the model of the named profile, and may take as long as a connection attempt. A profile is checked
    again by one thread at a time, while other threads use the last result.
    """

    def __init__(
        self, check: Callable[[str], bool], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._check, self._seconds, self._clock = check, seconds, clock
        self._results: dict[str, tuple[float, bool]] = {}
        self._lock = Lock()

    def is_available(self, profile: str) -> bool:
        """Return whether the profile's language model responds. Raises the errors of the check."""
        with self._lock:
            checked_at, available = self._results.get(profile, (float("-inf"), False))
            if self._clock() - checked_at < self._seconds:
                return available
            if profile in self._results:
                self._results[profile] = self._clock(), available
        available = self._check(profile)
        with self._lock:
            self._results[profile] = self._clock(), available
        return available
