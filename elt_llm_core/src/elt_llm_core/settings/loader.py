"""Load settings: find and read the YAML file, apply the environment, validate, and report the line of each mistake."""

import json
import textwrap
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from elt_llm_core.errors import SettingsError, UsageError
from elt_llm_core.settings.tree import FORMER_QUERY_KEYS, Settings
from elt_llm_core.settings.workspace import DSN_VARIABLE, Workspace
from elt_llm_core.utilities import FAILPOINT_VARIABLE, nearest_name

Model = TypeVar("Model", bound=BaseModel)

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class YamlDocument:
    """A mapping read from a YAML file. `origins` has the file and line of each key: ("llm", "model") -> "a.yaml:7"."""

    value: dict[str, Any]
    origins: dict[Location, str]


def read_yaml(path: Path, shown_as: str) -> YamlDocument:
    """Read a YAML file that contains a mapping or is empty. Tags that build Python objects are refused.

    Raises SettingsError if the file cannot be read, is not UTF-8, YAML or a mapping, or contains a key twice. The
    message starts with `shown_as` and, if known, the line.
    """
    loader = yaml.SafeLoader(_read_text(path, shown_as))
    try:
        node = loader.get_single_node()
        if node is None or (isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")):
            return YamlDocument({}, {})
        if not isinstance(node, yaml.MappingNode):
            raise SettingsError(
                f"{shown_as}:{_line_number(node)}: the file must contain keys and values, such as `query:`"
            )
        origins = {location: f"{shown_as}:{line}" for location, line in _positions(node, (), shown_as)}
        return YamlDocument(loader.construct_document(node), origins)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SettingsError(
            f"{shown_as}:{mark.line + 1 if mark else 1}: the file is not valid YAML: {error.problem}"
        ) from error
    except (ValueError, LookupError, AttributeError) as error:  # a value that does not fit its tag
        raise SettingsError(f"{shown_as}: a value cannot be read: {error}") from error
    except RecursionError as error:
        raise SettingsError(f"{shown_as}: the file is nested too deeply, or a value refers to itself") from error


def _read_text(path: Path, shown_as: str) -> str:
    if path.exists() and not path.is_file():  # reading a device or a pipe might never end
        raise SettingsError(f"{shown_as}: the path is not a regular file")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{shown_as}: the file cannot be read: {error.strerror}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{shown_as}:{line}: the file is not UTF-8", hint="Save the file as UTF-8.") from error
    # The parser also refuses unprintable characters, but does not report their line.
    if match := yaml.reader.Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise SettingsError(f"{shown_as}:{line}: the character {match.group()!r} is not allowed in YAML")
    return text


def _positions(node: yaml.Node, location: Location, shown_as: str) -> Iterator[tuple[Location, int]]:
    """Yield each key's or list item's location and line: ("llm", "model"), 7. Raises SettingsError for duplicates."""
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*location, number), _line_number(item)
            yield from _positions(item, (*location, number), shown_as)
    elif isinstance(node, yaml.MappingNode):
        first_lines: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), _line_number(key)
            if name in first_lines:
                raise SettingsError(
                    f"{shown_as}:{line}: the key {name!r} is given twice, first in line {first_lines[name]}"
                )
            first_lines[name] = line
            yield (*location, name), line
            yield from _positions(value, (*location, name), shown_as)


def _line_number(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


_MAX_SHOWN = 20  # mistakes in one message

_NAMES: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    type(None): "null",
}


def validate_model(
    model: type[Model], value: Mapping[str, Any], origins: Mapping[Location, str], shown_as: str
) -> Model:
    """Validate a mapping against a pydantic model, without conversions: the text "8" is not a number.

    A section whose value is null gets its defaults. `origins` contains the file and line of each key; `shown_as` is
    used for keys that have none, such as missing keys. Raises SettingsError, which lists the first mistakes, one per
    line, and the number of further mistakes.
    """
    fields = model.model_fields
    sections = {key for key, field in fields.items() if section_model(field.annotation) is not None}
    content = {key: item for key, item in value.items() if item is not None or key not in sections}
    try:
        return model.model_validate_json(json.dumps(content, default=str), strict=True)
    except ValidationError as error:
        details = error.errors(include_url=False)
        mistakes = [_mistake(detail, model, origins, shown_as) for detail in details[:_MAX_SHOWN]]
        if len(details) > _MAX_SHOWN:
            mistakes.append(f"{shown_as}: and {len(details) - _MAX_SHOWN:,} more mistakes")
        raise SettingsError("\n".join(mistakes)) from error


