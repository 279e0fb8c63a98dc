"""Tables of generations and their document versions, and the pins that keep a generation on disk while it is read."""

import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import astuple, replace
from pathlib import Path

from elt_llm_core.errors import StoreError, UsageError
from elt_llm_core.store.database import Database, DatabaseTable, SqliteDatabase
from elt_llm_core.store.lock import try_lock
from elt_llm_core.store.postgres import as_server, lock_key
from elt_llm_core.store.records import GenerationRecord, utc_now

_COLUMNS = "number, created_at, fresh_base, changed_since_fresh, documents, nodes, collection_hash, passport"


class GenerationTable(DatabaseTable):
    """The rows of generations and of the document versions that each generation contains."""

    def get(self, collection: int, number: int) -> GenerationRecord:
        """Return one generation. Raises StoreError if its number is not in the store."""
        found = [record for record in self.of_collection(collection) if record.number == number]
        if not found:
            raise StoreError(f"Generation {number} is not in the store.", hint="Run: elt-llm status")
        return found[0]

    def of_collection(self, collection: int) -> list[GenerationRecord]:
        """Return all generations of a collection, oldest first."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM generations g WHERE collection = ? AND {self._whole('generations', 'g')}"
            " ORDER BY number",
            (collection,),
        )
        return [GenerationRecord(*row) for row in rows]

    def versions(self, collection: int, number: int) -> list[int]:
        """Return the document versions that a generation contains, ascending."""
        rows = self._database.rows(
            "SELECT version FROM generation_documents g WHERE collection = ? AND generation = ?"
            f" AND {self._whole('generation_documents', 'g')} ORDER BY version",
            (collection, number),
        )
        return [int(version) for (version,) in rows]

    def embedded_with(self, fingerprint: bytes) -> list[list[int]]:
        """Return, for each generation whose vectors this model computed, the list of its document versions."""
        rows = self._database.rows("SELECT collection, number, passport FROM generations")
        of_model = [(row[0], row[1]) for row in rows if json.loads(row[2])["fingerprint_key"] == fingerprint.hex()]
        return [self.versions(collection, number) for collection, number in of_model]

    def pointer(self, collection: int) -> int | None:
        """Return the number of the published generation, or None if nothing is published."""
        row = self._database.row(
            f"SELECT published FROM collections c WHERE id = ? AND {self._whole('collections', 'c')}", (collection,)
        )
        return None if row is None or row[0] is None else int(row[0])

    def publish(
        self,
        collection: int,
        record: GenerationRecord,
        versions: Sequence[int],
        *,
        built_upon: int | None,
        rolled_back: bool = False,
    ) -> None:
        """Add a generation and publish it in one transaction. `rolled_back` marks the collection as rolled back.

        Raises StoreError and changes nothing if the published generation is no longer `built_upon`.
        """
        with self._database.transaction():
            if self.pointer(collection) != built_upon:
                raise StoreError(
                    "Another generation was published in the meantime; nothing was changed.",
                    hint="Run the same command again.",
                )
            self._insert(collection, record, versions)
            self._database.execute(
                "UPDATE collections SET previous = published, published = ?, rolled_back = ? WHERE id = ?",
                (record.number, rolled_back, collection),
            )

    def replace(self, collection: int, old: int, record: GenerationRecord, versions: Sequence[int]) -> None:
        """Add a rebuilt generation, which replaces `old` as the published or previous one. `old` is not deleted."""
        with self._database.transaction():
            self._insert(collection, record, versions)
            for pointer in ("published", "previous"):
                self._database.execute(
                    f"UPDATE collections SET {pointer} = ? WHERE id = ? AND {pointer} = ?",
                    (record.number, collection, old),
                )

    def point_at(self, collection: int, number: int) -> None:
        """Publish another kept generation in one transaction. Raises UsageError if there is no generation `number`.

        Also updates the collection's `previous` and `rolled_back`. Suppose that generation 3 is published:
        `point_at(2)` publishes 2 and rolls back; `previous` is 3. Then `point_at(1)` publishes 1; `previous` is still
        3. Then `point_at(3)` publishes 3 and ends the rollback; `previous` is 1.
        """
        with self._database.transaction():
            if number not in {record.number for record in self.of_collection(collection)}:
                raise UsageError(f"There is no generation {number}.", hint="Run: elt-llm status")
            self._database.execute(
                "UPDATE collections SET published = ?1,"
                " rolled_back = NOT (rolled_back AND previous IS NOT DISTINCT FROM ?1),"
                " previous = CASE WHEN rolled_back AND previous IS DISTINCT FROM ?1 THEN previous ELSE published END"
                " WHERE id = ?2 AND published IS DISTINCT FROM ?1",
                (number, collection),
            )

    def delete(self, collection: int, number: int) -> None:
        """Delete the row of a generation. Its document versions are kept until unused rows are deleted."""
        with self._database.transaction():
            self.delete_within(collection, number)

    def delete_within(self, collection: int, number: int) -> None:
        """Delete the row of a generation within the caller's transaction."""
        self._database.execute("DELETE FROM generations WHERE collection = ? AND number = ?", (collection, number))
        self._database.execute(
            "UPDATE collections SET previous = NULL WHERE id = ? AND previous = ?", (collection, number)
        )

    def naming(self, collection: int, versions: Sequence[int]) -> list[int]:
        """Return the numbers of the generations, ascending, that contain one of these document versions."""
        rows = self._database.rows_in(
            "SELECT DISTINCT generation FROM generation_documents WHERE collection = ? AND version IN ({})",
            versions,
            collection,
        )
        return sorted({int(number) for (number,) in rows})

    def _insert(self, collection: int, record: GenerationRecord, versions: Sequence[int]) -> None:
        self._database.execute(
            f"INSERT INTO generations (collection, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (collection, *astuple(replace(record, created_at=utc_now()))),
        )
        self._database.execute_many(
            "INSERT INTO generation_documents (collection, generation, version) VALUES (?, ?, ?)",
            [(collection, record.number, version) for version in versions],
        )


