"""Write settings and profiles as commented YAML, generated from the pydantic models that validate them."""

import json
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from elt_llm_core.settings.loader import describe_allowed, section_model
from elt_llm_core.settings.tree import Profile, Settings

_HEADER = """\
# All keys with their defaults. `# ` starts an explanation, `#` alone a key with its default: remove the `#` and change
# the value. ELT_LLM_<SECTION>__<KEY> in the environment overrides a key.
"""
_WIDTH = 110  # characters


def settings_as_yaml(given: Mapping[str, Mapping[str, Any]]) -> str:
    """Return all settings as YAML. Keys are commented out, except those with a value given[section][key]."""
    parts = [_HEADER]
    for name, field in Settings.model_fields.items():
        section = section_model(field.annotation)
        if section is not None:
            lines = _key_lines(section, given.get(name, {}))
            parts.append("\n".join([f"# {section.__doc__}", f"{name}:", *lines, ""]))
    return "\n".join(parts)


def profile_as_yaml(profile: Profile) -> str:
    """Return the keys of a profile as YAML, each with an explanation."""
    lines = [f"# {_single_line(profile.description)}", "", _key_value_line("description", profile.description)]
    for key, example in (("collections", "my-documents"), ("collection_prefixes", "my-")):
        named = list(getattr(profile, key))
        lines += [
            "",
            *_comment_lines(Profile, key, ""),
            _key_value_line(key, named) if named else f"#{_key_value_line(key, [example])}",
        ]
    for name in ("query", "answer", "llm", *(["prompt"] if profile.prompt else [])):
        section: BaseModel | None = getattr(profile, name)
        given = section.model_dump(mode="json", exclude_unset=True) if section else {}
        lines += ["", *_comment_lines(Profile, name, "")]
        lines += [f"{name}:", *_key_lines(type(section), given, others=False)] if section else [f"#{name}: {{}}"]
    return "\n".join([*lines, ""])


def _single_line(text: str) -> str:
    """Return the text on one line for a comment, without unprintable characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def model_as_yaml(model: type[BaseModel], given: Mapping[str, Any], leave_out: Collection[str] = ()) -> str:
    """Return every key of a model as YAML with an explanation.

    Keys in `given`, which may be nested, get their values, and other keys are commented out. Keys in `leave_out` are
    omitted.
    """
    lines = [f"# {_single_line(str(given['description']))}"]
    for key, field in model.model_fields.items():
        if key in leave_out:
            continue
        lines += ["", *_comment_lines(model, key, "")]
        section = section_model(field.annotation)
        if key in given and section is not None:
            lines += [f"{key}:", *_key_lines(section, given[key])]
        elif key in given:
            lines.append(_key_value_line(key, given[key]))
        else:
            lines.append(f"#{_key_value_line(key, to_jsonable_python(field.get_default(call_default_factory=True)))}")
    return "\n".join([*lines, ""])


def _key_lines(section: type[BaseModel], given: Mapping[str, Any], *, others: bool = True) -> Iterator[str]:
    """Yield the given keys of a section with explanations. With `others`, also yield the other keys, commented out."""
    defaults = section().model_dump(mode="json")
    for key in section.model_fields if others else given:
        yield from _comment_lines(section, key, "  ")
        yield f"  {_key_value_line(key, given[key])}" if key in given else f"  #{_key_value_line(key, defaults[key])}"


def _comment_lines(model: type[BaseModel], key: str, indent: str) -> list[str]:
    """Return a field's description and allowed values as YAML comment lines, indented by `indent`."""
    field = model.model_fields[key]
    known = "" if section_model(field.annotation) else f" Allowed: {describe_allowed(field)}."
    start = f"{indent}# "
    return textwrap.wrap(f"{field.description}{known}", _WIDTH, initial_indent=start, subsequent_indent=start)


def _key_value_line(key: str, value: object) -> str:
    """Return a key and its value on one line. A value that is not a plain word is written as JSON."""
    is_word = isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w. -]*", value) and yaml.safe_load(value) == value
    if is_word:
        return f"{key}: {value}"
    # YAML refuses unprintable characters or reads them as line ends.
    text = json.dumps(value, ensure_ascii=False)
    return f"{key}: {''.join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)}"
