"""The passport of a generation: what made it, and the hash of each of its files."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from elt_llm_core.errors import CorruptIndex
from elt_llm_core.fingerprint import EmbeddingFingerprint
from elt_llm_core.store.pins import PIN_NAME

PASSPORT_NAME = "passport.json"
FORMAT = 1
# Opening Chroma may write to its own database; its vectors, and everything else, must never change.
UNCHECKED = frozenset({"chroma/chroma.sqlite3", "chroma/chroma.sqlite3-wal", "chroma/chroma.sqlite3-shm", PIN_NAME})


@dataclass(frozen=True)
class Passport:
    """Everything one must know to read a generation rightly.

    `files` maps relative paths to sha256 in hex; `exact` says that vectors are searched without Chroma, whose index
    did not find them well enough, or would not keep still. `duplicates` is "once" where files with the same bytes are
    indexed once, "each" in generations of before that.
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
        """The text of passport.json. `fingerprint_key` repeats the fingerprint as one value."""
        return json.dumps(
            {"format": FORMAT, "fingerprint_key": self.fingerprint.key.hex(), **asdict(self)}, indent=1, sort_keys=True
        )

    @staticmethod
    def from_json(text: str) -> "Passport":
        """The passport of this text. Raises CorruptIndex if it is not one."""
        try:
            values = json.loads(text)
            if values.pop("format") != FORMAT:
                raise CorruptIndex("This generation has a passport of another format.")
            values.pop("fingerprint_key")
            return Passport(**{**values, "fingerprint": EmbeddingFingerprint(**values["fingerprint"])})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptIndex(f"A passport cannot be read: {error}.") from error


def generation_identity(collection: str, number: int, passport: Passport) -> str:
    """Differs for each state that was ever published: a dropped collection's numbers begin anew."""
    return f"{collection}/{number}/{hashlib.sha256(passport.to_json().encode()).hexdigest()}"


def file_hashes(directory: Path) -> dict[str, str]:
    """sha256 of every file of a generation that must not change, by relative path."""
    return {
        path.relative_to(directory).as_posix(): _file_hash(path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.relative_to(directory).as_posix() not in UNCHECKED | {PASSPORT_NAME}
    }


def damaged_files(directory: Path, passport_text: str) -> list[str]:
    """What differs from the passport that the store keeps: 'name: why', by name; empty if all is well."""
    found: list[str] = []
    here = directory / PASSPORT_NAME
    if not here.is_file() or here.read_bytes() != passport_text.encode():
        found.append(f"{PASSPORT_NAME}: {'differs from the store' if here.is_file() else 'missing'}")
    if not (directory / PIN_NAME).is_file():
        found.append(f"{PIN_NAME}: missing")
    elif (directory / PIN_NAME).stat().st_size:
        found.append(f"{PIN_NAME}: its bytes have changed")
    expected = Passport.from_json(passport_text).files
    return found + _differences(expected, file_hashes(directory))


def damaged_part(directory: Path, part: str, passport: Passport) -> list[str]:
    """As `damaged_files`, but of one file of a generation or of one folder, such as its Chroma index."""
    expected = {name: digest for name, digest in passport.files.items() if name == part or name.startswith(f"{part}/")}
    actual = {name: _file_hash(directory / name) for name in expected if (directory / name).is_file()}
    return _differences(expected, actual)


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


def _file_hash(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