PIN_NAME = "pin"
_ATTEMPTS = 100  # to pin the published generation, since another one may be published in between


class GenerationPin:
    """A reader's pin, which keeps one generation on disk until `release` is called or the process ends."""

    def __init__(self, number: int, held: ExitStack) -> None:
        """Take over the locks that closing `held` releases."""
        self.number = number
        self._held = held

    def release(self) -> None:
        """Release the pin. A second call does nothing."""
        self._held.close()


def pin_published(folder: Path, pointer: Callable[[], int | None]) -> GenerationPin | None:
    """Pin the published generation of the collection in `folder`, or return None if nothing is published.

    `pointer` returns the number of the published generation. It is called again after locking, and if another one was
    published in between, that one is pinned instead. Raises StoreError if the generation's directory is missing.
    """
    number = pointer()
    for _ in range(_ATTEMPTS):
        if number is None:
            return None
        descriptor = _lock(folder / str(number) / PIN_NAME, fcntl.LOCK_SH)
        if descriptor is not None:
            with ExitStack() as held:
                held.callback(os.close, descriptor)
                if pointer() == number:
                    return GenerationPin(number, held.pop_all())
        elif pointer() == number and not (folder / str(number) / PIN_NAME).exists():
            break
        number = pointer()
    raise StoreError(
        f"The published generation {number} of '{folder.name}' is not in {folder}.",
        hint=f"Run: elt-llm verify -c {folder.name}",
    )


def pin_shared(
    database: Database,
    collection: int,
    pointer: Callable[[], int | None],
    folder: Path,
    provide: Callable[[int], None] | None,
) -> GenerationPin | None:
    """Pin the rows of the published generation by a lock on the database server, and its files on this machine.

    `provide` builds the files of a generation if they are missing. If it is None, only the rows are pinned.
    """
    server = as_server(database)
    number = pointer()
    for _ in range(_ATTEMPTS):
        if number is None:
            return None
        key = lock_key("pin", collection, number)
        guarded = f"SELECT 1 FROM generations WHERE collection = {collection} AND number = {number}"
        if server.try_lock(key, shared=True, guarded=guarded):
            if pointer() == number:
                break
            server.unlock(key, shared=True)
        number = pointer()
    else:
        raise StoreError(f"'{folder.name}' is being published again and again.", hint="Run the same command again.")
    with ExitStack() as held:
        held.callback(server.unlock, key, shared=True)
        if provide is not None:
            provide(number)
            descriptor = _lock(folder / str(number) / PIN_NAME, fcntl.LOCK_SH)
            if descriptor is None:
                deleted = f"Files of generation {number} of '{folder.name}' are being deleted."
                raise StoreError(deleted, hint="Try again.")
            held.callback(os.close, descriptor)
        return GenerationPin(number, held.pop_all())


def is_unpinned(database: Database, collection: int, number: int) -> bool:
    """Return whether no session of the database server pins a generation. With SQLite, files are locked instead."""
    if isinstance(database, SqliteDatabase):
        return True
    server, key = as_server(database), lock_key("pin", collection, number)
    if not server.try_lock(key):
        return False
    server.unlock(key)
    return True


def discard_generation(directory: Path, trash: Path) -> bool:
    """Delete a generation's directory unless a reader pins it. Return whether the directory is gone.

    The directory is first moved to `trash`, so that a crash never leaves an incomplete generation.
    """
    if not directory.exists():
        return True
    descriptor = _lock(directory / PIN_NAME, fcntl.LOCK_EX)
    if descriptor is None and (directory / PIN_NAME).exists():
        return False
    try:
        trash.mkdir(mode=0o700, exist_ok=True)
        target = trash / f"{directory.parent.name}-{directory.name}-{uuid.uuid4().hex[:8]}"
        directory.rename(target)
    finally:
        if descriptor is not None:
            os.close(descriptor)
    shutil.rmtree(target)
    return True


def pin_holders(path: Path) -> list[int]:
    """Return the ids of the processes that lock a pin file, or an empty list if the system does not report locks."""
    locks = Path("/proc/locks")
    if not locks.exists():
        return []
    inode = f":{path.stat().st_ino}"
    rows = (line.split() for line in locks.read_text(encoding="ascii", errors="replace").splitlines())
    return sorted({int(row[4]) for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(inode)})


def _lock(path: Path, kind: int) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if try_lock(descriptor, kind):
        return descriptor
    os.close(descriptor)
    return None
