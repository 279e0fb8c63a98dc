"""Puts results and errors on the terminal: text for people, or one JSON document for programs."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from elt_llm_core.errors import EltError

_CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def print_json(value: Any) -> None:
    """One JSON document on stdout; characters the terminal's encoding lacks are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2, allow_nan=False)
    click.echo(text)


def print_error(error: "EltError", *, as_json: bool) -> None:
    """What went wrong and what mends it: on stderr, or as `{"error": {...}}` on stdout."""
    if as_json:
        print_json({"error": {"type": type(error).__name__, "message": str(error), "hint": error.hint}})
        return
    click.echo(f"{click.style('Error:', fg='red')} {plain(str(error))}", err=True)
    if error.hint:
        click.echo(plain(error.hint), err=True)


def plain(text: str) -> str:
    """The text without control characters, so that a document cannot steer the terminal that shows it."""
    return text.translate(_CONTROL)


def counted(number: int, one: str) -> str:
    """The number with its noun, such as `1 passage` and `2 passages`."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def local_time(moment: str | None) -> str:
    """A stored moment as people here read it, to the minute; `-` if there is none."""
    if not moment:
        return "-"
    from datetime import datetime

    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def aligned(rows: Sequence[Sequence[str]], gap: str = "  ") -> list[str]:
    """Rows as lines with their columns aligned; the last column is not padded."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    widths[-1] = 0
    return [gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
