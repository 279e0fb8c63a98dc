"""Finds the settings file, lays the environment over it, and says where every mistake is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic.fields import FieldInfo

from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.failpoints import FAILPOINT_VARIABLE
from elt_llm_core.profiles import BUILT_IN_PROFILES
from elt_llm_core.settings import Profile, Settings
from elt_llm_core.settings_mistakes import Model, describe_allowed, nearest, section_of, validated
from elt_llm_core.yaml_document import Location, YamlDocument, read_yaml

SETTINGS_FILE = Path("config") / "rag_config.yaml"
DATA_DIR_VARIABLE = "ELT_LLM_DATA_DIR"
_PREFIX = "ELT_LLM_"
_OTHER_VARIABLES = (DATA_DIR_VARIABLE, FAILPOINT_VARIABLE, "ELT_LLM_DATASETS", "ELT_LLM_SERVE_TOKEN")


@dataclass(frozen=True)
class LoadedSettings:
    """The settings in force and where they come from."""

    settings: Settings
    source: Path | None
    """The file they were read from; none where the built-in defaults hold."""
    data_dir: Path
    """Absolute; it need not exist yet."""
    project: Path
    """The folder that holds `config/`, else the working directory; relative paths in settings start here."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The variables of ours that were laid over the file, and where that was: to read the same again."""
    working_directory: Path = field(default=Path(), repr=False, compare=False)

    @property
    def config_dir(self) -> Path:
        """The folder of profiles, jobs and prompts; it need not exist."""
        return self.source.parent if self.source else self.project / SETTINGS_FILE.parent


def load_settings(config: Path | None, environment: Mapping[str, str], working_directory: Path) -> LoadedSettings:
    """The settings of `config`, else of the nearest `config/rag_config.yaml` upwards, else the built-in defaults.

    `ELT_LLM_<SECTION>__<KEY>` in the environment overrides one value, `ELT_LLM_DATA_DIR` the data directory.
    Raises SettingsError that names the place of each mistake.
    """
    source = _resolve(config, working_directory) if config else find_settings_file(working_directory)
    shown_as = shown_path(source, working_directory) if source else "built-in settings"
    document = read_yaml(source, shown_as) if source else YamlDocument({}, {})
    settings = _with_environment(document, environment, shown_as)
    project = _project_of(source) if source else working_directory.absolute()
    data_dir = _data_dir(settings, project, environment, working_directory)
    settings = _with_models_dir(settings, project, environment, working_directory)
    return LoadedSettings(settings, source, data_dir, project, _heeded(environment), working_directory.absolute())


def find_settings_file(working_directory: Path) -> Path | None:
    """The nearest `config/rag_config.yaml` in the working directory or a folder above it."""
    start = working_directory.absolute()
    candidates = (folder / SETTINGS_FILE for folder in (start, *start.parents))
    return next((path for path in candidates if path.is_file()), None)


def load_profile(name: str, loaded: LoadedSettings) -> Profile:
    """The profile of `config/profiles/NAME.yaml`, else the built-in one of that name."""
    if not re.fullmatch(r"[\w-]+", name):
        raise UsageError(f"{name!r} cannot be a profile's name: letters, digits, - and _ only")
    path = loaded.config_dir / "profiles" / f"{name}.yaml"
    if path.is_file():
        return read_model(path, Profile, loaded.project)
    if name in BUILT_IN_PROFILES:
        return BUILT_IN_PROFILES[name]
    known = profile_names(loaded)
    meant = nearest(name, known)
    hint = f"Did you mean {meant}?" if meant else f"Known profiles: {', '.join(known)}."
    raise UsageError(f"there is no profile {name!r}: {shown_path(path, loaded.project)} does not exist", hint=hint)


def profile_names(loaded: LoadedSettings) -> list[str]:
    """Every profile that can be named, built-in or in a file, sorted."""
    files = (loaded.config_dir / "profiles").glob("*.yaml")
    return sorted({*BUILT_IN_PROFILES, *(path.stem for path in files)})


def read_model(path: Path, model: type[Model], shown_from: Path) -> Model:
    """A YAML file as a model; messages name it as seen from the folder `shown_from`. Raises SettingsError."""
    shown_as = shown_path(path, shown_from)
    document = read_yaml(path, shown_as)
    return validated(model, document.value, document.origins, shown_as)


