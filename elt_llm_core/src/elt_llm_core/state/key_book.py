"""Keys as they are now, looked up without a wait: the server asks for every request, in the loop that serves all."""

from pathlib import Path
from threading import Lock

from elt_llm_core.closeable import Closeable
from elt_llm_core.state.database import STATE_NAME
from elt_llm_core.state.keys import HashedKey, KeyRecord, Keys, found_among
from elt_llm_core.store.database import Database


class KeyBook(Closeable):
    """Keeps the keys in memory, and reads them again when another connection has changed the database.

    It has a connection of its own, which only reads and so waits for no writer: what other connections of this process
    or of others do is seen at once (https://www.sqlite.org/pragma.html#pragma_data_version).
    """

    def __init__(self, data_dir: Path) -> None:
        self._database = Database(data_dir / STATE_NAME, for_writing=False)
        self._lock = Lock()
        self._version = -1
        self._keys: tuple[HashedKey, ...] = ()

    @property
    def has_keys(self) -> bool:
        """Whether there is any key."""
        return bool(self._now())

    def find(self, secret: str) -> KeyRecord | None:
        """The key with this secret, or None. All are compared, each in constant time."""
        return found_among(self._now(), secret)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def _now(self) -> tuple[HashedKey, ...]:
        with self._lock:
            [(version,)] = self._database.rows("PRAGMA data_version")
            if version != self._version:
                self._keys = tuple(Keys(self._database).hashed())
                self._version = version
            return self._keys
