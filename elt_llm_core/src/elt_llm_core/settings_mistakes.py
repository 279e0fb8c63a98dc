"""Turns what pydantic found wrong into sentences: where, which key, which value, what is allowed instead."""

import difflib
import json
import textwrap
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from elt_llm_core.errors import SettingsError
from elt_llm_core.yaml_document import Location

Model = TypeVar("Model", bound=BaseModel)

_MOST_SHOWN = 20

_NAMES: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    type(None): "null",
}


def validated(model: type[Model], value: Mapping[str, Any], origins: Mapping[Location, str], shown_as: str) -> Model:
    """The value as a model, nothing converted: "8" is no number. Sections given as null have their defaults.

    Raises SettingsError that lists the first mistakes, each on a line of its own, and counts the others. `origins`
    says where each key was given; `shown_as` stands for what was given nowhere, such as a key that is missing.
    """
    given = {key: item for key, item in value.items() if not (item is None and _is_section(model, key))}
    try:
        return model.model_validate_json(json.dumps(given, default=str), strict=True)
    except ValidationError as error:
        details = error.errors(include_url=False)
        mistakes = [_sentence(detail, model, origins, shown_as) for detail in details[:_MOST_SHOWN]]
        if len(details) > _MOST_SHOWN:
            mistakes.append(f"{shown_as}: and {len(details) - _MOST_SHOWN:,} more mistakes")
        raise SettingsError("\n".join(mistakes)) from error


def describe_allowed(field: FieldInfo) -> str:
    """What a field accepts, in words: `a whole number from 1 to 1000`, `one of dense, sparse, hybrid`."""
    return _describe(field.annotation, field.metadata)


def section_of(annotation: object) -> type[BaseModel] | None:
    """The model behind an annotation, optional or not; none if it is a plain value."""
    choices = get_args(annotation) if get_origin(annotation) in {Union, types.UnionType} else (annotation,)
    return next((item for item in choices if isinstance(item, type) and issubclass(item, BaseModel)), None)


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that is most like `name`, if any is like it at all."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return found[0] if found else None


def _is_section(model: type[BaseModel], key: str) -> bool:
    field = model.model_fields.get(key)
    return field is not None and section_of(field.annotation) is not None


def _sentence(detail: ErrorDetails, model: type[BaseModel], origins: Mapping[Location, str], shown_as: str) -> str:
    location: Location = tuple(part for part in detail["loc"] if part != "[key]")
    where = next(
        (origins[location[:end]] for end in range(len(location), 0, -1) if location[:end] in origins), shown_as
    )
    name = ".".join(str(part) for part in location)
    key = name if name.isprintable() else repr(name)
    if detail["type"] == "missing":
        return f"{where}: {key} is missing"
    value = textwrap.shorten(json.dumps(detail["input"], ensure_ascii=False, default=str), 80, placeholder=" ...")
    return f"{where}: {key} = {value}: {_reason(detail, model, location)}"


def _reason(detail: ErrorDetails, model: type[BaseModel], location: Location) -> str:
    if detail["type"] == "extra_forbidden":
        return _unknown_key(model, location)
    field = _field_at(model, location)
    if detail["type"] in {"value_error", "assertion_error"} or field is None:
        return detail["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if get_origin(field.annotation) is dict and detail["type"] != "dict_type":
        # Of one of its names or values, which the field does not tell of.
        return "must be a list" if detail["type"] == "list_type" else detail["msg"]
    allowed = _describe(field.annotation, field.metadata)
    meant = nearest(str(detail["input"]), [str(choice) for choice in _choices(field.annotation)])
    return f"must be {allowed}" + (f"; did you mean {meant}?" if meant else "")


def _unknown_key(model: type[BaseModel], location: Location) -> str:
    parent = _model_at(model, location[:-1]) or model
    prefix = "".join(f"{part}." for part in location[:-1])
    siblings = list(parent.model_fields)
    key = str(location[-1])
    meant = prefix + close if (close := nearest(key, siblings)) else _elsewhere(model, key)
    return f"unknown key; did you mean {meant}?" if meant else f"unknown key; known are {', '.join(siblings)}"


def _elsewhere(model: type[BaseModel], key: str) -> str | None:
    """The full name of a key that stands in another section than the one where it was given."""
    for name, field in model.model_fields.items():
        section = section_of(field.annotation)
        if section is not None and (close := nearest(key, list(section.model_fields))):
            return f"{name}.{close}"
    return None


def _field_at(model: type[BaseModel], location: Location) -> FieldInfo | None:
    """The field whose value a location is, or is an item of."""
    field: FieldInfo | None = None
    current: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, str) and current is not None:
            field = current.model_fields.get(part)
            current = _inner_model(field.annotation) if field else None
    return field


def _model_at(model: type[BaseModel], location: Location) -> type[BaseModel] | None:
    if not location:
        return model
    field = _field_at(model, location)
    return _inner_model(field.annotation) if field else None


def _inner_model(annotation: object) -> type[BaseModel] | None:
    """The model in an annotation, also that of a list's or tuple's items."""
    return section_of(annotation) or next(
        (found for item in get_args(annotation) if (found := _inner_model(item))), None
    )


def _describe(annotation: object, metadata: Sequence[object] = ()) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        choices = ", ".join(json.dumps(item) if not isinstance(item, str) else item for item in arguments)
        return f"one of {choices}" if len(arguments) > 1 else choices
    if origin in {Union, types.UnionType}:
        return " or ".join(_describe(item, metadata if item is not type(None) else ()) for item in arguments)
    if origin in {tuple, list, Sequence, frozenset}:
        return f"a list, each item {_describe(arguments[0])}"
    if origin is dict or section_of(annotation) is not None:
        return "keys and values"
    return _NAMES.get(annotation, "another value") + "".join(_bounds(metadata))


def _bounds(metadata: Sequence[object]) -> Iterator[str]:
    """` from 1 to 1000`, ` above 0`, in the order the field gives them."""
    least = next((item.ge for item in metadata if isinstance(item, annotated_types.Ge)), None)
    most = next((item.le for item in metadata if isinstance(item, annotated_types.Le)), None)
    above = next((item.gt for item in metadata if isinstance(item, annotated_types.Gt)), None)
    below = next((item.lt for item in metadata if isinstance(item, annotated_types.Lt)), None)
    if least is not None:
        yield f" from {least:g}" if most is not None else f", {least:g} or more"
    if above is not None:
        yield f" above {above:g}"
    if most is not None:
        yield f" to {most:g}" if least is not None else f", at most {most:g}"
    if below is not None:
        yield f" below {below:g}"


def _choices(annotation: object) -> Iterator[object]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        for item in get_args(annotation):
            yield from _choices(item)
