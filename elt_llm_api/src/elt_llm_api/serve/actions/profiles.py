"""Profiles for callers: which there are, what they say, and saving one of one's own beside those that are shipped."""

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elt_llm_core.errors import UsageError
from elt_llm_core.profiles import BUILT_IN_PROFILES
from elt_llm_core.settings import Profile
from elt_llm_core.settings_loader import profile_names
from elt_llm_core.settings_mistakes import validated
from elt_llm_core.settings_template import profile_as_yaml

from elt_llm_api.serve.access.principal import Forbidden, Principal
from elt_llm_api.serve.services import Services

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True)
class ProfileSummary:
    """A profile by name, what it is for in a sentence, and whether it comes with the program."""

    name: str
    description: str
    shipped: bool


class Profiles:
    """Lists, reads and saves profiles. Everybody may ask with each; only who administers saves one."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def all(self) -> list[ProfileSummary]:
        """Every profile in force, the default first, then by name."""
        found = self._services.in_force.profiles
        names = sorted(found, key=lambda name: (name != "default", name))
        return [ProfileSummary(name, found[name].description, name in BUILT_IN_PROFILES) for name in names]

    def get(self, principal: Principal, name: str) -> Profile:
        """A profile, without the collections and prefixes that the caller may not know of.

        Raises UsageError if there is none of that name, SettingsError for a file that is none.
        """
        profile = self._services.profile(name)
        prefixes = profile.collection_prefixes if principal.administers else ()
        readable = tuple(principal.readable(profile.collections))
        return profile.model_copy(update={"collections": readable, "collection_prefixes": prefixes})

    def save(self, principal: Principal, name: str, given: Mapping[str, Any], *, replace: bool = False) -> Path:
        """Keep a profile as `config/profiles/NAME.yaml`, whole or not at all; the file says what each key means.

        `given` has the keys of a profile (description, query, ...), and is held to what they accept. One that is there,
        or comes with the program, is replaced only where that is said. Raises Forbidden, UsageError, SettingsError.
        """
        if not principal.administers:
            raise Forbidden("This key may not change settings.", hint="Use a key that administers.")
        if not NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be a profile's name.",
                hint="Small letters, digits, - and _, at most 63, the first a letter or a digit.",
            )
        if not replace and name in profile_names(self._services.loaded):
            shipped = " comes with the program" if name in BUILT_IN_PROFILES else " is there already"
            raise UsageError(f"The profile '{name}'{shipped}.", hint="Give another name, or say to replace it.")
        profile = validated(Profile, given, {}, f"profile {name}")
        path = self._services.loaded.config_dir / "profiles" / f"{name}.yaml"
        _write_whole(path, profile_as_yaml(profile))
        self._services.reloader.look()
        return path


def _write_whole(path: Path, text: str) -> None:
    """Write beside it and put it in place: a reader sees the former file or this one. Raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".new", delete=False) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).chmod(0o644)
                Path(file.name).replace(path)
            except OSError:
                with suppress(OSError):
                    Path(file.name).unlink()
                raise
    except OSError as error:
        raise UsageError(
            f"The profile cannot be written: {error.strerror}.", hint="Is config/profiles a folder one may write to?"
        ) from error
