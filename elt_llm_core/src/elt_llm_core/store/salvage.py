"""Copy every undamaged row of a damaged store into a new store, no matter which part of the file is damaged."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from elt_llm_core.errors import StoreError
from elt_llm_core.store.backups import list_backups
from elt_llm_core.store.database import CHECKSUM_COLUMN, STORE_NAME, CheckedTable, SqliteDatabase

_BLOCK = 1000  # rows that one statement copies
_MAX_EMPTY_BLOCKS = 20  # consecutive ones after which copying ends, if the number of the last row is unreadable
_MAX_ROWS = 1 << 20  # rows that are tried at once in a table without row numbers
_HEADER_SIZE = 100
_PAGE_SIZE = 4096


@dataclass(frozen=True)
class SalvagedRows:
    """The numbers of copied and lost rows, by table. `source` is the file from which they were read.

    If the rows of a damaged table cannot be counted, its number of lost rows is 1.
    """

    source: Path
    copied: dict[str, int]
    lost: dict[str, int]


def salvage_rows(data_dir: Path, target: SqliteDatabase, workspace: Path) -> SalvagedRows:
    """Copy the undamaged rows of the store into `target`, a new and empty store without foreign keys.

    A damaged header or schema is replaced, in a copy of the file below `workspace`, by that of a backup or a new store.
    If that does not help, the rows of the latest backup are copied. Raises StoreError if nothing can be read.
    """
    for source in _readable_sources(data_dir, target, workspace):
        with suppress(StoreError), _attached(target, source):
            if _has_tables(target):
                counts = {name: _copy_table(target, table) for name, table in target.checked_tables.items()}
                copied = {name: copied for name, (copied, _) in counts.items()}
                if sum(copied.values()):
                    return SalvagedRows(source, copied, {name: lost for name, (_, lost) in counts.items() if lost})
    raise StoreError(
        f"Nothing can be read from {data_dir / STORE_NAME}, and there is no backup.",
        hint=f"Move {data_dir} to another place, and ingest your documents again.",
    )


@contextmanager
def _attached(target: SqliteDatabase, source: Path) -> Iterator[None]:
    """Attach the database `source` as `damaged` during the block."""
    target.execute("ATTACH DATABASE ? AS damaged", (f"{source.absolute().as_uri()}?immutable=1",))
    try:
        yield
    finally:
        target.execute("DETACH DATABASE damaged")


def _readable_sources(data_dir: Path, target: SqliteDatabase, workspace: Path) -> Iterator[Path]:
    """Yield files to try: the store, copies with a header or schema from a backup, then backups, latest first."""
    path, backups = data_dir / STORE_NAME, list_backups(data_dir)[::-1]
    if path.is_file():
        yield path
        target.rows("PRAGMA wal_checkpoint(TRUNCATE)")  # so that the file has the first page of a new store
        for reference in (*backups, target.path):
            for whole in (False, True):
                copy = workspace / "patched.sqlite3"
                shutil.copyfile(path, copy)
                _replace_schema(copy, reference.read_bytes(), whole=whole)
                yield copy
    yield from backups


def _replace_schema(path: Path, reference: bytes, *, whole: bool) -> None:
    """Overwrite the header of a database or, if `whole`, all pages of its schema with those of another database.

    Rows can be read only if both databases have each table at the same pages; otherwise no checksum matches.
    """
    header = bytearray(reference[:_HEADER_SIZE])
    header[28:32] = (path.stat().st_size // _PAGE_SIZE).to_bytes(4, "big")
    header[32:40] = bytes(8)  # no free pages: the database is only read
    header[92:96] = header[24:28]  # marks the number of pages as valid
    with path.open("r+b") as stream:
        for page in _schema_pages(reference) if whole else ():
            stream.seek((page - 1) * _PAGE_SIZE)
            stream.write(reference[(page - 1) * _PAGE_SIZE : page * _PAGE_SIZE])
        stream.seek(0)
        stream.write(header)


def _schema_pages(content: bytes) -> list[int]:
    """Return the numbers of the schema's pages: the first page, and its children if it is an inner page."""
    inner, cells = content[_HEADER_SIZE] == 5, int.from_bytes(content[103:105], "big")
    starts = [int.from_bytes(content[place : place + 2], "big") for place in range(112, 112 + 2 * cells, 2)]
    children = [int.from_bytes(content[start : start + 4], "big") for start in (*starts, 108)]
    return [1, *children] if inner else [1]


