"""Reads a YAML file and remembers on which line each key stands, so that mistakes can be shown where they are."""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from elt_llm_core.errors import SettingsError

# Far more than any settings need; a few lines of aliases to aliases can stand for billions.
_MOST_VALUES = 100_000
_MOST_BYTES = 1_000_000

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class YamlDocument:
    """A mapping read from a file; `origins` names the file and line of each key, list items by position."""

    value: dict[str, Any]
    origins: dict[Location, str]


def read_yaml(path: Path, shown_as: str) -> YamlDocument:
    """The mapping in a file; an empty file is an empty mapping. Only plain YAML: no tags that build objects.

    Raises SettingsError, its message beginning with `shown_as` and the line, if the file cannot be read, is no regular
    file, holds more than 1 MB, is not UTF-8, not YAML, not a mapping, or gives a key twice.
    """
    text = _read_text(path, shown_as)
    _refuse_control_characters(text, shown_as)
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None or (isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")):
            return YamlDocument({}, {})
        if not isinstance(node, yaml.MappingNode):
            raise SettingsError(f"{shown_as}:{_line(node)}: must hold keys and values such as `query:`")
        origins: dict[Location, str] = {}
        for location, line in _positions(node, (), (), shown_as):
            if len(origins) == _MOST_VALUES:
                raise SettingsError(f"{shown_as}: more than {_MOST_VALUES:,} values, repeated ones counted")
            origins[location] = f"{shown_as}:{line}"
        return YamlDocument(loader.construct_document(node), origins)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SettingsError(f"{shown_as}:{mark.line + 1 if mark else 1}: not valid YAML: {error.problem}") from error
    except ValueError as error:
        raise SettingsError(f"{shown_as}: a value cannot be read: {error}") from error
    except RecursionError as error:
        raise SettingsError(f"{shown_as}: nested too deeply") from error


def _read_text(path: Path, shown_as: str) -> str:
    try:
        content = _read_bytes(path)
    except OSError as error:
        raise SettingsError(f"{shown_as}: cannot be read: {error.strerror}") from error
    if content is None:
        raise SettingsError(f"{shown_as}: not a file", hint="Name a YAML file.")
    if len(content) > _MOST_BYTES:
        raise SettingsError(f"{shown_as}: more than {_MOST_BYTES:,} bytes", hint="Is this the right file?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{shown_as}:{line}: not UTF-8", hint="Save the file as UTF-8.") from error


def _read_bytes(path: Path) -> bytes | None:
    """What a regular file holds, cut one byte after the most that is allowed; None for a device or a pipe."""
    # Opening a pipe would wait for somebody to write into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return stream.read(_MOST_BYTES + 1) if stat.S_ISREG(status.st_mode) else None


def _refuse_control_characters(text: str, shown_as: str) -> None:
    """The parser would refuse them too, but without telling the line."""
    if found := yaml.reader.Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise SettingsError(f"{shown_as}:{line}: the character {found.group()!r} is not allowed in YAML")


def _positions(
    node: yaml.Node, location: Location, above: tuple[yaml.Node, ...], shown_as: str
) -> Iterator[tuple[Location, int]]:
    """Every key and list item with its line, from 1; refuses a key given twice and a value that holds itself."""
    if node in above:
        raise SettingsError(f"{shown_as}:{_line(node)}: a value refers to itself")
    inside = (*above, node)
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*location, number), _line(item)
            yield from _positions(item, (*location, number), inside, shown_as)
    elif isinstance(node, yaml.MappingNode):
        first_lines: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value)
            if name in first_lines:
                raise SettingsError(
                    f"{shown_as}:{_line(key)}: {name!r} is given twice, first in line {first_lines[name]}"
                )
            first_lines[name] = _line(key)
            yield (*location, name), _line(key)
            yield from _positions(value, (*location, name), inside, shown_as)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