def describe_allowed(field: FieldInfo) -> str:
    """Describe the values that a field accepts: `a whole number from 1 to 1000`, `one of dense, sparse`."""
    return _describe(field.annotation, field.metadata)


def section_model(annotation: object) -> type[BaseModel] | None:
    """Return the pydantic model in a type annotation such as `Model | None`, or None if it contains no model."""
    choices = get_args(annotation) if get_origin(annotation) in {Union, types.UnionType} else (annotation,)
    return next((item for item in choices if isinstance(item, type) and issubclass(item, BaseModel)), None)


def _mistake(detail: ErrorDetails, model: type[BaseModel], origins: Mapping[Location, str], shown_as: str) -> str:
    location: Location = detail["loc"]
    if location[-1:] == ("[key]",) and detail["type"] != "extra_forbidden":
        location = location[:-1]  # pydantic appends "[key]" if the key itself is wrong
    prefixes = (location[:end] for end in range(len(location), 0, -1))
    where = next((origins[prefix] for prefix in prefixes if prefix in origins), shown_as)
    name = ".".join(str(part) for part in location)
    key = name if name.isprintable() else repr(name)
    if detail["type"] == "missing":
        return f"{where}: {key} is missing"
    value = textwrap.shorten(json.dumps(detail["input"], ensure_ascii=False, default=str), 80, placeholder=" ...")
    return f"{where}: {key} = {value}: {_reason(detail, model, location)}"


def _reason(detail: ErrorDetails, model: type[BaseModel], location: Location) -> str:
    if detail["type"] == "extra_forbidden":
        return _unknown_key(model, location)
    field, _ = _at(model, location)
    if detail["type"] in {"value_error", "assertion_error"} or field is None:
        return detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if get_origin(field.annotation) is dict and detail["type"] != "dict_type":
        # A name or value within the mapping is wrong, but the field describes only the whole mapping.
        return "must be a list" if detail["type"] in {"list_type", "tuple_type"} else detail["msg"]
    allowed = _describe(field.annotation, field.metadata)
    if detail["type"] == "string_pattern_mismatch":
        allowed += f" of the form {detail['ctx']['pattern']}"
    meant = nearest_name(str(detail["input"]), _choices(field.annotation))
    return f"must be {allowed}" + (f"; did you mean {meant}?" if meant else "")


def _unknown_key(model: type[BaseModel], location: Location) -> str:
    *sections, key = map(str, location)
    siblings = list((_at(model, location[:-1])[1] or model).model_fields)
    close = nearest_name(key, siblings) or next((it for it in siblings if it.endswith(f"_{key}")), None)
    if close:
        return f"unknown key; did you mean {'.'.join([*sections, close])}?"
    for name, info in model.model_fields.items():
        section = section_model(info.annotation)
        if section is not None and (close := nearest_name(key, list(section.model_fields))):
            return f"unknown key; did you mean {name}.{close}?"
    return f"unknown key; known are {', '.join(siblings)}"


def _at(model: type[BaseModel], location: Location) -> tuple[FieldInfo | None, type[BaseModel] | None]:
    """Return the field at an error's location such as ("llm", "model"), and, for a section, the model of its keys."""
    field: FieldInfo | None = None
    current: type[BaseModel] | None = model
    for part in location:
        if field is not None and get_origin(field.annotation) is dict and part not in (current or model).model_fields:
            continue  # the name of an entry of a mapping
        if isinstance(part, str) and current is not None:
            field = current.model_fields.get(part)
            current = _nested_model(field.annotation) if field else None
    return field, current


def _nested_model(annotation: object) -> type[BaseModel] | None:
    """Return the pydantic model in an annotation such as `Model | None` or `list[Model]`, or None if there is none."""
    return section_model(annotation) or next(filter(None, map(_nested_model, get_args(annotation))), None)


def _describe(annotation: object, metadata: Sequence[object] = ()) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        choices = ", ".join(json.dumps(item) if not isinstance(item, str) else item for item in arguments)
        return f"one of {choices}" if len(arguments) > 1 else choices
    if origin in {Union, types.UnionType}:
        return " or ".join(_describe(item, metadata if item is not type(None) else ()) for item in arguments)
    if origin in {tuple, list, Sequence, frozenset}:
        return f"a list, each item {_describe(arguments[0])}"
    if origin is dict or section_model(annotation) is not None:
        return "keys and values"
    return _NAMES.get(annotation, "another value") + _bounds(metadata)


