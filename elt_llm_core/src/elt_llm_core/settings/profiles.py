"""Load profiles: the built-in ones, which `elt-llm init` writes as examples, and the files in `config/profiles`."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from elt_llm_core.errors import UsageError
from elt_llm_core.settings.loader import LoadedSettings, Location, read_yaml, shown_path, validate_model
from elt_llm_core.settings.tree import Profile, Settings
from elt_llm_core.utilities import nearest_name


@cache
def built_in_profiles() -> Mapping[str, Profile]:
    """Return the profiles in `profiles.toml`, in the order of the file."""
    content = tomllib.loads(Path(__file__).with_name("profiles.toml").read_text(encoding="utf-8"))
    return MappingProxyType({name: Profile.model_validate(values) for name, values in content.items()})


def load_profile(name: str, loaded: LoadedSettings) -> Profile:
    """Load `config/profiles/NAME.yaml` or else the built-in profile NAME. Raises UsageError if neither exists."""
    if not re.fullmatch(r"[\w-]+", name):
        raise UsageError(f"{name!r} cannot be a profile's name: use only letters, digits, - and _")
    path = loaded.config_dir / "profiles" / f"{name}.yaml"
    if path.is_file():
        shown_as = shown_path(path, loaded.project)
        document = read_yaml(path, shown_as)
        return check_profile(document.value, loaded.settings, document.origins, shown_as)
    if name in built_in_profiles():
        return built_in_profiles()[name]
    known = profile_names(loaded)
    meant = nearest_name(name, known)
    hint = f"Did you mean {meant}?" if meant else f"Known profiles: {', '.join(known)}."
    raise UsageError(f"There is no profile {name!r}: {shown_path(path, loaded.project)} does not exist.", hint=hint)


def check_profile(
    content: Mapping[str, Any], settings: Settings, origins: Mapping[Location, str], shown_as: str
) -> Profile:
    """Return the profile with this content. Raises SettingsError if it is invalid alone or together with the settings.

    `origins` and `shown_as` are those of `validate_model`.
    """
    profile = validate_model(Profile, content, origins, shown_as)
    together = {key: f"{place}, together with the settings" for key, place in origins.items()}
    validate_model(Settings, profile.apply_to(settings).model_dump(mode="json"), together, shown_as)
    return profile


def profile_names(loaded: LoadedSettings) -> list[str]:
    """Return the names of all profiles, both built-in and from files, sorted."""
    files = (loaded.config_dir / "profiles").glob("*.yaml")
    return sorted({*built_in_profiles(), *(path.stem for path in files)})
