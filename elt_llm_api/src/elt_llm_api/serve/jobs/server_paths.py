"""Which files of the server a request may have read: those below `ingest.roots`, and none while that names none."""

from collections.abc import Sequence
from pathlib import Path

from elt_llm_core.errors import UsageError
from elt_llm_core.settings_loader import LoadedSettings

_OFF = "Only uploads are read here: the settings name no folder of the server that requests may read."


def checked_paths(loaded: LoadedSettings, names: Sequence[str]) -> tuple[Path, ...]:
    """The resolved paths.

    Raises UsageError for one that may not be read: also for the data directory, which holds what others brought.
    """
    if not names:
        return ()
    if not loaded.settings.ingest.roots:
        raise UsageError(_OFF, hint="Whoever runs the server names such folders in ingest.roots.")
    from elt_llm_ingest.allowed_paths import AllowedPaths

    allowed = AllowedPaths.of(loaded)
    paths = tuple(allowed.check(name) for name in names)
    data_dir = loaded.data_dir.resolve()
    for name, path in zip(names, paths, strict=True):
        if path.is_relative_to(data_dir) or _leads_to(path, data_dir):
            raise UsageError(f"{name!r} may not be read: the server keeps its own data there.", hint="Name another.")
    return paths


def _leads_to(folder: Path, data_dir: Path) -> bool:
    """Whether reading a folder would come to the data directory; hidden folders within it are not read."""
    if not data_dir.is_relative_to(folder):
        return False
    return not any(part.startswith(".") for part in data_dir.relative_to(folder).parts)
