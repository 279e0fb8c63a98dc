"""Details that no table is made for, by their names: so a stage that is new is shown as well."""

from collections.abc import Iterator, Mapping
from typing import Any

from elt_llm_api.explain.tables import Column, table_lines

_MOST = 12  # entries of a list or a mapping; all of them are in the JSON


def fact_lines(details: Mapping[str, Any], width: int) -> Iterator[str]:
    """One line or more for each detail that has a value."""
    rows = [(name, text) for name, value in details.items() if (text := _text(value))]
    if rows:
        yield from table_lines([Column("", "name"), Column("", "words")], rows, width)


def _text(value: Any) -> str:
    """Words for a value; empty if there is none."""
    if isinstance(value, Mapping):
        return _listed([f"{name}{text}" for name, inner in value.items() if (text := _told_of(inner))], len(value))
    if isinstance(value, list | tuple):
        return _listed([text for inner in value if (text := _scalar(inner))], len(value))
    return _scalar(value)


def _told_of(value: Any) -> str:
    """What a name in a mapping stands for: a figure, a text, or texts of which any may be."""
    if isinstance(value, list | tuple) and all(isinstance(inner, str) for inner in value):
        value = " or ".join(value)
    text = _scalar(value)
    return text and (f": {text}" if isinstance(value, str) else f" {text}")


def _listed(texts: list[str], of: int) -> str:
    more = of - len(texts[:_MOST])
    return ", ".join([*texts[:_MOST], *([f"{more} more in --json"] if more and texts else [])]) or (
        f"{of} in --json" if of else ""
    )


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
    return value if isinstance(value, str) else ""