def _with_environment(document: YamlDocument, environment: Mapping[str, str], shown_as: str) -> Settings:
    """Validates file and environment together, so that one message lists the mistakes of both."""
    value = {key: dict(part) if isinstance(part, Mapping) else part for key, part in document.value.items()}
    origins = dict(document.origins)
    mistakes: list[str] = []
    for variable in sorted(name for name in environment if name.startswith(_PREFIX) and name not in _OTHER_VARIABLES):
        try:
            section, key, given = _override(variable, environment[variable])
        except SettingsError as error:
            mistakes.append(str(error))
            continue
        if isinstance(value.setdefault(section, {}) or {}, Mapping):
            value[section] = {**(value[section] or {}), key: given}
            origins[section, key] = f"environment variable {variable}"
    return _validated_with(mistakes, value, origins, shown_as)


def _validated_with(
    mistakes: list[str], value: Mapping[str, Any], origins: Mapping[Location, str], shown_as: str
) -> Settings:
    try:
        settings = validated(Settings, value, origins, shown_as)
    except SettingsError as error:
        raise SettingsError("\n".join([str(error), *mistakes])) from error
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    return settings


def _override(variable: str, text: str) -> tuple[str, str, object]:
    """Section, key and value that a variable of the environment stands for."""
    known = _overridable()
    if variable not in known:
        meant = nearest(
            variable.removeprefix(_PREFIX), [name.removeprefix(_PREFIX) for name in (*known, *_OTHER_VARIABLES)]
        )
        advice = f"did you mean {_PREFIX}{meant}?" if meant else f"the form is {_PREFIX}<SECTION>__<KEY>"
        raise SettingsError(f"environment variable {variable} = {text!r}: unknown; {advice}")
    section, key, field = known[variable]
    return section, key, _scalar(variable, text, describe_allowed(field))


def _overridable() -> dict[str, tuple[str, str, FieldInfo]]:
    """Section, key and field by the variable that overrides it."""
    sections = {name: section_of(field.annotation) for name, field in Settings.model_fields.items()}
    return {
        f"{_PREFIX}{name}__{key}".upper(): (name, key, field)
        for name, section in sections.items()
        if section
        for key, field in section.model_fields.items()
    }


def _scalar(variable: str, text: str, allowed: str) -> object:
    """The text as YAML reads it; where text is allowed it stays text, so that `no` can be a language."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise SettingsError(f"environment variable {variable} = {text!r}: must be {allowed}") from error
    takes_text = allowed.startswith(("text", "a path", "one of"))
    return text if takes_text and value is not None else value


def _heeded(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that settings came from; no others, for those may be secrets."""
    return {
        name: value
        for name, value in environment.items()
        if name == DATA_DIR_VARIABLE or (name.startswith(_PREFIX) and name not in _OTHER_VARIABLES)
    }


def _data_dir(settings: Settings, project: Path, environment: Mapping[str, str], working_directory: Path) -> Path:
    if environment.get(DATA_DIR_VARIABLE):
        return _resolve(Path(environment[DATA_DIR_VARIABLE]), working_directory)
    configured = settings.storage.data_dir
    if configured is None:
        return project / ".elt_llm"
    by_environment = "ELT_LLM_STORAGE__DATA_DIR" in environment
    return _resolve(configured, working_directory if by_environment else project)


def _with_models_dir(
    settings: Settings, project: Path, environment: Mapping[str, str], working_directory: Path
) -> Settings:
    configured = settings.storage.models_dir
    if configured is None:
        return settings
    start = working_directory if "ELT_LLM_STORAGE__MODELS_DIR" in environment else project
    storage = settings.storage.model_copy(update={"models_dir": _resolve(configured, start)})
    return settings.model_copy(update={"storage": storage})


def _project_of(source: Path) -> Path:
    return source.parent.parent if source.parent.name == SETTINGS_FILE.parent.name else source.parent


def _resolve(path: Path, start: Path) -> Path:
    """An absolute path. Raises SettingsError for one that no system call would take."""
    if "\0" in str(path):
        raise SettingsError(f"{str(path)!r} is not a path: it holds a zero byte")
    try:
        return (start / path.expanduser()).absolute()
    except RuntimeError as error:
        raise SettingsError(f"{path}: nobody's home folder", hint="Write the path without `~`.") from error


def shown_path(path: Path, start: Path) -> str:
    """The shortest way to name a path to someone who stands in `start`."""
    absolute, here = path.absolute(), start.absolute()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)
