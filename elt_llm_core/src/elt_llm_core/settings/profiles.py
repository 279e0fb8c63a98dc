"""Load profiles: the built-in ones, which `elt-llm init` writes as examples, and the files in `config/profiles`."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from elt_llm_core.errors import UsageError
from elt_llm_core.settings.loader import LoadedSettings, read_model, shown_path
from elt_llm_core.settings.tree import Profile
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
        return read_model(path, Profile, loaded.project)
    if name in built_in_profiles():
        return built_in_profiles()[name]
    known = profile_names(loaded)
    meant = nearest_name(name, known)
    hint = f"Did you mean {meant}?" if meant else f"Known profiles: {', '.join(known)}."
    raise UsageError(f"There is no profile {name!r}: {shown_path(path, loaded.project)} does not exist.", hint=hint)


def profile_names(loaded: LoadedSettings) -> list[str]:
    """Return the names of all profiles, both built-in and from files, sorted."""
    files = (loaded.config_dir / "profiles").glob("*.yaml")
    return sorted({*built_in_profiles(), *(path.stem for path in files)})
