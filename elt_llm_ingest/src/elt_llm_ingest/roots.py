"""Names for the folders that documents come from: part of each document's identity, so they must last."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from elt_llm_ingest.discovery import FoundFile


@dataclass(frozen=True)
class Located:
    """A found file with its lasting name: the root's name and the path below it."""

    file: FoundFile
    root: str
    root_path: Path
    relative: str


class RootNames:
    """Gives every root a name: that of its folder, with as many parents as tell it from the others.

    What lies in a known root belongs to it, whether a part of it or a folder around it is given: that makes no second
    copy. A known name whose folder no longer exists is taken over by a folder of that name: it was moved.
    """

    def __init__(self, known: Mapping[str, Path]) -> None:
        self._paths = dict(known)

    def locate(self, file: FoundFile) -> Located:
        """The lasting name of a file."""
        innermost_first = sorted(self._paths.items(), key=lambda item: len(item[1].parts), reverse=True)
        for name, path in innermost_first:
            relative = _within(file, path)
            if relative is not None:
                return Located(file, name, path, relative)
        return Located(file, self.name_of(file.root), file.root, file.relative)

    def name_of(self, root: Path) -> str:
        """The name of a root, given now if it has none."""
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


def _within(file: FoundFile, root: Path) -> str | None:
    """The name of a file within a root that is the file's own, one around it or one inside it; else None."""
    if file.root.is_relative_to(root):
        prefix = _composed(file.root.relative_to(root))
        return f"{prefix}/{file.relative}" if prefix else file.relative
    if root.is_relative_to(file.root) and file.relative.startswith(f"{_composed(root.relative_to(file.root))}/"):
        return file.relative.removeprefix(f"{_composed(root.relative_to(file.root))}/")
    return None


def _composed(path: Path) -> str:
    """A relative path as found files name theirs; empty for the folder itself."""
    return "" if path == Path() else unicodedata.normalize("NFC", path.as_posix())
