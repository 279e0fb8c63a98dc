"""Patterns over paths: `*` and `?` within a name, `[abc]`, and `**` for any number of folders."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from glob import escape
from pathlib import Path

_WILD = frozenset("*?[")
_ANY_FOLDERS = "**"


def is_pattern(text: str) -> bool:
    """Whether a path is a pattern: a folder may hold what it names, but none is called so."""
    return not _WILD.isdisjoint(text)


def fixed_folder(pattern: str) -> str:
    """What stands before the first part with a wildcard in it; `.` if that is the first."""
    parts = pattern.split("/")
    fixed = next((number for number, part in enumerate(parts) if is_pattern(part)), len(parts))
    return "/".join(parts[:fixed]) or ("/" if pattern.startswith("/") else ".")


def literally(path: Path) -> str:
    """The pattern that stands for exactly this path."""
    return escape(str(path))


@dataclass(frozen=True)
class Pattern:
    """One pattern, looked at part by part, so that no pattern takes long on any path.

    It is absolute if it begins with `/`; else it stands for paths below a folder.
    """

    text: str
    parts: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> "Pattern":
        """The pattern of this text."""
        return Pattern(text, tuple(part for part in text.split("/") if part not in {"", "."}))

    @property
    def is_absolute(self) -> bool:
        """Whether it stands for absolute paths."""
        return self.text.startswith("/")

    @property
    def is_wild(self) -> bool:
        """Whether it can stand for more than one path."""
        return is_pattern(self.text)

    def matches(self, parts: Sequence[str]) -> bool:
        """Whether the path of these parts is one of the pattern's."""
        return len(self.parts) in self._reached(parts)

    def may_match_below(self, parts: Sequence[str]) -> bool:
        """Whether a path below the folder of these parts could be one of the pattern's."""
        return any(place < len(self.parts) for place in self._reached(parts))

    def _reached(self, parts: Sequence[str]) -> set[int]:
        """How many parts of the pattern may have been used up when the path has come to its end."""
        reached = self._skipped({0})
        for part in parts:
            onward = set()
            for place in reached:
                if place == len(self.parts):
                    continue
                if self.parts[place] == _ANY_FOLDERS:
                    onward.add(place)
                elif fnmatchcase(part, self.parts[place]):
                    onward.add(place + 1)
            reached = self._skipped(onward)
        return reached

    def _skipped(self, places: set[int]) -> set[int]:
        """These places, and those behind each `**` that stands for no folder at all."""
        found = set(places)
        for place in sorted(places):
            behind = place
            while behind < len(self.parts) and self.parts[behind] == _ANY_FOLDERS:
                behind += 1
                found.add(behind)
        return found


@dataclass(frozen=True)
class Selection:
    """Which files are wanted: those of an `include` pattern, all if there is none, but for those of an `exclude` one.

    A pattern of one name, such as `*.tmp` or `drafts`, excludes files and folders of that name wherever they are.
    What excludes a folder excludes all that is in it.
    """

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()

    @staticmethod
    def of(include: Iterable[str] = (), exclude: Iterable[str] = ()) -> "Selection":
        """The selection by these patterns."""
        return Selection(tuple(map(Pattern.parse, include)), tuple(map(Pattern.parse, exclude)))

    @property
    def says_all(self) -> bool:
        """Whether it names all that there is to be, wherever it is, not only what to take of given folders."""
        return any(pattern.is_absolute for pattern in self.include)

    def excluded_by(self, root: Path, path: Path) -> str:
        """The pattern that excludes a file or folder below `root`; empty if none does."""
        for pattern in self.exclude:
            if len(pattern.parts) == 1 and not pattern.is_absolute:
                if fnmatchcase(path.name, pattern.parts[0]):
                    return pattern.text
            elif pattern.matches(_parts(pattern, root, path)):
                return pattern.text
        return ""

    def includes(self, root: Path, path: Path) -> bool:
        """Whether a file below `root` is asked for."""
        if not self.include or path.parts[1:] in self._plain:
            return True
        return any(pattern.matches(_parts(pattern, root, path)) for pattern in self._wild)

    def may_include_below(self, root: Path, folder: Path) -> bool:
        """Whether anything in a folder could be asked for."""
        if not self.include or folder.parts[1:] in self._plain_folders:
            return True
        return any(pattern.may_match_below(_parts(pattern, root, folder)) for pattern in self._wild)

    @cached_property
    def _plain(self) -> frozenset[tuple[str, ...]]:
        """The included files that are named as they are: there may be thousands of them."""
        return frozenset(pattern.parts for pattern in self.include if pattern.is_absolute and not pattern.is_wild)

    @cached_property
    def _plain_folders(self) -> frozenset[tuple[str, ...]]:
        return frozenset(parts[:end] for parts in self._plain for end in range(len(parts)))

    @cached_property
    def _wild(self) -> tuple[Pattern, ...]:
        return tuple(pattern for pattern in self.include if pattern.is_wild or not pattern.is_absolute)


def _parts(pattern: Pattern, root: Path, path: Path) -> tuple[str, ...]:
    return path.parts[1:] if pattern.is_absolute else path.relative_to(root).parts