def _bounds(metadata: Sequence[object]) -> str:
    """Describe the range of a number, such as ` from 1 to 1000` or ` above 0`, or return "" if it has no bounds."""
    names = ("ge", "gt", "le", "lt")
    limits = {name: getattr(item, name) for item in metadata for name in names if hasattr(item, name)}
    least, most = limits.get("ge"), limits.get("le")
    words = "" if least is None else f" from {least:g}" if most is not None else f", {least:g} or more"
    words += f" above {limits['gt']:g}" if "gt" in limits else ""
    words += "" if most is None else f" to {most:g}" if least is not None else f", at most {most:g}"
    return words + (f" below {limits['lt']:g}" if "lt" in limits else "")


def _choices(annotation: object) -> list[str]:
    if get_origin(annotation) is Literal:
        return [str(choice) for choice in get_args(annotation)]
    return [choice for item in get_args(annotation) for choice in _choices(item)]


SETTINGS_FILE = Path("config") / "rag_config.yaml"
DATA_DIR_VARIABLE = "ELT_LLM_DATA_DIR"
_PREFIX = "ELT_LLM_"
# The vector database's key is not a setting, so that no file or page can show it.
INDEX_KEY_VARIABLE, INDEX_KEY_FILE_VARIABLE = "ELT_LLM_INDEX__API_KEY", "ELT_LLM_INDEX__API_KEY_FILE"
_OTHER_VARIABLES = (
    DATA_DIR_VARIABLE,
    FAILPOINT_VARIABLE,
    INDEX_KEY_VARIABLE,
    INDEX_KEY_FILE_VARIABLE,
    DSN_VARIABLE,
    "ELT_LLM_DATASETS",
    "ELT_LLM_SERVE_TOKEN",
)


@dataclass(frozen=True)
class LoadedSettings:
    """The effective settings, and the file, folders and variables from which they were determined."""

    settings: Settings
    source: Path | None
    """The file from which the settings were read, or None if only defaults apply."""
    data_dir: Path
    """The absolute path of the data directory, which need not exist yet."""
    project: Path
    """The folder that contains `config/`, or else the working directory. Relative paths in settings start here."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The ELT_LLM variables that were applied. They are kept to apply them again when the settings are reloaded."""
    working_directory: Path = field(default=Path(), repr=False, compare=False)

    @property
    def workspace(self) -> Workspace:
        """The workspace: the data directory, and the database for documents and state."""
        storage = self.settings.storage
        return Workspace(self.data_dir, storage.backend, storage.dsn_file)

    @property
    def config_dir(self) -> Path:
        """The folder for profiles, jobs and prompts, which need not exist."""
        return self.source.parent if self.source else self.project / SETTINGS_FILE.parent


def load_settings(
    config: str | Path | None, environment: Mapping[str, str], working_directory: str | Path
) -> LoadedSettings:
    """Load the settings from the file `config`. If it is None, load the nearest `config/rag_config.yaml`, if any.

    The nearest file is in the working directory or a folder above it. `ELT_LLM_<SECTION>__<KEY>` in the environment
    overrides one value, and `ELT_LLM_DATA_DIR` the data directory. Raises SettingsError, which names the file and line,
    or the variable, of each mistake.
    """
    here = working_directory = Path(working_directory).absolute()
    nearest = (folder / SETTINGS_FILE for folder in (here, *here.parents))
    source = _resolve(Path(config), here) if config else next((path for path in nearest if path.is_file()), None)
    shown_as = shown_path(source, working_directory) if source else "built-in settings"
    document = read_yaml(source, shown_as) if source else YamlDocument({}, {})
    variables = {
        name: text for name, text in environment.items() if name.startswith(_PREFIX) and name not in _OTHER_VARIABLES
    }
    settings = _with_environment(document, variables, shown_as)
    project = here
    if source:
        project = source.parent.parent if source.parent.name == SETTINGS_FILE.parent.name else source.parent
    if environment.get(DATA_DIR_VARIABLE):
        data_dir = _resolve(Path(environment[DATA_DIR_VARIABLE]), working_directory)
    else:
        start = working_directory if "ELT_LLM_STORAGE__DATA_DIR" in environment else project
        data_dir = _resolve(settings.storage.data_dir or project / ".elt_llm", start)
    for name, path in (("models_dir", settings.storage.models_dir), ("dsn_file", settings.storage.dsn_file)):
        if path is not None:
            start = working_directory if f"ELT_LLM_STORAGE__{name.upper()}" in environment else project
            storage = settings.storage.model_copy(update={name: _resolve(path, start)})
            settings = settings.model_copy(update={"storage": storage})
    if DATA_DIR_VARIABLE in environment:
        variables[DATA_DIR_VARIABLE] = environment[DATA_DIR_VARIABLE]
    return LoadedSettings(settings, source, data_dir, project, variables, here)


