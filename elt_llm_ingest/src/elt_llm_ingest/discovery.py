"""Files and folders to the documents in them; whatever is left out is named with the reason."""

import difflib
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from elt_llm_core.errors import UsageError

from elt_llm_ingest.patterns import Selection
from elt_llm_ingest.readers import SUPPORTED_SUFFIXES


@dataclass(frozen=True)
class FoundFile:
    """A file to read. `relative` names it within `root` with `/` and in Unicode's composed form (NFC), for identity.

    `size` is bytes, `modified_ns` nanoseconds since 1970: when the file was written or its entry changed, whichever
    was later, since the time of writing can be set back. `written_ns` is the time of writing alone, as people see it.
    """

    root: Path
    relative: str
    path: Path
    size: int
    modified_ns: int
    written_ns: int = 0


@dataclass(frozen=True)
class Skipped:
    """A file or folder that is not read, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Discovery:
    """What was found. Only in `scanned_roots` does a missing file mean that it is gone."""

    files: tuple[FoundFile, ...]
    skipped: tuple[Skipped, ...]
    scanned_roots: tuple[Path, ...]


def discover(paths: Iterable[Path], selection: Selection | None = None) -> Discovery:
    """Every supported file in the given files and folders, in the same order on every machine.

    With a `selection`, what it excludes is named as skipped; what it does not ask for was never asked for, and is not
    named. The folder of a file given by name is its root, and counts as not scanned. Raises UsageError for a missing
    path.
    """
    resolved = sorted({_resolve(path) for path in paths}, key=lambda path: (len(path.parts), str(path)))
    search = _Search(selection or Selection())
    for path in resolved:
        if path.is_dir():
            search.scan(path)
        else:
            search.take(path.parent, path)
    return Discovery(tuple(search.files), tuple(search.skipped), tuple(search.scanned))


def _resolve(path: Path) -> Path:
    try:
        return path.expanduser().resolve(strict=True)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file or folder {path}.", hint=_nearest(path)) from error
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be reached: {error}", hint="Give a path that can be opened.") from error


def _nearest(path: Path) -> str:
    try:
        names = sorted(entry.name for entry in path.absolute().parent.iterdir())
    except OSError:
        return f"Paths are taken from {Path.cwd()}."
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"Did you mean {path.parent / near[0]}?" if near else f"Paths are taken from {Path.cwd()}."


@dataclass
class _Search:
    selection: Selection
    files: list[FoundFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    scanned: list[Path] = field(default_factory=list)
    seen: dict[Path, FoundFile] = field(default_factory=dict)
    names: set[tuple[Path, str]] = field(default_factory=set)
    incomplete: set[Path] = field(default_factory=set)

    def scan(self, root: Path) -> None:
        """Take every file below `root`; a folder that cannot be read leaves the root incomplete."""
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
            # Last in, first out: reversed, so that folders are walked in the order of their names.
            folders += reversed(list(self._sort_out(root, entries)))
        if root not in self.incomplete:
            self.scanned.append(root)

    def _sort_out(self, root: Path, entries: list[os.DirEntry[str]]) -> Iterator[Path]:
        """Take the files among `entries`; yield the folders to walk."""
        for entry in entries:
            path = Path(entry.path)
            is_folder = entry.is_dir(follow_symlinks=False)
            if not self._is_asked_for(root, path, is_folder=is_folder):
                continue
            if entry.name.startswith("."):
                self._skip(path, "hidden")
            elif pattern := self.selection.excluded_by(root, path):
                self._skip(path, f"excluded by {pattern}")
            elif entry.is_symlink() and (reason := _bad_link(root, path)):
                self._skip(path, reason)
            elif is_folder:
                yield path
            else:
                self._take(root, path)

    def _is_asked_for(self, root: Path, path: Path, *, is_folder: bool) -> bool:
        asked_for = self.selection.may_include_below if is_folder else self.selection.includes
        return asked_for(root, path)

    def take(self, root: Path, path: Path) -> None:
        """Add one file that was given by name, or say why not; not one that no pattern asks for."""
        if not self.selection.includes(root, path):
            return
        if pattern := self.selection.excluded_by(root, path):
            self._skip(path, f"excluded by {pattern}")
        else:
            self._take(root, path)

    def _take(self, root: Path, path: Path) -> None:
        try:
            status = path.stat()
        except OSError as error:
            self._skip(path, f"cannot be read: {error.strerror or error}")
            self.incomplete.add(root)
            return
        relative = unicodedata.normalize("NFC", path.relative_to(root).as_posix())
        if reason := self._objection(root, relative, path, status):
            self._skip(path, reason)
            return
        found = FoundFile(
            root, relative, path, status.st_size, max(status.st_mtime_ns, status.st_ctime_ns), status.st_mtime_ns
        )
        self.files.append(found)
        self.seen[path] = found
        self.names.add((root, relative))

    def _objection(self, root: Path, relative: str, path: Path, status: os.stat_result) -> str:
        """Why a file is not taken; empty if it is."""
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        if not _is_utf8(relative):
            return "its name is not valid UTF-8"
        if path.suffix.lower() not in SUPPORTED_SUFFIXES:
            return f"no reader for {path.suffix or 'files without a suffix'}"
        if path in self.seen:
            return f"already found under {self.seen[path].root}"
        if (root, relative) in self.names:
            return "another file's name differs only in how its accents are encoded"
        return ""

    def _skip(self, path: Path, reason: str) -> None:
        self.skipped.append(Skipped(Path(os.fsencode(path).decode("utf-8", "replace")), reason))


def _bad_link(root: Path, link: Path) -> str:
    """Why a symbolic link is not followed; empty for one to a file within the root."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return "symbolic link that leads nowhere"
    if not target.is_relative_to(root):
        return "symbolic link that leads out of the folder"
    return "symbolic link to a folder that is scanned anyway" if target.is_dir() else ""


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
