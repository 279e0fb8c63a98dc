"""Writes settings and profiles as commented YAML, from the very fields that are checked when they are read back."""

import json
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from elt_llm_core.settings import Profile, Settings
from elt_llm_core.settings_mistakes import describe_allowed, section_of

_HEADER = """\
# Every key there is, with its default. `# ` begins an explanation, `#` alone a key that has its default:
# remove it and change the value. Each may also be set as ELT_LLM_<SECTION>__<KEY> in the environment.
"""
_WIDTH = 110


def settings_as_yaml(given: Mapping[str, Mapping[str, Any]]) -> str:
    """Every section and key of the settings, commented out but for those `given` as section -> key -> value."""
    parts = [_HEADER]
    for name, field in Settings.model_fields.items():
        section = section_of(field.annotation)
        if section is not None:
            lines = _key_lines(section, given.get(name, {}))
            parts.append("\n".join([f"# {section.__doc__}", f"{name}:", *lines, ""]))
    return "\n".join(parts)


def profile_as_yaml(profile: Profile) -> str:
    """What a profile names, with each key explained."""
    lines = [f"# {_on_one_line(profile.description)}", "", _pair("description", profile.description)]
    for key, example in (("collections", "my-documents"), ("collection_prefixes", "my-")):
        named = list(getattr(profile, key))
        lines += ["", *_explained(Profile, key, ""), _pair(key, named) if named else f"#{_pair(key, [example])}"]
    for name in ("query", "answer", "llm"):
        section: BaseModel | None = getattr(profile, name)
        given = section.model_dump(mode="json", exclude_unset=True) if section else {}
        lines += ["", *_explained(Profile, name, "")]
        lines += [f"{name}:", *_given_lines(type(section), given)] if section else [f"#{name}: {{}}"]
    if profile.prompt is not None:
        given = profile.prompt.model_dump(mode="json", exclude_unset=True)
        lines += ["", *_explained(Profile, "prompt", ""), "prompt:", *_given_lines(type(profile.prompt), given)]
    return "\n".join([*lines, ""])


def _on_one_line(text: str) -> str:
    """For a comment: a line end in it would begin keys of its own, and what cannot be printed no reader takes."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def model_as_yaml(model: type[BaseModel], given: Mapping[str, Any], leave_out: Collection[str] = ()) -> str:
    """Every key of a file of its own, explained: those `given` with their values, the others as comments.

    Of a section that is given every key is explained likewise. Keys in `leave_out` are not named at all.
    """
    lines = [f"# {_on_one_line(str(given['description']))}"]
    for key, field in model.model_fields.items():
        if key in leave_out:
            continue
        lines += ["", *_explained(model, key, "")]
        section = section_of(field.annotation)
        if key in given and section is not None:
            lines += [f"{key}:", *_key_lines(section, given[key])]
        elif key in given:
            lines.append(_pair(key, given[key]))
        else:
            lines.append(f"#{_pair(key, to_jsonable_python(field.get_default(call_default_factory=True)))}")
    return "\n".join([*lines, ""])


def _key_lines(section: type[BaseModel], given: Mapping[str, Any]) -> Iterator[str]:
    defaults = section().model_dump(mode="json")
    for key in section.model_fields:
        yield from _explained(section, key, "  ")
        yield f"  {_pair(key, given[key])}" if key in given else f"  #{_pair(key, defaults[key])}"


def _given_lines(section: type[BaseModel], given: Mapping[str, Any]) -> Iterator[str]:
    for key, value in given.items():
        yield from _explained(section, key, "  ")
        yield f"  {_pair(key, value)}"


def _explained(model: type[BaseModel], key: str, indent: str) -> list[str]:
    """A field's description and what it accepts, as comment lines."""
    field = model.model_fields[key]
    known = "" if section_of(field.annotation) else f" Allowed: {describe_allowed(field)}."
    return textwrap.wrap(
        f"{field.description}{known}", _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
    )


def _pair(key: str, value: object) -> str:
    """One key and value on one line; JSON, which is YAML too, unless the value is a plain word."""
    is_word = isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w. -]*", value) and yaml.safe_load(value) == value
    return f"{key}: {value if is_word else _as_json(value)}"


def _as_json(value: object) -> str:
    """Letters as they are; what cannot be printed by its number, for YAML reads it as a line end or not at all."""
    written = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in written)
