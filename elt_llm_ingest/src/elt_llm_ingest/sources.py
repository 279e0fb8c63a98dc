"""Where a run's files come from: the paths it was given, and the folders its collection already knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elt_llm_core.store.records import FileRecord
from elt_llm_core.store.store import Store

from elt_llm_ingest.discovery import Discovery, discover
from elt_llm_ingest.patterns import Selection
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


@dataclass(frozen=True)
class Known:
    """What a collection was filled from before: `roots` maps names to (folder, given as a whole), `files` by id."""

    roots: Mapping[str, tuple[Path, bool]] = field(default_factory=dict)
    files: Mapping[str, FileRecord] = field(default_factory=dict)

    @staticmethod
    def of(store: Store, name: str) -> "Known":
        """What the store knows of a collection, which need not exist."""
        record = store.collections.find(name)
        return Known(store.collections.roots(record.id), store.files.of_collection(record.id)) if record else Known()

    def folders(self) -> list[Path]:
        """Roots that were given as a whole."""
        return [path for path, whole in self.roots.values() if whole]

    def single_files(self) -> dict[str, Path]:
        """By document id the files that were given by their own name."""
        return {
            file.document_id: self.roots[file.root][0] / file.path
            for file in self.files.values()
            if file.root in self.roots and not self.roots[file.root][1]
        }


def find_sources(
    store: Store,
    name: str,
    paths: Sequence[Path],
    *,
    everything: bool,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Sources:
    """Discover `paths`; with none, or with `everything`, also all that the collection was filled from before.

    `include` and `exclude` are patterns (see `Selection`). An absolute one in `include` says that the patterns name all
    that the collection is to hold: then nothing else is looked at, and what is known of elsewhere counts as gone.
    Raises UsageError for a given path that does not exist; a known one that is gone is told as missing.
    """
    selection = Selection.of(include, exclude)
    return locate_sources(Known.of(store, name), paths, selection, everything=everything)


def locate_sources(known: Known, paths: Sequence[Path], selection: Selection, *, everything: bool) -> Sources:
    """As `find_sources`, for what is known of a collection."""
    remembers = (everything or not paths) and not selection.says_all
    folders, single = (known.folders(), known.single_files()) if remembers else ([], {})
    # A file in a folder's place is not that folder: what was read from it is kept, and told as missing.
    there = [path for path in folders if path.is_dir()] + [path for path in single.values() if path.exists()]
    discovery = discover([*paths, *there], selection)
    known_paths = {root: path for root, (path, _) in known.roots.items()}
    names = RootNames(known_paths)
    files = tuple(names.locate(file) for file in discovery.files)
    scanned = frozenset(discovery.scanned_roots)
    roots = {root: (path, True) for root, path in known_paths.items() if _is_scanned(path, scanned)}
    roots |= {file.root: (file.root_path, _is_scanned(file.root_path, scanned)) for file in files}
    missing_files = frozenset(identity for identity, path in single.items() if not path.exists())
    if selection.says_all:
        incomplete = [path for path in paths if path.is_dir() and path.resolve() not in scanned]
        roots |= _left_behind(known, incomplete)
        missing_files |= _no_longer_asked_for(known, roots, files)
    return Sources(
        discovery=discovery,
        files=files,
        roots=roots,
        missing=tuple(path for path in folders if not path.is_dir()),
        missing_files=missing_files,
        known=bool(known.roots),
    )


def _left_behind(known: Known, incomplete: Sequence[Path]) -> dict[str, tuple[Path, bool]]:
    """Folders once given as a whole: what was not found in them is no longer asked for, unless it could not be seen."""
    unseen = [path.resolve() for path in incomplete]
    return {
        name: (path, True)
        for name, (path, whole) in known.roots.items()
        if whole and not any(path.is_relative_to(folder) or folder.is_relative_to(path) for folder in unseen)
    }


def _no_longer_asked_for(
    known: Known, roots: Mapping[str, tuple[Path, bool]], files: Sequence[Located]
) -> frozenset[str]:
    """Ids of files once given by name, in folders that were not scanned, that were not found now."""
    found = {(file.root, file.relative) for file in files}
    return frozenset(
        identity
        for identity, record in known.files.items()
        if not roots.get(record.root, (None, False))[1] and (record.root, record.path) not in found
        if record.root in known.roots and not known.roots[record.root][1]
    )


def _is_scanned(path: Path, scanned: frozenset[Path]) -> bool:
    """Whether a folder was scanned, by itself or within one around it; hidden folders are not scanned with theirs."""
    return path in scanned or any(
        parent in scanned and not any(part.startswith(".") for part in path.relative_to(parent).parts)
        for parent in path.parents
    )
