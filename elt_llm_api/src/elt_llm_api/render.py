"""Puts results and errors on the terminal: text for people, or one JSON document for programs."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from elt_llm_core.errors import EltError

_CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}
# Marks that turn the direction of what follows: with them a name or a figure reads as another one.
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_SEPARATORS = {0x2028: " ", 0x2029: " "}
_HALVES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # of surrogate pairs: no terminal takes one
_STEERING = {**_CONTROL, **_TURNING, **_SEPARATORS, **_HALVES}
_LINE_ENDS = {ord("\n"): " ", ord("\t"): " "}
_WIDEST = 60  # characters; columns are aligned up to there
_ESCAPED_IN_JSON = {code: f"\\u{code:04x}" for code in (*range(127, 160), *_TURNING, *_SEPARATORS)}


def print_json(value: Any, indent: int | None = 2) -> None:
    """One JSON document on stdout, without `indent` on one line; what a terminal would obey, or lacks, is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False).translate(_ESCAPED_IN_JSON)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent, allow_nan=False)
    click.echo(text)


def print_error(error: "EltError", *, as_json: bool, color: bool | None = None) -> None:
    """What went wrong and what mends it: on stderr, or as `{"error": {...}}` on stdout.

    `color` is for stderr; None lets the terminal decide.
    """
    if as_json:
        print_json({"error": {"type": type(error).__name__, "message": str(error), "hint": error.hint}})
        return
    click.echo(f"{click.style('Error:', fg='red')} {plain(str(error))}", err=True, color=color)
    if error.hint:
        click.echo(plain(error.hint), err=True)


def plain(text: str) -> str:
    """The text without control characters, so that a document cannot steer the terminal that shows it."""
    return text.translate(_STEERING)


def one_line(text: str) -> str:
    """As `plain`, on one line: a name with a line end in it must not look like two lines of a report."""
    return plain(text).translate(_LINE_ENDS)


def shortened(text: str, width: int) -> str:
    """The text in at most `width` characters, its middle left out: of a path, both ends tell the most."""
    if len(text) <= width:
        return text
    end = (width - 3) * 2 // 3
    return f"{text[: width - 3 - end]}...{text[len(text) - end :]}"


def counted(number: int, one: str) -> str:
    """The number with its noun, such as `1 passage` and `2 passages`."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def named(names: Sequence[str], one: str) -> str:
    """The names where a line has room for them, else their number with the noun."""
    listed = ", ".join(names)
    return listed if len(names) == 1 or len(listed) <= _WIDEST else counted(len(names), one)


def local_time(moment: str | None) -> str:
    """A stored moment as people here read it, to the minute; `-` if there is none."""
    if not moment:
        return "-"
    from datetime import datetime

    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def aligned(rows: Sequence[Sequence[str]], gap: str = "  ") -> list[str]:
    """Rows as lines with their columns aligned; the last column is not padded, and no column for its longest cells."""
    if not rows:
        return []
    lengths = [[len(row[column]) for row in rows] for column in range(len(rows[0]))]
    widths = [max((length for length in column if length <= _WIDEST), default=0) for column in lengths]
    widths[-1] = 0
    return [gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
