"""What the files of `config` say, as it is in force: read again when they change, once they are valid.

What does not hold is not taken: the old stays in force, and the notes say why.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock, Thread

from elt_llm_core.closeable import Closeable
from elt_llm_core.errors import EltError
from elt_llm_core.settings import Profile, Settings
from elt_llm_core.settings_loader import SETTINGS_FILE, LoadedSettings, load_profile, load_settings, profile_names
from elt_llm_query.synthesis.prompts import Prompts, load_prompts
from elt_llm_query.understanding.aliases import ALIASES_FILE, Aliases, load_aliases

EVERY = 2.0  # seconds between two looks at the files
AT_START = ("storage", "chroma", "embedding", "serve")
"""Sections that what is open was opened with: changes take effect at the next start."""
_NAME = re.compile(r"[\w-]{1,200}")
_log = logging.getLogger(__name__)
_Seen = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True)
class InForce:
    """Everything that the files say, valid as a whole. `version` grows with each change that was taken."""

    loaded: LoadedSettings
    profiles: Mapping[str, Profile]
    aliases: Aliases
    prompts: Prompts
    version: int = 1

    def profile(self, name: str) -> Profile:
        """A profile by its name. Raises UsageError if there is none."""
        return self.profiles[name] if name in self.profiles else load_profile(name, self.loaded)

    def settings_for(self, profile: str) -> Settings:
        """The settings with a profile laid over them. Raises UsageError."""
        return self.profile(profile).apply_to(self.loaded.settings)


class Reloader(Closeable):
    """Looks at the files every `every` seconds in a thread of its own. Raises SettingsError if they do not hold now."""

    def __init__(self, loaded: LoadedSettings, every: float = EVERY) -> None:
        self._every, self._looking = every, Lock()
        self._seen = _seen(loaded.config_dir)
        self._in_force = _read(loaded, 1)
        self._at_start = _again(loaded).settings  # as the files said, whatever options of the command said besides
        self._mistake = ""
        self._waiting: tuple[str, ...] = ()
        self._stopped = Event()
        self._thread = Thread(target=self._watch, name="settings", daemon=True)
        self._thread.start()

    @property
    def in_force(self) -> InForce:
        """What holds now."""
        return self._in_force

    @property
    def notes(self) -> tuple[str, ...]:
        """What the files say and is not in force, in sentences."""
        mistake = (f"The settings were changed and not taken, the earlier ones stay in force: {self._mistake}",)
        waiting = (f"Changed, and in force from the next start on: {', '.join(self._waiting)}.",)
        return (*(mistake if self._mistake else ()), *(waiting if self._waiting else ()))

    def look(self) -> None:
        """Look now; what was changed and is valid is in force when this returns."""
        with self._looking:
            seen = _seen(self._in_force.loaded.config_dir)
            if seen == self._seen:
                return
            self._seen = seen
            try:
                self._take()
            except (EltError, OSError) as error:
                self._mistake = str(error)
                _log.warning("Settings were changed and not taken: %s", error)

    def close(self) -> None:
        """Look no more."""
        self._stopped.set()
        self._thread.join()

    def _take(self) -> None:
        old = self._in_force
        given = _again(old.loaded)
        kept = {name: getattr(old.loaded.settings, name) for name in AT_START}
        settings = given.settings.model_copy(update=kept)
        loaded = replace(given, settings=settings, data_dir=old.loaded.data_dir)
        self._in_force = _read(loaded, old.version + 1)
        self._mistake, self._waiting = "", tuple(_differing(given.settings, self._at_start))
        _log.warning("Settings were changed and are in force.")

    def _watch(self) -> None:
        while not self._stopped.wait(self._every):
            self.look()


def _again(loaded: LoadedSettings) -> LoadedSettings:
    return load_settings(loaded.source, loaded.environment, loaded.working_directory)


def _read(loaded: LoadedSettings, version: int) -> InForce:
    """What the files say. Raises SettingsError for the first that does not hold."""
    # Others, such as what an editor keeps beside the file, cannot be asked for.
    names = [name for name in profile_names(loaded) if _NAME.fullmatch(name)]
    profiles = {name: load_profile(name, loaded) for name in names}
    for profile in profiles.values():
        profile.apply_to(loaded.settings)
    prompts = load_prompts(loaded.config_dir, loaded.project)
    return InForce(loaded, profiles, load_aliases(loaded), prompts, version)


def _differing(given: Settings, kept: Settings) -> Iterator[str]:
    for name in AT_START:
        before, after = getattr(kept, name), getattr(given, name)
        yield from (f"{name}.{key}" for key in type(after).model_fields if getattr(before, key) != getattr(after, key))


def _seen(config_dir: Path) -> _Seen:
    """What tells one state of the files from another: their names, times, sizes and places on the disk."""
    files = [config_dir / SETTINGS_FILE.name, config_dir / ALIASES_FILE]
    files += sorted([*config_dir.glob("profiles/*.yaml"), *config_dir.glob("prompts/*.y*ml")])
    return tuple(told for path in files for told in _told(path))


def _told(path: Path) -> Iterator[tuple[str, int, int, int]]:
    try:
        status = path.stat()
    except OSError:
        return
    yield str(path), status.st_mtime_ns, status.st_size, status.st_ino