def _has_tables(target: SqliteDatabase) -> bool:
    """Return whether the attached database's schema can be used: all columns, or those from before checksums."""
    tables = target.checked_tables.values()
    found = {table.name: _columns(target, table) for table in tables}
    if not any(CHECKSUM_COLUMN in columns for columns in found.values()):
        return bool(found["document_versions"])
    return all(len(found[table.name]) == len(table.values + table.blobs) + 1 for table in tables)


def _columns(target: SqliteDatabase, table: CheckedTable) -> list[str]:
    """Return the columns that a table of the attached database shares with the new store."""
    own = (*table.values, *table.blobs, CHECKSUM_COLUMN)
    return [name for _, name, *_ in target.rows(f"PRAGMA damaged.table_info({table.name})") if name in own]


def _copy_table(target: SqliteDatabase, table: CheckedTable) -> tuple[int, int]:
    """Copy the undamaged rows of a table. Return (number copied, number lost); an unknown number lost counts as 1."""
    columns = _columns(target, table)
    if not columns:
        return 0, 0
    whole = f"r.{CHECKSUM_COLUMN} IS {table.checksum('r')}" if CHECKSUM_COLUMN in columns else "1"
    insert = f"INSERT OR IGNORE INTO main.{table.name} ({', '.join(columns)})"
    select = f"SELECT {', '.join(f'r.{name}' for name in columns)} FROM damaged.{table.name} r WHERE {whole}"
    # Each statement is its own transaction, because committing can fail after a malformed page was read.
    if table.key == ("id",):
        _copy_blocks(target, table.name, f"{insert} {select} AND r.id BETWEEN ? AND ?")
    else:
        _copy_from_both_ends(target, table, insert, select)
    [(copied,)] = target.rows(f"SELECT count(*) FROM main.{table.name}")
    with suppress(StoreError):
        [(before,)] = target.rows(f"SELECT count(*) FROM damaged.{table.name}")
        return int(copied), max(0, int(before) - int(copied))
    return int(copied), 1


def _copy_blocks(target: SqliteDatabase, name: str, statement: str) -> None:
    """Copy the rows of a table with row numbers (a column `id`) in blocks of a thousand.

    A block that contains an unreadable page is halved repeatedly, until only the unreadable rows are left out.
    """
    last = None
    with suppress(StoreError):
        [(last,)] = target.rows(f"SELECT max(id) FROM damaged.{name}")
        last = int(last or 0)
    empty = 0
    for start in count(1, _BLOCK):
        if (last is not None and start > last) or empty > _MAX_EMPTY_BLOCKS:
            return
        [(before,)] = target.rows("SELECT total_changes()")
        _copy_range(target, statement, start, start + _BLOCK - 1)
        [(after,)] = target.rows("SELECT total_changes()")
        empty = 0 if last is not None or after > before else empty + 1


def _copy_range(target: SqliteDatabase, statement: str, start: int, end: int) -> None:
    try:
        target.execute(statement, (start, end))
    except StoreError:
        if start < end:
            middle = (start + end) // 2
            _copy_range(target, statement, start, middle)
            _copy_range(target, statement, middle + 1, end)


def _copy_from_both_ends(target: SqliteDatabase, table: CheckedTable, insert: str, select: str) -> None:
    """Copy the rows of a table that has no row numbers (no column `id`).

    If a page of the table cannot be read, only the rows before the first such page and after the last one are copied.
    """
    try:
        target.execute(f"{insert} {select}")
    except StoreError:
        for order in ("ASC", "DESC"):
            keys = ", ".join(f"r.{column} {order}" for column in table.key)
            readable, step = 0, _MAX_ROWS
            while step:
                try:
                    target.execute(f"{insert} {select} ORDER BY {keys} LIMIT {readable + step}")
                    readable += step
                except StoreError:
                    step //= 2


def empty_log(path: Path) -> None:
    """Move committed changes from the write-ahead log of a database into its file, if the file can be opened."""
    with suppress(StoreError), closing(SqliteDatabase(path, for_writing=True)) as database:
        database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
