"""Read a YAML file and record the line of each key, so that messages can point at mistakes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from elt_llm_core.errors import SettingsError

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class YamlDocument:
    """A mapping read from a file. `origins` gives the file and line of each key and numbered list item."""

    value: dict[str, Any]
    origins: dict[Location, str]


def read_yaml(path: Path, shown_as: str) -> YamlDocument:
    """Read the mapping in a file. An empty file is an empty mapping. Tags that build Python objects are refused.

    Raises SettingsError if the file cannot be read, is not UTF-8, not YAML or not a mapping, or contains a key twice.
    The message starts with `shown_as` and the line.
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
    # The parser refuses unprintable characters too, but does not report their line.
    if match := yaml.reader.Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise SettingsError(f"{shown_as}:{line}: the character {match.group()!r} is not allowed in YAML")
    return text


def _positions(node: yaml.Node, location: Location, shown_as: str) -> Iterator[tuple[Location, int]]:
    """Yield the location and line of every key and list item. Raises SettingsError for a duplicate key."""
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
