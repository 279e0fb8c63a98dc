"""Find a collection's files in given paths and known folders, and give each root (source folder) a lasting name."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from elt_llm_core.store.records import FileRecord
from elt_llm_core.store.store import Store, uploads_folder
from elt_llm_core.store.uploads import uploaded_files

from elt_llm_ingest.sources.discovery import FoundFile, SkippedPath, discover
from elt_llm_ingest.sources.patterns import PathSelection
from elt_llm_ingest.sources.remote import is_url


@dataclass(frozen=True)
class LocatedFile:
    """A file with its lasting name in the collection: the name of its root, and the path below the root."""

    file: FoundFile
    root: str
    root_path: Path
    relative: str


class RootNames:
    """Gives every root (source folder) a unique name: the folder's own name, with those of parent folders if needed.

    A file in a known root belongs to that root even if a folder inside or around the root is given, so that the file is
    not ingested twice. If a known root's folder no longer exists, a new root with the same folder name takes over its
    name, since the folder was probably moved.
    """

    def __init__(self, known: Mapping[str, Path]) -> None:
        self._paths = dict(known)

    def locate(self, file: FoundFile) -> LocatedFile:
        """Return the file with the name under which the collection stores it."""
        innermost_first = sorted(self._paths.items(), key=lambda item: len(item[1].parts), reverse=True)
        for name, path in innermost_first:
            relative = _relative_to_root(file, path)
            if relative is not None:
                return LocatedFile(file, name, path, relative)
        return LocatedFile(file, self.name_of(file.root), file.root, file.relative)

    def name_of(self, root: Path) -> str:
        """Return the name of a root. If it is new, give it a name."""
        for name, path in self._paths.items():
            if path == root:
                return name
        parts = [part for part in root.parts if part != root.anchor] or ["root"]
        for count in range(1, len(parts) + 1):
            name = "/".join(parts[-count:])
            if name not in self._paths or not self._paths[name].exists():
                break
        self._paths[name] = root
        return name


def _relative_to_root(file: FoundFile, root: Path) -> str | None:
    """Return a file's path within `root`, or None if it is not inside. `root` need not be the file's own root."""
    if file.root.is_relative_to(root):
        prefix = _composed_path(file.root.relative_to(root))
        return f"{prefix}/{file.relative}" if prefix else file.relative
    if root.is_relative_to(file.root) and file.relative.startswith(f"{_composed_path(root.relative_to(file.root))}/"):
        return file.relative.removeprefix(f"{_composed_path(root.relative_to(file.root))}/")
    return None


def _composed_path(path: Path) -> str:
    """Return a relative path in Unicode's composed form (NFC); empty for the folder itself."""
    return "" if path == Path() else unicodedata.normalize("NFC", path.as_posix())


@dataclass(frozen=True)
class FailedSource:
    """A remote source that could not be read. If an earlier run ingested it (`known`), its documents are kept."""

    url: str
    reason: str
    known: bool


@dataclass(frozen=True)
class CollectionSources:
    """The files of a collection. `roots` maps each root's name to its folder and whether it was scanned completely.

    `missing` are known folders that no longer exist. `missing_files` are the document ids of individually named files
    that no longer exist. `known` is true if the collection already had sources. `deleted_roots` are the names of roots
    whose folder no longer exists and whose documents may be removed.
    """

    files: tuple[LocatedFile, ...]
    skipped: tuple[SkippedPath, ...]
    roots: Mapping[str, tuple[Path, bool]]
    missing: tuple[Path, ...]
    missing_files: frozenset[str]
    known: bool
    failed: tuple[FailedSource, ...] = ()
    deleted_roots: tuple[str, ...] = ()

    def first_skipped(self, most: int) -> list[dict[str, str]]:
        """Return path and reason of the first skipped files, as JSON values. Each path is relative to its root."""
        files = []
        for path, reason in ((Path(it.path), it.reason) for it in self.skipped[:most]):
            folder = next((one for one, _ in self.roots.values() if path.is_relative_to(one)), path.parent)
            files.append({"path": str(path.relative_to(folder)), "reason": reason})
        return files

    @property
    def whole_roots(self) -> frozenset[str]:
        """The names of the roots that were scanned completely. In these, a missing file counts as deleted."""
        return frozenset(name for name, (_, whole) in self.roots.items() if whole)


