"""A generation's passport: the models and parameters with which it was built, and the hash of each file."""

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from elt_llm_core.errors import CorruptIndex, StoreError
from elt_llm_core.index.contents import Hashing
from elt_llm_core.settings.tree import GRAPH_FROM, IndexSettings
from elt_llm_core.store.database import SqliteDatabase
from elt_llm_core.store.disk import file_sha256
from elt_llm_core.store.generations import PIN_NAME
from elt_llm_core.store.records import EmbeddingFingerprint

PASSPORT_NAME = "passport.json"
PASSPORT_FORMAT = 1
IndexLibrary = Literal["chroma", "usearch", "qdrant", "pgvector"]
STAMPED_FROM = 32 << 20  # bytes; reading and hashing a smaller file takes some 20 ms
_CHROMA_DATABASE = "chroma/chroma.sqlite3"
# Chroma writes to these tables when it opens or maintains its database. All other rows and files never change.
_CHANGING_TABLES = frozenset({"acquire_write", "maintenance_log"})
UNHASHED_FILES = frozenset({PIN_NAME, *(f"{_CHROMA_DATABASE}-{suffix}" for suffix in ("journal", "wal", "shm"))})


@dataclass(frozen=True)
class Passport:
    """The facts that are needed to read a generation correctly.

    `files` maps relative paths to SHA-256 in hex. `exact` means that vectors are searched without an index, because the
    index had faults or there is at most one vector. `duplicates` is "once" if identical files are indexed once, or
    "each" in older generations. `hashing` is the method of `collection_hash`. `index` names the library or database of
    the vector index. Without a database, that is usearch if the index was built for at least `graph_from` nodes, else
    Chroma. `stamps` are the size and modification time (ns) of each large file. If the vectors are in a database,
    `database` are its `IndexSettings`, and `lineage` is the random name under which they are stored there. Later
    generations that share these vectors have the same `lineage`.
    """

    collection: str
    number: int
    nodes: int
    fingerprint: EmbeddingFingerprint
    chroma: dict[str, str | int]
    exact: bool
    chunker: str
    tokeniser: str
    language: str
    library_versions: dict[str, str]
    files: dict[str, str]
    duplicates: str = "each"
    hashing: Hashing = "whole"
    index: IndexLibrary = "chroma"
    graph_from: int = GRAPH_FROM
    stamps: dict[str, list[int]] = field(default_factory=dict)
    database: dict[str, str | int | bool] = field(default_factory=dict)
    lineage: str = ""

    def to_json(self) -> str:
        """Return the text of passport.json, in which `fingerprint_key` is a hash of the fingerprint."""
        return json.dumps(
            {"format": PASSPORT_FORMAT, "fingerprint_key": self.fingerprint.key.hex(), **asdict(self)},
            indent=1,
            sort_keys=True,
        )

    @property
    def index_settings(self) -> IndexSettings:
        """The settings of the vector database, or of a local index if the vectors are not in a database."""
        return IndexSettings.model_validate(self.database)

    @staticmethod
    def from_json(text: str) -> "Passport":
        """Parse the text of a passport. Raises CorruptIndex if it cannot be parsed."""
        try:
            values = json.loads(text)
            if values.pop("format") != PASSPORT_FORMAT:
                raise CorruptIndex(
                    "The passport of this generation, which records how it was built, has an unknown format."
                )
            values.pop("fingerprint_key")
            return Passport(**{**values, "fingerprint": EmbeddingFingerprint(**values["fingerprint"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptIndex(f"A passport (record of how a generation was built) cannot be read: {error}.") from error


_OF_THIS_MACHINE = ("files", "stamps", "library_versions", "exact", "index", "tokeniser")


def passport_on_disk(directory: Path, stored: Passport) -> Passport:
    """Return the passport in the directory if this machine rebuilt its files from the store, else the stored passport.

    The two may differ only in the files' hashes and in what depends on a machine's libraries.
    """
    try:
        found = Passport.from_json((directory / PASSPORT_NAME).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, CorruptIndex):
        return stored
    same = {name: getattr(found, name) for name in _OF_THIS_MACHINE}
    return found if replace(stored, **same) == found else stored


def generation_identity(collection: str, number: int, passport: Passport) -> str:
    """Return a text that is unique for each generation. Numbers are not: they restart if a collection is dropped."""
    return f"{collection}/{number}/{hashlib.sha256(passport.to_json().encode()).hexdigest()}"


def file_hashes(directory: Path, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the SHA-256 of each immutable file, by path. Chroma's database is hashed by its rows instead of its bytes.

    Hashes in `known` are returned without reading the files.
    """
    paths = {path.relative_to(directory).as_posix(): path for path in sorted(directory.rglob("*")) if path.is_file()}
    hashed = paths.keys() - UNHASHED_FILES - {PASSPORT_NAME}
    return {name: (known or {}).get(name) or _digest(directory, paths[name]) for name in sorted(hashed)}


def file_stamps(directory: Path) -> dict[str, list[int]]:
    """Return the size and modification time (ns) of each large file in a generation, by relative path."""
    stats = {path: path.stat() for path in sorted(directory.rglob("*")) if path.is_file()}
    found = {path: it for path, it in stats.items() if it.st_size >= STAMPED_FROM}
    named = {path.relative_to(directory).as_posix(): [it.st_size, it.st_mtime_ns] for path, it in found.items()}
    return {name: stamp for name, stamp in named.items() if name not in UNHASHED_FILES}


def damaged_files(directory: Path, passport_text: str, trusted: Collection[str] = ()) -> list[str]:
    """Return the differences of a generation's files from its stored passport, such as 'vectors.npy: missing'.

    Files in `trusted` are not read if their size and modification time still match the passport.
    """
    found: list[str] = []
    here = directory / PASSPORT_NAME
    if not here.is_file() or here.read_bytes() != passport_text.encode():
        found.append(f"{PASSPORT_NAME}: {'differs from the store' if here.is_file() else 'missing'}")
    if not (directory / PIN_NAME).is_file():
        found.append(f"{PIN_NAME}: missing")
    elif (directory / PIN_NAME).stat().st_size:
        found.append(f"{PIN_NAME}: its bytes have changed")
    passport = Passport.from_json(passport_text)
    expected, actual = passport.files, file_hashes(directory, _unchanged(directory, passport, trusted))
    if _CHROMA_DATABASE not in expected:  # an older program version built this generation
        actual.pop(_CHROMA_DATABASE, None)
    return found + _differences(expected, actual)


def damaged_files_in(directory: Path, part: str, passport: Passport, *, every_byte: bool = False) -> list[str]:
    """Return the differences of one file or folder in a generation from the passport ('vectors.npy: missing').

    By default, a large file is read only if its size or modification time differs from the passport. That finds changes
    made by programs, but no disk faults. With `every_byte`, all files are read completely, which finds both.
    """
    expected = {name: digest for name, digest in passport.files.items() if name == part or name.startswith(f"{part}/")}
    known = {} if every_byte else _unchanged(directory, passport, expected)
    present = [name for name in expected if (directory / name).is_file()]
    actual = {name: known.get(name) or _digest(directory, directory / name) for name in present}
    return _differences(expected, actual)


def _unchanged(directory: Path, passport: Passport, names: Collection[str]) -> dict[str, str]:
    """Return the recorded hashes of those files in `names` whose size and modification time match the passport."""
    return {
        name: passport.files[name]
        for name in passport.stamps.keys() & set(names)
        if (directory / name).is_file()
        for stat in [(directory / name).stat()]
        if [stat.st_size, stat.st_mtime_ns] == passport.stamps[name]
    }


def _digest(directory: Path, path: Path) -> str:
    return _rows_sha256(path) if path == directory / _CHROMA_DATABASE else file_sha256(path)


def _rows_sha256(path: Path) -> str:
    """Return the SHA-256 of the rows in Chroma's database that never change. If unreadable, its bytes are hashed."""
    try:
        with closing(SqliteDatabase(path, for_writing=False)) as database:
            digest = hashlib.sha256(repr(database.rows("PRAGMA integrity_check")).encode())
            schema = database.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name")
            digest.update(repr(schema).encode())
            for kind, name, *_ in schema:
                if kind == "table" and name not in _CHANGING_TABLES:
                    digest.update(repr(database.rows(f"SELECT * FROM {name} ORDER BY 1")).encode())  # noqa: S608 - from the schema
            return digest.hexdigest()
    except StoreError:
        return f"unreadable {file_sha256(path)}"


def _differences(expected: dict[str, str], actual: dict[str, str]) -> list[str]:
    found = []
    for name in sorted(expected.keys() | actual.keys()):
        if name not in actual:
            found.append(f"{name}: missing")
        elif name not in expected:
            found.append(f"{name}: not part of this generation")
        elif expected[name] != actual[name]:
            found.append(f"{name}: its bytes have changed")
    return found
