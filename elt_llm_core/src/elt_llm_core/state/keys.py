"""API keys with their permissions. Keys are stored as hashes, and the server caches them in memory."""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from elt_llm_core.errors import UsageError
from elt_llm_core.settings.workspace import Workspace, as_workspace
from elt_llm_core.state.database import STATE_NAME, open_state
from elt_llm_core.store.conditions import DocumentCondition, DocumentConditions
from elt_llm_core.store.database import Database, DatabaseTable, Row, SqliteDatabase
from elt_llm_core.store.records import utc_now
from elt_llm_core.utilities import Closeable

KEY_PREFIX = "elt_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
# The name of callers without a key. A key with this name would own their conversations.
_NAME_TAKEN = "local"
_SECRET_BYTES = 32  # a secret is random, so a fast hash is sufficient


@dataclass(frozen=True)
class KeyRecord:
    """An API key without its secret. `read` and `write` are collection names or patterns such as `hr_*`.

    The key can see and change only documents that fulfil `conditions`.
    """

    name: str
    read: tuple[str, ...]
    write: tuple[str, ...]
    administers: bool
    created_at: str
    conditions: DocumentConditions = ()


class KeyTable(DatabaseTable):
    """The API keys in a state database."""

    def create(
        self,
        name: str,
        read: Sequence[str],
        write: Sequence[str],
        *,
        administers: bool = False,
        conditions: DocumentConditions = (),
    ) -> str:
        """Create a key and return its secret, which is not stored.

        Raises UsageError if the name is taken or invalid, or if a key with conditions is to administer the server.
        """
        if not _NAME.fullmatch(name) or name.lower() == _NAME_TAKEN:
            raise UsageError(
                f"'{name}' is not a valid key name.",
                hint="Use letters, digits, '-', '_' and '.'. The name 'local' is reserved.",
            )
        if self._database.row("SELECT 1 FROM api_keys WHERE name = ?", (name,)):
            raise UsageError(f"There is already a key '{name}'.", hint=f"Run: elt-llm keys revoke {name}")
        if administers and conditions:
            raise UsageError(
                "A key with conditions cannot administer the server: an administrator sees the work of all callers.",
                hint="Make two keys: one with --admin, and one with --where.",
            )
        secret = KEY_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        scopes = json.dumps(list(read)), json.dumps(list(write))
        listed = json.dumps([condition.to_json() for condition in conditions])
        self._database.execute(
            "INSERT INTO api_keys (name, hash, read, write, administers, created_at, conditions)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (name, _hash_secret(secret), *scopes, administers, utc_now(), listed),
        )
        return secret

    def all(self) -> list[KeyRecord]:
        """Return every key, sorted by name."""
        return [record for record, _ in self.hashed()]

    def hashed(self) -> list["HashedKey"]:
        """Return every key with the hash of its secret, sorted by name."""
        return [(_key_record(row), bytes(row[-1])) for row in self._database.rows(_SELECT_KEYS)]

    def revoke(self, name: str) -> None:
        """Delete a key. Raises UsageError if no key has this name."""
        if not self._database.rows("DELETE FROM api_keys WHERE name = ? RETURNING name", (name,)):
            raise UsageError(f"There is no key '{name}'.", hint="Run: elt-llm keys list")


HashedKey = tuple[KeyRecord, bytes]


_SELECT_KEYS = "SELECT name, read, write, administers, created_at, conditions, hash FROM api_keys ORDER BY name"


def _hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _key_record(row: Row) -> KeyRecord:
    conditions = tuple(map(DocumentCondition.of_json, json.loads(row[5])))
    return KeyRecord(row[0], tuple(json.loads(row[1])), tuple(json.loads(row[2])), bool(row[3]), row[4], conditions)


class KeyCache(Closeable):
    """A cache of the API keys in memory. They are reloaded when the database has changed.

    With SQLite, the cache uses its own read-only connection, which never waits for a writer and detects changes by
    others at once (https://www.sqlite.org/pragma.html#pragma_data_version).
    """

    def __init__(self, place: Path | Workspace) -> None:
        workspace = as_workspace(place)
        self._database: Database = (
            open_state(workspace)
            if workspace.is_shared
            else SqliteDatabase(workspace.folder / STATE_NAME, for_writing=False)
        )
        self._lock = Lock()
        self._version: object = None
        self._keys: tuple[HashedKey, ...] = ()

    @property
    def has_keys(self) -> bool:
        """Whether any API key exists."""
        return bool(self._now())

    def find(self, secret: str) -> KeyRecord | None:
        """Return the key with this secret, or None. The secret is compared with every key in constant time."""
        hashed = _hash_secret(secret)
        found = [record for record, kept in self._now() if hmac.compare_digest(kept, hashed)]
        return found[0] if found else None

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def _now(self) -> tuple[HashedKey, ...]:
        with self._lock:
            version = self._database.change_mark()
            if version != self._version:
                self._keys = tuple(KeyTable(self._database).hashed())
                self._version = version
            return self._keys
