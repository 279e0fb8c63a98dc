"""Split the files of a job into groups, and name the collection of each group."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elt_llm_core.errors import UnreadableDocument, UsageError
from elt_llm_core.store.collections import CollectionJob
from elt_llm_core.store.records import CollectionRecord, FileRecord, document_id, sha256
from elt_llm_core.store.store import Store

from elt_llm_ingest.run.changes import inspect_file
from elt_llm_ingest.run.reading import FileReading, SplitBy, document_groups
from elt_llm_ingest.run.report import FileOutcome
from elt_llm_ingest.sources.collection_sources import LocatedFile

_MAX_NAME_LENGTH = 63
_MAX_GROUPS = 1000  # each group is a separate collection with indexes on the disk
_CAMEL_CASE = re.compile("(?<=[a-z0-9])(?=[A-Z])")
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "ł": "l", "đ": "d"})


@dataclass(frozen=True)
class FilledCollection:
    """A collection that a job filled before: its name, its group, and its files by `stable_path`."""

    name: str
    filling: CollectionJob
    files: Mapping[str, FileRecord]

    @staticmethod
    def of(store: Store, record: CollectionRecord, filling: CollectionJob) -> "FilledCollection":
        """Read the collection from the store."""
        roots = store.collections.roots(record.id)
        records = store.files.of_collection(record.id).values()
        files = {stable_path(roots[it.root][0], it.path): it for it in records if it.root in roots}
        return FilledCollection(record.name, filling, files)


def stable_path(root: Path, relative: str) -> str:
    """Return the path of a file in composed Unicode (NFC), which does not depend on the collection."""
    return unicodedata.normalize("NFC", str(root / relative))


@dataclass
class GroupedFiles:
    """The files of each group, with keys that identify them in later runs, and the `outcomes` of ungrouped files."""

    files: dict[str, list[LocatedFile]] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    outcomes: list[FileOutcome] = field(default_factory=list)

    def add(self, group: str, located: LocatedFile, key: str = "") -> None:
        """Add one file to a group."""
        self.files.setdefault(group, []).append(located)
        self.keys.setdefault(group, []).extend([key] if key else [])


class GroupFinder:
    """Find the groups of files. Only files whose groups are not recorded by a collection of the job are read."""

    def __init__(self, reading: FileReading, split_by: SplitBy, filled: Sequence[FilledCollection]) -> None:
        self._reading, self._split_by, self._filled = reading, split_by, filled
        self._known: dict[str, list[str]] = {}
        self._records: dict[str, FileRecord] = {}
        for one in filled:
            self._records.update(one.files)
            for key in one.filling.files:
                self._known.setdefault(key, []).append(one.filling.group)

    def find(self, files: Sequence[LocatedFile]) -> GroupedFiles:
        """Return the groups into which the job splits `files`."""
        grouped = GroupedFiles()
        unknown: list[tuple[LocatedFile, str]] = []
        for located in files:
            try:
                key = self.key(located)
            except UnreadableDocument as error:
                self._keep_groups(grouped, located, error)
                continue
            for group in self.known_groups(key):
                grouped.add(group, located, key)
            if not self.known_groups(key):
                unknown.append((located, key))
        self._read(unknown, grouped)
        return grouped

    def _read(self, files: Sequence[tuple[LocatedFile, str]], grouped: GroupedFiles) -> None:
        answers = self._reading.parser.read_all(self._reading.request(located) for located, _ in files)
        for (located, key), parsed in zip(files, answers, strict=True):
            if isinstance(parsed, UnreadableDocument):
                self._keep_groups(grouped, located, parsed)
                continue
            groups = document_groups(parsed, self._split_by)
            if len(groups) > _MAX_GROUPS:
                reason = (
                    f"has {len(groups):,} groups, but a job can fill at most {_MAX_GROUPS:,} collections from a file"
                )
                self._keep_groups(grouped, located, UnreadableDocument(reason))
                continue
            for group in groups:
                grouped.add(group, located, key)
            if not groups:
                grouped.outcomes.append(FileOutcome(located.relative, "empty", "it contains no text"))

    def _keep_groups(self, grouped: GroupedFiles, located: LocatedFile, error: UnreadableDocument) -> None:
        """Keep an unreadable file in its former groups. A file without former groups is reported as failed."""
        before = [one for one in self._filled if stable_path(located.root_path, located.relative) in one.files]
        for one in before:
            grouped.add(one.filling.group, located)
        if not before:
            grouped.outcomes.append(FileOutcome(located.relative, "failed", str(error)))

    def known_groups(self, key: str) -> list[str]:
        """Return the groups of a file whose key a collection of the job records; else an empty list."""
        return self._known.get(key, [])

    def key(self, located: LocatedFile) -> str:
        """Return a key of the path, bytes and reader of a file; read the bytes only if they may have changed.

        Raises UnreadableDocument if the file cannot be read or has no reader.
        """
        where = stable_path(located.root_path, located.relative)
        record = self._records.get(where)
        known = {document_id("", located.root, located.relative): record} if record else {}
        digest = inspect_file("", located, known).digest
        return sha256(where, digest, self._reading.identity(located), self._split_by).hex()[:32]


def collection_names(
    prefix: str, groups: Collection[str], filled: Sequence[FilledCollection], taken: Collection[str]
) -> dict[str, str]:
    """Return the collection name of each group: the existing name, or one made from the prefix and the title.

    Raises UsageError if a new name is `taken` by a collection that the job did not fill.
    """
    names = {one.filling.group: one.name for one in filled if one.filling.group in groups}
    used = set(names.values())
    for group in sorted(set(groups) - names.keys()):
        name = collection_name(prefix, group)
        if name in used:
            name = _with_digest(prefix, name, group)
        if name in taken:
            raise UsageError(
                f"Collection '{name}' already exists, but this job did not fill it.",
                hint=f"Choose another collection_prefix, or run: elt-llm drop {name}",
            )
        names[group] = name
        used.add(name)
    return names


def collection_name(prefix: str, group: str) -> str:
    """Build the collection name of a group: `prefix` and the lower-case letters and digits of the title.

    A digest replaces a title that is too long or has no such characters.
    """
    words = _CAMEL_CASE.sub("-", group)  # a type may be named SeaPort
    plain = unicodedata.normalize("NFKD", words.lower().translate(_LETTERS)).encode("ascii", "ignore").decode()
    name = prefix + "-".join(re.findall(r"[a-z0-9]+", plain))
    return name if len(prefix) < len(name) <= _MAX_NAME_LENGTH else _with_digest(prefix, name, group)


def _with_digest(prefix: str, name: str, group: str) -> str:
    digest = sha256(group).hex()[:8]
    stem = name[: _MAX_NAME_LENGTH - 9].rstrip("-_")
    return f"{stem}-{digest}" if len(stem) > len(prefix) else f"{prefix}{digest}"
