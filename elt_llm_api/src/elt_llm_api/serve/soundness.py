"""Whether published collections can be asked: found out once for each state of their files, not by asking them."""

import logging
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from elt_llm_core.collection import open_generation
from elt_llm_core.errors import EltError, UnknownCollection
from elt_llm_core.store.store import Store

_log = logging.getLogger(__name__)
_State = tuple[object, ...]


class Soundness:
    """Opens what is published as a question does, and remembers what came of it until its files change.

    Opening holds the files that answers depend on against their hashes, so the first look at much takes seconds; later
    ones read no file. Safe to use from many threads.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._found: dict[str, tuple[_State, EltError | None]] = {}

    def fault(self, name: str) -> EltError | None:
        """Why what is published cannot be read; None if it can, and if nothing was published."""
        try:
            record = self._store.collections.get(name)
        except UnknownCollection:
            return None  # dropped meanwhile
        if record.published is None:
            return None
        state = record.id, record.published, *_seen(self._store.folder(name) / str(record.published))
        with self._lock:
            known = self._found.get(name)
            if known is None or known[0] != state:
                known = self._found[name] = state, self._opened(name)
            return known[1]

    def _opened(self, name: str) -> EltError | None:
        try:
            open_generation(self._store, name).close()
        except UnknownCollection:
            return None
        except EltError as error:
            _log.error("The collection '%s' cannot be asked: %s %s", name, error, error.hint)
            return error
        return None


def _seen(directory: Path) -> Iterator[tuple[str, int, int]]:
    """Names, times and sizes of the files that a question cannot do without, and of none that opening writes."""
    for path in sorted([*directory.glob("*"), *directory.glob("fields/**/*")]):
        try:
            status = path.stat()
        except OSError:
            continue  # collected meanwhile
        if path.is_file():
            yield path.name, status.st_mtime_ns, status.st_size