def read_model(path: Path, model: type[Model], shown_from: Path) -> Model:
    """Read a YAML file as a pydantic model. Raises SettingsError, which shows the path relative to `shown_from`."""
    shown_as = shown_path(path, shown_from)
    document = read_yaml(path, shown_as)
    return validate_model(model, document.value, document.origins, shown_as)


def _with_environment(document: YamlDocument, variables: Mapping[str, str], shown_as: str) -> Settings:
    """Validate the file and the environment together, so that one message lists the mistakes in both."""
    value = {key: dict(part) if isinstance(part, Mapping) else part for key, part in document.value.items()}
    origins = dict(document.origins)
    mistakes: list[str] = []
    for variable, text in sorted(variables.items()):
        try:
            section, key, override = _override(variable, text)
        except SettingsError as error:
            mistakes.append(str(error))
            continue
        if isinstance(value.setdefault(section, {}) or {}, Mapping):
            former = FORMER_QUERY_KEYS.get(key)
            value[section] = {name: item for name, item in (value[section] or {}).items() if name != former}
            value[section][key] = override
            origins[section, key] = f"environment variable {variable}"
    try:
        settings = validate_model(Settings, value, origins, shown_as)
    except SettingsError as error:
        raise SettingsError("\n".join([str(error), *mistakes])) from error
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    return settings


def _override(variable: str, text: str) -> tuple[str, str, object]:
    """Return the section, key and value (parsed as YAML) that an environment variable sets, or raise SettingsError."""
    # Keys are also accepted under their former names.
    known = {
        f"{_PREFIX}{name}__{spelling}".upper(): (name, key, field)
        for name, info in Settings.model_fields.items()
        if (section := section_model(info.annotation))
        for key, field in section.model_fields.items()
        for spelling in (key, FORMER_QUERY_KEYS.get(key))
        if spelling
    }
    if variable not in known:
        names = [name.removeprefix(_PREFIX) for name in (*known, *_OTHER_VARIABLES)]
        wrong = variable.removeprefix(_PREFIX)
        start, _, end = wrong.partition("__")
        longer = (it for it in names if end and it.startswith(f"{start}__") and it.endswith(f"_{end}"))
        meant = next(longer, None) or nearest_name(wrong, names)
        if meant and (place := known.get(f"{_PREFIX}{meant}")):
            meant = f"{place[0]}__{place[1]}".upper()  # the current name, if a former one is the nearest
        advice = f"did you mean {_PREFIX}{meant}?" if meant else f"the form is {_PREFIX}<SECTION>__<KEY>"
        raise SettingsError(f"environment variable {variable} does not match any setting; {advice}")
    section_name, key, field = known[variable]
    allowed = describe_allowed(field)
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise SettingsError(f"environment variable {variable} = {text!r}: must be {allowed}") from error
    # Text settings are not parsed, because YAML would read the language code `no` as false.
    takes_text = allowed.startswith(("text", "a path", "one of"))
    return section_name, key, text if takes_text and value is not None else value


def _resolve(path: Path, start: Path) -> Path:
    """Return the absolute path. Raises SettingsError if the home folder for `~` is unknown."""
    try:
        return (start / path.expanduser()).absolute()
    except RuntimeError as error:
        raise SettingsError(f"{path}: the home folder is unknown", hint="Write the path without `~`.") from error


def shown_path(path: Path, start: Path) -> str:
    """Return the path relative to the folder `start` if it is inside this folder, else the absolute path."""
    absolute, here = path.absolute(), start.absolute()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)


def find_yaml_file(given: str, folder: Path, working_directory: Path) -> Path:
    """Return the job file that `given` names: NAME.yaml in `folder`, or a path. Raises UsageError if there is none."""
    named = folder / f"{given}.yaml"
    if Path(given).name == given and named.is_file():
        return named
    path = working_directory / given
    if path.exists():
        return path
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    meant = nearest_name(given, known)
    known_jobs = f"Jobs in {folder}: {', '.join(known)}." if known else f"There are no jobs in {folder}."
    raise UsageError(f"There is no job {given!r}.", hint=f"Did you mean {meant}?" if meant else known_jobs)
