"""Find the supported files in files and folders, and report every skipped path with the reason."""

import os
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from elt_llm_core.errors import UsageError
from elt_llm_core.utilities import nearest_name

from elt_llm_ingest.readers import SUPPORTED_SUFFIXES, no_reader_reason, readable_suffixes
from elt_llm_ingest.sources.patterns import PathSelection


@dataclass(frozen=True)
class FoundFile:
    """A file to read. `relative` is its path within `root`, with `/` and in Unicode's composed form (NFC).

    `size` is in bytes. `written_ns` is the time of the last write in nanoseconds since 1970. `modified_ns` is the later
    of `written_ns` and the time when the file's metadata changed, because programs can set the write time back.

    If the file is remote, the first call of `fetch` writes it to `path`, or raises UnreadableDocument if that fails.
    `root` is then the temporary folder that contains `path`.
    """

    root: Path
    relative: str
    path: Path
    size: int
    modified_ns: int
    written_ns: int = 0
    fetch: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)


@dataclass(frozen=True)
class SkippedPath:
    """A file or folder that is not read, and the reason. The path of a remote file is its URL."""

    path: Path | str
    reason: str


@dataclass(frozen=True)
class Discovery:
    """Found files and skipped paths. A missing file counts as deleted only if its root folder is in `scanned_roots`."""

    files: tuple[FoundFile, ...]
    skipped: tuple[SkippedPath, ...]
    scanned_roots: tuple[Path, ...]


def discover(paths: Iterable[Path], selection: PathSelection | None = None) -> Discovery:
    """Find every supported file in the given files and folders, in the same order on every machine.

    Files that the `selection` excludes are reported as skipped, but files that it does not include are not reported.
    The root of an individually named file is its folder, which does not count as scanned. Raises UsageError for a
    missing path.
    """
    resolved = sorted({_resolve(path) for path in paths}, key=lambda path: (len(path.parts), str(path)))
    search = _Search(selection or PathSelection())
    for path in resolved:
        if path.is_dir():
            search.scan(path)
        else:
            search.add(path.parent, path)
    return Discovery(tuple(search.seen.values()), tuple(search.skipped), tuple(search.scanned))


def _resolve(path: Path) -> Path:
    try:
        return path.expanduser().resolve(strict=True)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file or folder {path}.", hint=_path_suggestion(path)) from error
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be reached: {error}", hint="Give a path that this user can open.") from error


def _path_suggestion(path: Path) -> str:
    try:
        names = sorted(entry.name for entry in path.absolute().parent.iterdir())
    except OSError:
        return f"Relative paths start at {Path.cwd()}."
    near = nearest_name(path.name, names)
    return f"Did you mean {path.parent / near}?" if near else f"Relative paths start at {Path.cwd()}."


@dataclass
class _Search:
    selection: PathSelection
    skipped: list[SkippedPath] = field(default_factory=list)
    scanned: list[Path] = field(default_factory=list)
    seen: dict[Path, FoundFile] = field(default_factory=dict)
    names: set[tuple[Path, str]] = field(default_factory=set)
    incomplete: set[Path] = field(default_factory=set)
    suffixes: frozenset[str] = field(default_factory=lambda: SUPPORTED_SUFFIXES | readable_suffixes())

    def scan(self, root: Path) -> None:
        """Add every file below `root`. If a folder cannot be read, the root does not count as scanned."""
        self.incomplete.discard(root)
        folders = [root]
        while folders:
            folder = folders.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                self._skip(folder, f"folder cannot be read: {error.strerror or error}")
                self.incomplete.add(root)
                continue
            # The last folder is popped first, so folders are reversed to be walked in the order of their names.
            folders += reversed(list(self._add_files(root, entries)))
        if root not in self.incomplete:
            self.scanned.append(root)

    def _add_files(self, root: Path, entries: list[os.DirEntry[str]]) -> Iterator[Path]:
        for entry in entries:
            path = Path(entry.path)
            is_folder = entry.is_dir(follow_symlinks=False)
            includes = self.selection.may_include_below if is_folder else self.selection.includes
            if not includes(root, path):
                continue
            if entry.name.startswith("."):
                self._skip(path, "hidden")
            elif pattern := self.selection.excluded_by(root, path):
                self._skip(path, f"excluded by {pattern}")
            elif entry.is_symlink() and (reason := _link_refusal(root, path)):
                self._skip(path, reason)
            elif is_folder:
                yield path
            else:
                self._add(root, path)

    def add(self, root: Path, path: Path) -> None:
        """Add an individually named file if the selection includes it, or record why it is skipped."""
        if not self.selection.includes(root, path):
            return
        if pattern := self.selection.excluded_by(root, path):
            self._skip(path, f"excluded by {pattern}")
        else:
            self._add(root, path)

    def _add(self, root: Path, path: Path) -> None:
        try:
            status = path.stat()
        except OSError as error:
            self._skip(path, f"cannot be read: {error.strerror or error}")
            self.incomplete.add(root)
            return
        relative = unicodedata.normalize("NFC", path.relative_to(root).as_posix())
        if reason := self._skip_reason(root, relative, path, status):
            self._skip(path, reason)
            return
        modified = max(status.st_mtime_ns, status.st_ctime_ns)
        self.seen[path] = FoundFile(root, relative, path, status.st_size, modified, status.st_mtime_ns)
        self.names.add((root, relative))

    def _skip_reason(self, root: Path, relative: str, path: Path, status: os.stat_result) -> str:
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        if relative.encode("utf-8", "ignore").decode() != relative:
            return "its name is not valid UTF-8"
        if path.suffix.lower() not in self.suffixes:
            return no_reader_reason(path.suffix)
        if path in self.seen:
            return f"already found under {self.seen[path].root}"
        if (root, relative) in self.names:
            return "another file has the same name with differently encoded accents"
        return ""

    def _skip(self, path: Path, reason: str) -> None:
        self.skipped.append(SkippedPath(Path(os.fsencode(path).decode("utf-8", "replace")), reason))


def _link_refusal(root: Path, link: Path) -> str:
    """Return why a symbolic link is not followed, or "" for a link to a file within the root."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return "symbolic link to a missing file"
    if not target.is_relative_to(root):
        return "symbolic link that leads out of the folder"
    return "symbolic link to a folder that is already scanned" if target.is_dir() else ""
