"""Checksums of the store's rows. A writer stores one with each row, and checks compare them with the rows.

SQLite notices damage to the structure of a page, but not to the values in a row.
"""

from elt_llm_core.errors import StoreError
from elt_llm_core.store.database import CHECKSUM_COLUMN, RECOVER_HINT, Database, SqliteDatabase, read_checked_tables

_MAX_FAULTS = 100  # faults that one check lists


def keep_checksums(database: SqliteDatabase) -> None:
    """Add temporary triggers, so that this connection stores a checksum with every row that it adds or changes."""
    for table in read_checked_tables(database).values():
        same = " AND ".join(f"{column} = NEW.{column}" for column in table.key)
        columns = ", ".join(table.values + table.blobs)
        for name, event in (("added", "INSERT"), ("changed", f"UPDATE OF {columns}")):
            database.execute(
                f"CREATE TEMP TRIGGER IF NOT EXISTS {table.name}_{name} AFTER {event} ON {table.name} BEGIN"
                f" UPDATE {table.name} SET {CHECKSUM_COLUMN} = {table.checksum('NEW')} WHERE {same}; END"
            )


def fill_checksums(database: SqliteDatabase) -> None:
    """Store the checksum of every row, after a migration. The caller opens the transaction."""
    for table in read_checked_tables(database).values():
        database.execute(f"UPDATE {table.name} SET {CHECKSUM_COLUMN} = {table.checksum(table.name)}")


def find_damage(database: Database) -> list[str]:
    """Return the faults of a database as phrases. Rows are compared with their checksums only if its pages are sound.

    The list is empty for a database server, which checks its pages itself whenever it reads them.
    """
    if not isinstance(database, SqliteDatabase):
        return []
    try:
        found = [str(row[0]) for row in database.rows(f"PRAGMA integrity_check({_MAX_FAULTS})") if row[0] != "ok"]
        return found or _changed_rows(database)
    except StoreError as error:
        return [str(error)]


def check_truth(database: SqliteDatabase) -> None:
    """Raise StoreError if the database is damaged. A writer calls this first, so that it never copies damaged rows."""
    if faults := find_damage(database):
        more = f" ({len(faults) - 1} more faults were found)" if len(faults) > 1 else ""
        raise StoreError(
            f"{database.path} is damaged: {faults[0].rstrip('.')}{more}.", hint=f"Nothing was changed. {RECOVER_HINT}"
        )


def _changed_rows(database: SqliteDatabase) -> list[str]:
    found: list[str] = []
    for table in read_checked_tables(database).values():
        key = ", ".join(f"CAST(r.{column} AS BLOB)" for column in table.key)  # a damaged text may not be UTF-8
        rows = database.rows(
            f"SELECT {key} FROM {table.name} r WHERE r.{CHECKSUM_COLUMN} IS NOT {table.checksum('r')}"
            f" LIMIT {_MAX_FAULTS}"
        )
        for row in rows:
            place = ", ".join(bytes(part or b"").decode(errors="replace") for part in row)
            found.append(f"row {place} of {table.name} has changed since it was stored")
    return found
