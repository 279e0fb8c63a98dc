"""Reads a YAML file and remembers on which line each key stands, so that mistakes can be shown where they are."""

import errno
import math
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from elt_llm_core.errors import SettingsError

# Far more than any settings need; a few lines of aliases to aliases can stand for billions.
_MOST_VALUES = 100_000
_MOST_BYTES = 1_000_000

# A number with this many characters is none; one of half a million parts, as in 1:1:1, takes minutes to work out.
_LONGEST_NUMBER = 40
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LARGEST_INTEGER = 2**63 - 1
# What the library raises for values that are not what their tags say, such as `!!bool x`.
_UNREADABLE = (ValueError, OverflowError, LookupError, AttributeError)
_PLAIN = (dict, list, str, int, float, date, type(None))
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

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
        value = loader.construct_document(node)
        _refuse_what_no_setting_is(value)
        return YamlDocument(value, origins)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SettingsError(f"{shown_as}:{mark.line + 1 if mark else 1}: not valid YAML: {error.problem}") from error
    except _UNREADABLE as error:
        raise SettingsError(f"{shown_as}: a value cannot be read: {_shown(error)}") from error
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
    _refuse_long_number(node, shown_as)
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
            _refuse_long_number(key, shown_as)
            first_lines[name] = _line(key)
            yield (*location, name), _line(key)
            yield from _positions(value, (*location, name), inside, shown_as)


def _refuse_long_number(node: yaml.Node, shown_as: str) -> None:
    if node.tag in _NUMBERS and isinstance(node, yaml.ScalarNode) and len(node.value) > _LONGEST_NUMBER:
        raise SettingsError(f"{shown_as}:{_line(node)}: a number of {len(node.value):,} characters")


def _refuse_what_no_setting_is(value: object) -> None:
    """Raises ValueError for anything that no settings, no store and no JSON could hold, here or within."""
    if not isinstance(value, _PLAIN):
        raise ValueError(f"it is of a kind that no setting is ({type(value).__name__})")
    if isinstance(value, str) and _LONE_SURROGATE.search(value):
        raise ValueError("it holds half a surrogate pair")
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        raise ValueError("it is a number of more than 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number to reckon with")
    if isinstance(value, dict | list):
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            _refuse_what_no_setting_is(inner)


def _shown(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError | OverflowError) else "it is not what its tag says"


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
