"""Keys that callers of the server show: kept as hashes, each with what it allows."""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_core.errors import UsageError
from elt_llm_core.store.clock import now
from elt_llm_core.store.database import Database, Row

PREFIX = "elt_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_TAKEN = "local"  # who asks without a key: a key of that name would own their conversations
_BYTES = 32  # of chance: a fast hash is enough for what nobody can guess


@dataclass(frozen=True)
class KeyRecord:
    """A key without its secret. `read` and `write` are names of collections or patterns such as `hr_*`."""

    name: str
    read: tuple[str, ...]
    write: tuple[str, ...]
    administers: bool
    created_at: str


class Keys:
    """The keys in a state database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, read: Sequence[str], write: Sequence[str], *, administers: bool = False) -> str:
        """Make a key and return its secret, which is kept nowhere.

        Raises UsageError if the name is taken, or can be none: letters, digits, `_`, `.` and `-`, 63 at most.
        """
        if not _NAME.fullmatch(name) or name.lower() == _TAKEN:
            raise UsageError(f"'{name}' cannot be a key's name.", hint="Use letters, digits, -, _ and .; not 'local'.")
        if self._database.row("SELECT 1 FROM api_keys WHERE name = ?", (name,)):
            raise UsageError(f"There is a key '{name}' already.", hint=f"Run: elt-llm keys revoke {name}")
        secret = PREFIX + secrets.token_urlsafe(_BYTES)
        scopes = json.dumps(list(read)), json.dumps(list(write))
        self._database.execute(
            "INSERT INTO api_keys VALUES (?, ?, ?, ?, ?, ?)", (name, _hashed(secret), *scopes, int(administers), now())
        )
        return secret

    def all(self) -> list[KeyRecord]:
        """Every key by name."""
        return [_record(row) for row in self._database.rows(_ALL)]

    def find(self, secret: str) -> KeyRecord | None:
        """The key with this secret, or None. All are compared, each in constant time."""
        return found_among(self.hashed(), secret)

    def hashed(self) -> list["HashedKey"]:
        """Every key with the hash of its secret, by name."""
        return [(_record(row), bytes(row[-1])) for row in self._database.rows(_ALL)]

    def revoke(self, name: str) -> None:
        """Forget a key. Raises UsageError if there is none of that name."""
        if not self._database.row("SELECT 1 FROM api_keys WHERE name = ?", (name,)):
            raise UsageError(f"There is no key '{name}'.", hint="Run: elt-llm keys list")
        self._database.execute("DELETE FROM api_keys WHERE name = ?", (name,))


HashedKey = tuple[KeyRecord, bytes]


def found_among(keys: Sequence[HashedKey], secret: str) -> KeyRecord | None:
    """The key with this secret, or None. All are compared, each in constant time."""
    hashed = _hashed(secret)
    found = None
    for record, kept in keys:
        if hmac.compare_digest(kept, hashed):
            found = record
    return found


_ALL = "SELECT name, read, write, administers, created_at, hash FROM api_keys ORDER BY name"


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _record(row: Row) -> KeyRecord:
    return KeyRecord(row[0], tuple(json.loads(row[1])), tuple(json.loads(row[2])), bool(row[3]), row[4])