@dataclass(frozen=True)
class KnownSources:
    """The sources of a collection's earlier ingests.

    `roots` maps the name of each root to its folder and to whether the whole folder was ingested, rather than single
    files in it. `files` maps document ids to file records. `uploads` are its uploaded files, read or not.
    """

    roots: Mapping[str, tuple[Path, bool]] = field(default_factory=dict)
    files: Mapping[str, FileRecord] = field(default_factory=dict)
    uploads: tuple[Path, ...] = ()

    @staticmethod
    def of(store: Store, name: str) -> "KnownSources":
        """Read the sources of a collection from the store; only the uploads if there is no such collection."""
        uploads = tuple(uploaded_files(uploads_folder(store.data_dir, name)))
        record = store.collections.find(name)
        if record is None:
            return KnownSources(uploads=uploads)
        return KnownSources(store.collections.roots(record.id), store.files.of_collection(record.id), uploads)

    def local(self) -> "KnownSources":
        """Return only the sources on this machine, not those with a URL."""
        return replace(self, roots={name: it for name, it in self.roots.items() if not is_url(name)})

    def remote(self) -> "KnownSources":
        """Return only the remote sources. The name of a remote root is its URL."""
        return KnownSources({name: it for name, it in self.roots.items() if is_url(name)}, self.files)

    def folders(self) -> list[Path]:
        """Return the source folders that were ingested as a whole."""
        return [path for path, whole in self.roots.values() if whole]

    def missing_folders(self) -> dict[str, Path]:
        """Return the source folders that were ingested as a whole and no longer exist, by the name of their root."""
        return {name: path for name, (path, whole) in self.roots.items() if whole and not path.is_dir()}

    def single_files(self) -> dict[str, Path]:
        """Map document ids to the paths of files that were ingested by their own names, not as part of a folder."""
        return {
            file.document_id: self.roots[file.root][0] / file.path
            for file in self.files.values()
            if file.root in self.roots and not self.roots[file.root][1]
        }


def find_sources(
    known: KnownSources,
    paths: Sequence[Path],
    selection: PathSelection,
    *,
    everything: bool,
    allow_delete: bool = False,
) -> CollectionSources:
    """Discover the files in `paths` and, if there are no paths or `everything` is true, in all known sources.

    If `selection.include` contains an absolute pattern, the patterns define the whole content of the collection: only
    matching paths are scanned, and known files elsewhere count as deleted. Raises UsageError for a path in `paths` that
    does not exist. Known paths that do not exist are reported as missing, or if `allow_delete`, as deleted.
    """
    used = known if (everything or not paths) and not selection.is_exhaustive else KnownSources()
    folders, single, gone = used.folders(), used.single_files(), used.missing_folders()
    # If a file now has the path of a known folder, the folder counts as missing and is not replaced by the file.
    existing = [path for path in folders if path.is_dir()]
    existing += [path for path in (*single.values(), *used.uploads) if path.exists()]
    discovery = discover([*paths, *existing], selection)
    known_paths = {root: path for root, (path, _) in known.roots.items()}
    files = tuple(map(RootNames(known_paths).locate, discovery.files))
    scanned = frozenset(discovery.scanned_roots)
    roots = {root: (path, True) for root, path in known_paths.items() if _is_scanned(path, scanned)}
    roots |= {file.root: (file.root_path, _is_scanned(file.root_path, scanned)) for file in files}
    deleted = tuple(name for name in gone if allow_delete and name not in roots)
    missing_files = frozenset(identity for identity, path in single.items() if not path.exists())
    if selection.is_exhaustive:
        incomplete = [path for path in paths if path.is_dir() and path.resolve() not in scanned]
        roots |= _roots_that_count_as_scanned(known, incomplete)
        missing_files |= _dropped_files(known, roots, files)
    return CollectionSources(
        files=files,
        skipped=discovery.skipped,
        roots=roots | {name: (gone[name], True) for name in deleted},
        missing=tuple(path for name, path in gone.items() if name not in deleted),
        missing_files=missing_files,
        known=bool(known.roots),
        deleted_roots=deleted,
    )


def _roots_that_count_as_scanned(known: KnownSources, incomplete: Sequence[Path]) -> dict[str, tuple[Path, bool]]:
    """Map the names of known source folders to (folder, True). True means that a missing file counts as deleted.

    Folders inside or around those in `incomplete`, which could not be scanned, are left out.
    """
    unseen = [path.resolve() for path in incomplete]
    return {
        name: (path, True)
        for name, (path, whole) in known.roots.items()
        if whole and not any(path.is_relative_to(folder) or folder.is_relative_to(path) for folder in unseen)
    }


def _dropped_files(
    known: KnownSources, roots: Mapping[str, tuple[Path, bool]], files: Sequence[LocatedFile]
) -> frozenset[str]:
    """Return the ids of individually named files that were not found and whose folder was not scanned."""
    located = {(file.root, file.relative) for file in files}
    return frozenset(
        identity
        for identity, record in known.files.items()
        if not roots.get(record.root, (None, False))[1] and (record.root, record.path) not in located
        if record.root in known.roots and not known.roots[record.root][1]
    )


def _is_scanned(path: Path, scanned: frozenset[Path]) -> bool:
    """Return whether a folder was scanned, by itself or as part of a parent folder (which skips hidden folders)."""
    return path in scanned or any(
        parent in scanned and not any(part.startswith(".") for part in path.relative_to(parent).parts)
        for parent in path.parents
    )
