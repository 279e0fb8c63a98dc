"""Which groups the files of a job fall into, and which collection holds each of them."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument, UsageError
from elt_llm_core.store.filling import Filling
from elt_llm_core.store.records import CollectionRecord, FileRecord, document_id, sha256
from elt_llm_core.store.store import Store

from elt_llm_ingest.changes import look_at
from elt_llm_ingest.reading import Reading
from elt_llm_ingest.report import FileOutcome
from elt_llm_ingest.roots import Located
from elt_llm_ingest.splitting import SplitBy, groups_of

_LONGEST_NAME = 63
_MOST_GROUPS = 1000  # each is a collection of its own, with indexes on the disk
_WORD_IN_A_WORD = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "đ": "d"})


@dataclass(frozen=True)
class Filled:
    """A collection that a job filled before: its name, its group, and what the last scan saw, by `place`."""

    name: str
    filling: Filling
    files: Mapping[str, FileRecord]

    @staticmethod
    def of(store: Store, record: CollectionRecord, filling: Filling) -> "Filled":
        """What the store knows of it."""
        roots = store.collections.roots(record.id)
        records = store.files.of_collection(record.id).values()
        files = {place(roots[it.root][0], it.path): it for it in records if it.root in roots}
        return Filled(record.name, filling, files)


def place(root: Path, relative: str) -> str:
    """Where a file stands, the same for every collection: each names folders in its own way."""
    return unicodedata.normalize("NFC", str(root / relative))


@dataclass
class Grouped:
    """The files of each group, and keys by which they are known again; `outcomes` are of files in no group."""

    files: dict[str, list[Located]] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    outcomes: list[FileOutcome] = field(default_factory=list)

    def add(self, group: str, located: Located, key: str = "") -> None:
        """One file of a group."""
        self.files.setdefault(group, []).append(located)
        self.keys.setdefault(group, []).extend([key] if key else [])


class GroupFinder:
    """Tells the groups of files; reads only those whose groups no collection of the job remembers."""

    def __init__(self, reading: Reading, split_by: SplitBy, filled: Sequence[Filled]) -> None:
        self._reading, self._split_by, self._filled = reading, split_by, filled
        self._known: dict[str, list[str]] = {}
        self._records: dict[str, FileRecord] = {}
        for one in filled:
            self._records.update(one.files)
            for key in one.filling.files:
                self._known.setdefault(key, []).append(one.filling.group)

    def find(self, files: Sequence[Located]) -> Grouped:
        """The groups of `files`."""
        grouped = Grouped()
        unknown: list[tuple[Located, str]] = []
        for located in files:
            try:
                key = self.key(located)
            except UnreadableDocument as error:
                self._stay(grouped, located, error)
                continue
            for group in self.known_groups(key):
                grouped.add(group, located, key)
            if not self.known_groups(key):
                unknown.append((located, key))
        self._read(unknown, grouped)
        return grouped

    def _read(self, files: Sequence[tuple[Located, str]], grouped: Grouped) -> None:
        answers = self._reading.parser.read_all(self._reading.request(located) for located, _ in files)
        for (located, key), parsed in zip(files, answers, strict=True):
            if isinstance(parsed, UnreadableDocument):
                self._stay(grouped, located, parsed)
                continue
            groups = groups_of(parsed, self._split_by)
            if len(groups) > _MOST_GROUPS:
                reason = (
                    f"falls into {len(groups):,} groups, more than the {_MOST_GROUPS:,} a file may have collections for"
                )
                self._stay(grouped, located, UnreadableDocument(reason))
                continue
            for group in groups:
                grouped.add(group, located, key)
            if not groups:
                grouped.outcomes.append(FileOutcome(located.relative, "empty", "no text in it"))

    def _stay(self, grouped: Grouped, located: Located, error: UnreadableDocument) -> None:
        """A file that cannot be read stays in the groups it was in, to be reported there; else it is reported here."""
        before = [one for one in self._filled if place(located.root_path, located.relative) in one.files]
        for one in before:
            grouped.add(one.filling.group, located)
        if not before:
            grouped.outcomes.append(FileOutcome(located.relative, "failed", str(error)))

    def known_groups(self, key: str) -> list[str]:
        """The groups of a file whose key a collection of the job remembers; else none."""
        return self._known.get(key, [])

    def key(self, located: Located) -> str:
        """What stands for a file's place, bytes and reader; bytes are read only if they may have changed.

        Raises UnreadableDocument if they cannot be, or if there is no reader for it.
        """
        where = place(located.root_path, located.relative)
        record = self._records.get(where)
        known = {document_id("", located.root, located.relative): record} if record else {}
        digest = look_at("", located, known).digest
        return sha256(where, digest, self._reading.identity(located), self._split_by).hex()[:32]


def collection_names(
    prefix: str, groups: Collection[str], filled: Sequence[Filled], taken: Collection[str]
) -> dict[str, str]:
    """The collection of each group: the one it is in, else a new name made of the prefix and its title.

    Raises UsageError if the name is `taken` by a collection that the job did not fill.
    """
    names = {one.filling.group: one.name for one in filled if one.filling.group in groups}
    used = set(names.values())
    for group in sorted(set(groups) - names.keys()):
        name = collection_name(prefix, group)
        if name in used:
            name = _with_digest(prefix, name, group)
        if name in taken:
            raise UsageError(
                f"There is a collection '{name}' that another job, or nobody's, filled.",
                hint=f"Choose another collection_prefix, or run: elt-llm drop {name}",
            )
        names[group] = name
        used.add(name)
    return names


def collection_name(prefix: str, group: str) -> str:
    """A valid name for a group's collection, which begins with `prefix`: lower-case letters and digits of the title.

    What is too long, or has no letters of that kind, is told apart by a digest.
    """
    words = _WORD_IN_A_WORD.sub("-", group)  # a type may be called SeaPort
    plain = unicodedata.normalize("NFKD", words.lower().translate(_LETTERS)).encode("ascii", "ignore").decode()
    name = prefix + "-".join(re.findall(r"[a-z0-9]+", plain))
    return name if len(prefix) < len(name) <= _LONGEST_NAME else _with_digest(prefix, name, group)


def _with_digest(prefix: str, name: str, group: str) -> str:
    digest = sha256(group).hex()[:8]
    stem = name[: _LONGEST_NAME - 9].rstrip("-_")
    return f"{stem}-{digest}" if len(stem) > len(prefix) else f"{prefix}{digest}"
