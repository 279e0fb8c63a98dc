"""Where a run's files come from: the paths it was given, and the folders its collection already knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.store.records import CollectionRecord
from elt_llm_core.store.store import Store

from elt_llm_ingest.discovery import Discovery, discover
from elt_llm_ingest.roots import Located, RootNames


@dataclass(frozen=True)
class Sources:
    """What was found. `roots` maps names to (folder, scanned whole).

    `missing` are known folders that are not there; `missing_files` ids of documents given by their own name that are
    not there.
    """

    discovery: Discovery
    files: tuple[Located, ...]
    roots: Mapping[str, tuple[Path, bool]]
    missing: tuple[Path, ...]
    missing_files: frozenset[str]
    known: bool

    @property
    def whole_roots(self) -> frozenset[str]:
        """Names of the roots in which a missing file means that it is gone."""
        return frozenset(name for name, (_, whole) in self.roots.items() if whole)


def find_sources(store: Store, name: str, paths: Sequence[Path], *, everything: bool) -> Sources:
    """Discover `paths`; with none, or with `everything`, also all that the collection was filled from before.

    Raises UsageError for a given path that does not exist; a known one that is gone is told as missing.
    """
    record = store.collections.find(name)
    known = {root: path for root, (path, _) in store.collections.roots(record.id).items()} if record else {}
    folders, single = _remembered(store, record) if record and (everything or not paths) else ([], {})
    discovery = discover([*paths, *(path for path in (*folders, *single.values()) if path.exists())])
    names = RootNames(known)
    files = tuple(names.locate(file) for file in discovery.files)
    scanned = frozenset(discovery.scanned_roots)
    roots = {root: (path, True) for root, path in known.items() if _is_scanned(path, scanned)}
    roots |= {file.root: (file.root_path, _is_scanned(file.root_path, scanned)) for file in files}
    return Sources(
        discovery=discovery,
        files=files,
        roots=roots,
        missing=tuple(path for path in folders if not path.exists()),
        missing_files=frozenset(identity for identity, path in single.items() if not path.exists()),
        known=bool(known),
    )


def _remembered(store: Store, record: CollectionRecord) -> tuple[list[Path], dict[str, Path]]:
    """Roots that were given as a whole, and by document id the single files of the others."""
    roots = store.collections.roots(record.id)
    single = {
        file.document_id: roots[file.root][0] / file.path
        for file in store.files.of_collection(record.id).values()
        if file.root in roots and not roots[file.root][1]
    }
    return [path for path, whole in roots.values() if whole], single


def _is_scanned(path: Path, scanned: frozenset[Path]) -> bool:
    """Whether a folder was scanned, by itself or within one around it; hidden folders are not scanned with theirs."""
    return path in scanned or any(
        parent in scanned and not any(part.startswith(".") for part in path.relative_to(parent).parts)
        for parent in path.parents
    )
