"""Names for the folders that documents come from: part of each document's identity, so they must last."""

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

    A folder inside a known root belongs to it, so that ingesting a part of it makes no second copy. A known name
    whose folder no longer exists is taken over by a folder of that name: it was moved.
    """

    def __init__(self, known: Mapping[str, Path]) -> None:
        self._paths = dict(known)

    def locate(self, file: FoundFile) -> Located:
        """The lasting name of a file."""
        for name, path in self._paths.items():
            if file.root == path or path in file.root.parents:
                prefix = file.root.relative_to(path).as_posix()
                relative = file.relative if prefix == "." else f"{prefix}/{file.relative}"
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
