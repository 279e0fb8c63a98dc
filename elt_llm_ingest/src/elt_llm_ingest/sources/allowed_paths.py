"""Check that the paths of a job, request or tool lie within the configured folders."""

import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elt_llm_core.errors import UsageError
from elt_llm_core.settings.loader import LoadedSettings

_MOST_BYTES, _MOST_BYTES_OF_A_NAME = 4095, 255
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:/|[A-Za-z]:")
# Files in these folders are devices, memory and open files.
_SYSTEM_PATHS = tuple(map(Path, ("/proc", "/sys", "/dev")))


@dataclass(frozen=True)
class AllowedPaths:
    """The resolved folders that may be read. Relative paths start at `start`."""

    roots: tuple[Path, ...]
    start: Path

    @staticmethod
    def of(loaded: LoadedSettings) -> "AllowedPaths":
        """Return the folders in the setting `ingest.roots`, or else the folder that contains the configuration."""
        project = loaded.project.resolve()
        roots = tuple((project / root.expanduser()).resolve() for root in loaded.settings.ingest.roots)
        return AllowedPaths(roots or (project,), project)

    def check(self, name: str) -> Path:
        """Return the resolved path of an existing file or folder below the roots.

        Raises UsageError for an invalid name, a missing path, and a path outside the roots, also if links lead out.
        """
        if reason := _refusal_reason(name):
            raise UsageError(
                f"{_shortened(name)} may not be read: {reason}.", hint="Name a file or folder by its path."
            )
        try:
            path = (self.start / name).resolve()
            self._refuse_outside(name, path)
            mode = path.lstat().st_mode
        except FileNotFoundError as error:
            raise UsageError(f"There is no file or folder {name}.", hint=f"Paths start at {self.start}.") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise UsageError(f"{_shortened(name)} cannot be reached: {error}", hint="Give another path.") from error
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise UsageError(f"{_shortened(name)} may not be read: it is neither a file nor a folder.")
        return path

    def _refuse_outside(self, name: str, path: Path) -> None:
        if not _is_below(path, self.roots):
            allowed = ", ".join(map(str, self.roots))
            raise UsageError(
                f"{_shortened(name)} may not be read: it leads out of {allowed}.",
                hint="Add its folder to ingest.roots in the settings.",
            )
        if _is_below(path, _SYSTEM_PATHS):
            raise UsageError(f"{_shortened(name)} may not be read: it is a system folder such as /proc.")


def _refusal_reason(name: str) -> str:
    """Return why a name is refused even before its path is resolved, or "" if it is not."""
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        return "it is not valid UTF-8"
    too_long = len(encoded) > _MOST_BYTES or any(len(part) > _MOST_BYTES_OF_A_NAME for part in encoded.split(b"/"))
    refusals = {
        "it is empty": not name.strip(),
        "it contains a control character": any(ord(character) < 32 or ord(character) == 127 for character in name),
        "it is too long": too_long,
        "it starts with `~`": name.startswith("~"),
        "it is a URL or a path of another operating system": "\\" in name or _ADDRESS.match(name),
    }
    return next((reason for reason, holds in refusals.items() if holds), "")


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _shortened(name: str) -> str:
    return repr(name if len(name) <= 120 else f"{name[:100]}...")
