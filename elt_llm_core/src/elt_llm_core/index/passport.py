"""The passport of a generation: the models and parameters it was built with, and the hash of each file."""

import hashlib
import json
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from elt_llm_core.errors import CorruptIndex, StoreError
from elt_llm_core.store.database import Database
from elt_llm_core.store.disk import file_sha256
from elt_llm_core.store.generations import PIN_NAME
from elt_llm_core.store.records import EmbeddingFingerprint

PASSPORT_NAME = "passport.json"
PASSPORT_FORMAT = 1
_CHROMA_DATABASE = "chroma/chroma.sqlite3"
# Chroma writes to these tables of its database when it opens or maintains it. All other rows and files never change.
_CHANGING_TABLES = frozenset({"acquire_write", "maintenance_log"})
UNHASHED_FILES = frozenset({PIN_NAME, f"{_CHROMA_DATABASE}-wal", f"{_CHROMA_DATABASE}-shm"})


@dataclass(frozen=True)
class Passport:
    """The facts that are needed to read a generation correctly.

    `files` maps relative paths to sha256 in hex. `exact` means that vectors are searched without Chroma, whose index
    had insufficient recall or kept changing. `duplicates` is "once" if identical files are indexed once, and "each" in
    older generations.
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

    def to_json(self) -> str:
        """Return the text of passport.json. `fingerprint_key` repeats the fingerprint as one value."""
        return json.dumps(
            {"format": PASSPORT_FORMAT, "fingerprint_key": self.fingerprint.key.hex(), **asdict(self)},
            indent=1,
            sort_keys=True,
        )

    @staticmethod
    def from_json(text: str) -> "Passport":
        """Parse the text of a passport. Raises CorruptIndex for other text."""
        try:
            values = json.loads(text)
            if values.pop("format") != PASSPORT_FORMAT:
                raise CorruptIndex(
                    "The passport of this generation, which records how it was built, has an unknown format."
                )
            values.pop("fingerprint_key")
            return Passport(**{**values, "fingerprint": EmbeddingFingerprint(**values["fingerprint"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptIndex(f"A passport cannot be read: {error}.") from error


def generation_identity(collection: str, number: int, passport: Passport) -> str:
    """Return a text that is unique for each published state. The number is not, since it restarts after a drop."""
    return f"{collection}/{number}/{hashlib.sha256(passport.to_json().encode()).hexdigest()}"


def file_hashes(directory: Path) -> dict[str, str]:
    """Return the sha256 of every immutable file of a generation, or of the rows of Chroma's database, by path."""
    return {
        path.relative_to(directory).as_posix(): _digest(directory, path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.relative_to(directory).as_posix() not in UNHASHED_FILES | {PASSPORT_NAME}
    }


def damaged_files(directory: Path, passport_text: str) -> list[str]:
    """Return the differences from the stored passport as 'name: reason'; empty if no file is damaged."""
    found: list[str] = []
    here = directory / PASSPORT_NAME
    if not here.is_file() or here.read_bytes() != passport_text.encode():
        found.append(f"{PASSPORT_NAME}: {'differs from the store' if here.is_file() else 'missing'}")
    if not (directory / PIN_NAME).is_file():
        found.append(f"{PIN_NAME}: missing")
    elif (directory / PIN_NAME).stat().st_size:
        found.append(f"{PIN_NAME}: its bytes have changed")
    expected, actual = Passport.from_json(passport_text).files, file_hashes(directory)
    if _CHROMA_DATABASE not in expected:  # an older version made this generation
        actual.pop(_CHROMA_DATABASE, None)
    return found + _differences(expected, actual)


def damaged_files_in(directory: Path, part: str, passport: Passport) -> list[str]:
    """Return the differences as `damaged_files` does, but only of one file or folder of a generation."""
    expected = {name: digest for name, digest in passport.files.items() if name == part or name.startswith(f"{part}/")}
    actual = {name: _digest(directory, directory / name) for name in expected if (directory / name).is_file()}
    return _differences(expected, actual)


def _digest(directory: Path, path: Path) -> str:
    return _rows_sha256(path) if path == directory / _CHROMA_DATABASE else file_sha256(path)


def _rows_sha256(path: Path) -> str:
    """Return the SHA-256 of the unchanging rows of Chroma's database, or of its bytes if it is unreadable."""
    try:
        with closing(Database(path, for_writing=False)) as database:
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
