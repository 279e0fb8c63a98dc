"""Match paths with patterns: `*` and `?` within a name, `[abc]`, and `**` for any number of folders."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from glob import escape
from pathlib import Path

_WILD = frozenset("*?[")
_ANY_FOLDERS = "**"


def is_pattern(text: str) -> bool:
    """Return whether a path contains wildcards."""
    return not _WILD.isdisjoint(text)


def fixed_folder(pattern: str) -> str:
    """Return the folder before the first part with a wildcard, or `.` if the very first part has one."""
    parts = pattern.split("/")
    fixed = next((number for number, part in enumerate(parts) if is_pattern(part)), len(parts))
    return "/".join(parts[:fixed]) or ("/" if pattern.startswith("/") else ".")


def literal_pattern(path: Path) -> str:
    """Return the pattern that matches exactly this path."""
    return escape(str(path))


@dataclass(frozen=True)
class PathPattern:
    """A path pattern, which is matched part by part in linear time.

    A pattern that starts with `/` is absolute. Any other pattern, such as `docs/**/*.md`, matches paths below a folder.
    """

    text: str

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The names and wildcards between the slashes."""
        return tuple(part for part in self.text.split("/") if part not in {"", "."})

    @property
    def is_absolute(self) -> bool:
        """Whether the pattern matches absolute paths."""
        return self.text.startswith("/")

    @property
    def is_wild(self) -> bool:
        """Whether the pattern can match more than one path."""
        return is_pattern(self.text)

    def matches(self, parts: Sequence[str]) -> bool:
        """Return whether the pattern matches the path with these parts."""
        return len(self.parts) in self._reached(parts)

    def may_match_below(self, parts: Sequence[str]) -> bool:
        """Return whether the pattern could match a path below the folder with these parts."""
        return any(number < len(self.parts) for number in self._reached(parts))

    def _reached(self, parts: Sequence[str]) -> set[int]:
        """Match the parts of a path. Return the indexes of the pattern parts that a further path part may match."""
        reached = self._skip_folders({0})
        for part in parts:
            reached = self._skip_folders(
                {
                    number if self.parts[number] == _ANY_FOLDERS else number + 1
                    for number in reached
                    if number < len(self.parts) and fnmatchcase(part, self.parts[number])
                }
            )
        return reached

    def _skip_folders(self, numbers: set[int]) -> set[int]:
        """Return the given indexes of pattern parts. Since `**` may match nothing, add the index after each `**`."""
        skipped = set(numbers)
        for number in sorted(numbers):
            while number < len(self.parts) and self.parts[number] == _ANY_FOLDERS:
                number += 1  # noqa: PLW2901
                skipped.add(number)
        return skipped


@dataclass(frozen=True)
class PathSelection:
    """The files to ingest: all files, or files that match `include`, except files that match `exclude`.

    A pattern without `/`, such as `*.tmp` or `drafts`, excludes files and folders of that name in every folder. If a
    folder is excluded, so is everything in it.
    """

    include: tuple[PathPattern, ...] = ()
    exclude: tuple[PathPattern, ...] = ()

    @staticmethod
    def of(include: Iterable[str] = (), exclude: Iterable[str] = ()) -> "PathSelection":
        """Build a selection of files from patterns to include and patterns to exclude."""
        return PathSelection(tuple(map(PathPattern, include)), tuple(map(PathPattern, exclude)))

    @property
    def is_exhaustive(self) -> bool:
        """Whether there are absolute include patterns. These define all files of the collection, not a part of them."""
        return any(pattern.is_absolute for pattern in self.include)

    def excluded_by(self, root: Path, path: Path) -> str:
        """Return the pattern that excludes a file or folder below `root`, or "" if none does."""
        for pattern in self.exclude:
            if len(pattern.parts) == 1 and not pattern.is_absolute:
                if fnmatchcase(path.name, pattern.parts[0]):
                    return pattern.text
            elif pattern.matches(_pattern_parts(pattern, root, path)):
                return pattern.text
        return ""

    def includes(self, root: Path, path: Path) -> bool:
        """Return whether a file below `root` matches an include pattern, or there are none."""
        if not self.include or path.parts[1:] in self._plain:
            return True
        return any(pattern.matches(_pattern_parts(pattern, root, path)) for pattern in self._wild)

    def may_include_below(self, root: Path, folder: Path) -> bool:
        """Return whether anything in a folder could match an include pattern."""
        if not self.include or folder.parts[1:] in self._plain_folders:
            return True
        return any(pattern.may_match_below(_pattern_parts(pattern, root, folder)) for pattern in self._wild)

    @cached_property
    def _plain(self) -> frozenset[tuple[str, ...]]:
        """The include patterns without wildcards, as a set of paths, because there may be thousands."""
        return frozenset(pattern.parts for pattern in self.include if pattern.is_absolute and not pattern.is_wild)

    @cached_property
    def _plain_folders(self) -> frozenset[tuple[str, ...]]:
        return frozenset(parts[:end] for parts in self._plain for end in range(len(parts)))

    @cached_property
    def _wild(self) -> tuple[PathPattern, ...]:
        return tuple(pattern for pattern in self.include if pattern.is_wild or not pattern.is_absolute)


def _pattern_parts(pattern: PathPattern, root: Path, path: Path) -> tuple[str, ...]:
    return path.parts[1:] if pattern.is_absolute else path.relative_to(root).parts
