"""`elt-llm migrate-config`: convert the configuration of elt_llm_rag, and list the keys without an equivalent."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import yaml
from elt_llm_core.errors import SettingsError, UsageError
from pydantic import BaseModel

from elt_llm_api.cli.options import CommandContext, json_command
from elt_llm_api.display.text import one_line, print_result

_LISTS = frozenset(("sources.handbook", "sources.inventory", "paths", "collections"))


@dataclass
class MigratedFile:
    """A converted file: its new path, its content, and the keys that were renamed or have no equivalent."""

    source: str
    target: str
    content: dict[str, Any] = field(default_factory=dict)
    renamed: list[str] = field(default_factory=list)
    without_home: list[str] = field(default_factory=list)


@json_command
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option(
    "--to", "target", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder to write to."
)
def command(context: CommandContext, directory: Path, target: Path, as_json: bool) -> None:
    """Convert the configuration in DIR, with ingest files, jobs and profiles, into the folder `config`.

    Each key without an equivalent is listed with the reason. Existing files are never overwritten.
    """
    folder = context.working_directory / target
    converted = list(convert_directory(context.working_directory / directory))
    write_converted(converted, folder)
    print_result({"files": [vars(one) for one in converted]}, _conversion_lines(converted), as_json=as_json)


def _conversion_lines(converted: list[MigratedFile]) -> Iterator[str]:
    for one in converted:
        yield f"{one_line(one.source)} -> {one.target}"
        yield from (f"  renamed  {one_line(line)}" for line in one.renamed)
        yield from (f"  dropped  {one_line(line)}" for line in one.without_home)


def convert_directory(directory: Path) -> Iterator[MigratedFile]:
    """Yield each YAML file of a configuration, converted. Raises UsageError if no file exists or a file is not YAML."""
    if not directory.is_dir():
        raise UsageError(f"There is no folder {directory}.", hint="Give the folder with rag_config.yaml.")
    found = sorted(path for path in directory.rglob("*.y*ml") if path.suffix in (".yaml", ".yml"))
    if not found:
        raise UsageError(f"There are no YAML files in {directory}.", hint="Give the folder with rag_config.yaml.")
    for path in found:
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
            raise UsageError(f"{path} cannot be read as YAML: {error}", hint="Correct the file.") from error
        if isinstance(content, dict):
            yield _convert_file(path, str(path.relative_to(directory)), content)


def write_converted(converted: list[MigratedFile], folder: Path) -> None:
    """Write the files. Raises UsageError, and writes nothing, if one of them exists already."""
    if existing := [one.target for one in converted if (folder / one.target).exists()]:
        raise UsageError(
            f"Existing files are never overwritten: {', '.join(existing)}.", hint="Name another folder: --to"
        )
    for one in converted:
        path = folder / one.target
        path.parent.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(one.content, allow_unicode=True, sort_keys=False) if one.content else ""
        path.write_text(f"# Converted from {one.source} by elt-llm migrate-config.\n{text}", encoding="utf-8")


def _convert_file(path: Path, source: str, content: Mapping[str, Any]) -> MigratedFile:
    kind = _kind_of(source, content)
    target = "config/rag_config.yaml" if kind == "settings" else f"config/{_FOLDERS[kind]}/{path.stem}.yaml"
    made = MigratedFile(source, target)
    table = _table()[kind]
    model = _model_of(kind)
    for name, value in _leaves(content, model):
        _take(made, name, value, table, model)
    if kind == "consumer":
        made.content.setdefault("sources", {})
    if kind == "ingest" and "collection" not in made.content and "collection_prefix" not in made.content:
        made.content["collection"] = path.stem.lower().replace("_", "-")
        made.renamed.append(f"collection: {made.content['collection']} (from the name of the file)")
    return made


_FOLDERS = {"ingest": "ingest", "consumer": "consumer", "profile": "profiles"}


def _kind_of(source: str, content: Mapping[str, Any]) -> str:
    parts = {part.casefold() for part in Path(source).parts[:-1]}
    if "file_paths" in content or "paths" in content or "ingest" in parts or "ingestion" in parts:
        return "ingest"
    if "consumer" in parts or any(key in content for key in _table()["consumer"]["renamed"]):
        return "consumer"
    return "profile" if "collections" in content or "query" in parts or "profiles" in parts else "settings"


@cache
def _table() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(files(__package__).joinpath("migration.toml").read_text(encoding="utf-8"))


def _model_of(kind: str) -> type[BaseModel]:
    from elt_llm_consumer.jobs.job_file import ConsumerJob
    from elt_llm_core.settings.tree import Profile, Settings
    from elt_llm_ingest.jobs.job_file import IngestJob

    models: dict[str, type[BaseModel]] = {"ingest": IngestJob, "consumer": ConsumerJob, "profile": Profile}
    return models.get(kind, Settings)


def _leaves(content: Mapping[str, Any], model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value with its dotted key: `{"llm": {"model": "m"}}` -> `("llm.model", "m")`.

    A mapping that is not a section of the settings counts as one value.
    """
    from elt_llm_core.settings.loader import section_model

    for key, value in content.items():
        name = f"{prefix}{key}"
        annotation = model.model_fields[str(key)].annotation if str(key) in model.model_fields else None
        section = section_model(annotation) if annotation is not None else None
        if key == "preprocessor":
            yield name, value
        elif isinstance(value, Mapping) and (section is not None or (not prefix and annotation is None)):
            yield from _leaves(value, section or BaseModel, f"{name}.")
        else:
            yield name, value


def _take(
    made: MigratedFile, name: str, value: Any, table: Mapping[str, Mapping[str, str]], model: type[BaseModel]
) -> None:
    if name == "collections" and isinstance(value, list):  # formerly a list of mappings such as `{name: ...}`
        value = [str(one["name"]) if isinstance(one, Mapping) and "name" in one else one for one in value]
    readers, replaced = table.get("readers", {}), str(value).casefold() if name == "preprocessor" else ""
    reader = next((reader for word, reader in readers.items() if word in replaced), "")  # `replaced` contains the word
    new = "reader" if reader else table["renamed"].get(name, name)
    value = reader or ([value] if new in _LISTS and isinstance(value, str) else value)
    if name in table["without_home"] and not reader:
        made.without_home.append(f"{name}: {table['without_home'][name]}")
    elif problem := _problem(model, new, value):
        made.without_home.append(f"{name}: {problem}")
    else:
        place = made.content
        *sections, key = new.split(".")
        for section in sections:
            place = place.setdefault(section, {})
        place[key] = value
        if new != name:
            made.renamed.append(f"{name} -> {new}")


def _problem(model: type[BaseModel], name: str, value: object) -> str:
    """Return why this program does not accept a key with this value, or an empty text if it does."""
    from elt_llm_core.settings.loader import validate_model

    nested: Any = value
    for part in reversed(name.split(".")):
        nested = {part: nested}
    needed = {"paths": ["x"], "collection": "x"} if "paths" in model.model_fields else {}
    try:
        validate_model(model, {**needed, **nested}, {}, "")
    except SettingsError as error:
        return one_line(str(error).split("\n", 1)[0].lstrip(": "))
    return ""
