"""Format text for a terminal: strip control characters, shorten, count, align, build tables; print JSON and errors."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from elt_llm_core.errors import EltError

STAGE_WORDS = {
    "read": ("Reading files", "file"),
    "enrich": ("Asking the language model", "call"),
    "embed": ("Embedding chunks", "chunk"),
    "index": ("Building the index", "chunk"),
    "ask": ("Asking questions", "question"),
    "gather": ("Gathering texts", "row"),
    "rows": ("Making rows", "row"),
}
"""For each stage of long work: its label, and the noun for the items that it counts."""
CONTROL_CODES = tuple(code for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in {0x09, 0x0A, 0x0D})
"""C0 and C1 control characters, except tabs and line ends."""
# Directional marks, embeddings, overrides and isolates, which change the direction of writing (CVE-2021-42574); line
# and paragraph separators; tags, which spell invisible words; the byte order mark and interlinear annotations.
INVISIBLE_CODES = (
    *(0x061C, 0x200E, 0x200F, 0xFEFF),
    *(*range(0x2028, 0x202F), *range(0x2066, 0x206A), *range(0xFFF9, 0xFFFC)),
)
TAG_CODES = tuple(range(0xE0000, 0xE0080))
SURROGATE_CODES = tuple(range(0xD800, 0xE000))
"""Surrogates: the halves of UTF-16 pairs, which UTF-8 cannot encode."""
_TERMINAL_TEXT = {
    **dict.fromkeys((*CONTROL_CODES, 0x0D, *INVISIBLE_CODES, *TAG_CODES)),
    **dict.fromkeys((0x2028, 0x2029), " "),
    **dict.fromkeys(SURROGATE_CODES, "\ufffd"),
}
_SPACES = {ord("\n"): " ", ord("\t"): " "}
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *INVISIBLE_CODES)}
_WIDEST = 60  # characters; columns are aligned up to this width


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print one JSON document to stdout, on one line if `indent` is None. Terminal control characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False).translate(_JSON_ESCAPES)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent, allow_nan=False)
    click.echo(text)


def print_result(value: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print one JSON document, or lines for people. The lines may be computed while they are printed."""
    if as_json:
        print_json(value)
        return
    for line in lines:
        click.echo(line)


def print_error(error: "EltError", *, as_json: bool, color: bool | None = None) -> None:
    """Print an error and its hint to stderr, or as `{"error": {...}}` to stdout.

    `color` is whether the text on stderr is coloured; None: only if stderr is a terminal.
    """
    if as_json:
        print_json(error_json(error))
        return
    click.echo(f"{click.style('Error:', fg='red')} {strip_control_characters(str(error))}", err=True, color=color)
    if error.hint:
        click.echo(strip_control_characters(error.hint), err=True)


def error_json(error: "EltError") -> dict[str, Any]:
    """Return an error as JSON: `{"error": {"type", "message", "hint"}}`."""
    return {"error": {"type": type(error).__name__, "message": str(error), "hint": error.hint}}


def strip_control_characters(text: str) -> str:
    """Remove control characters, so that a document cannot control the terminal that shows it."""
    return text.translate(_TERMINAL_TEXT)


def one_line(text: str) -> str:
    """Return the text without control characters and line ends, so that a file name cannot look like two lines."""
    return strip_control_characters(text).translate(_SPACES)


def shorten_middle(text: str, width: int) -> str:
    """Shorten the text to `width` characters by leaving out its middle, because both ends of a path are useful."""
    if len(text) <= width:
        return text
    end = (width - 3) * 2 // 3
    return f"{text[: width - 3 - end]}...{text[len(text) - end :]}"


def count_noun(number: int, noun: str) -> str:
    """Return the number with its noun in singular or plural, such as `1 chunk` and `2 chunks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def names_or_count(names: Sequence[str], noun: str) -> str:
    """Return the names if they fit on a line, else their number with the noun."""
    listed = ", ".join(names)
    return listed if len(names) == 1 or len(listed) <= _WIDEST else count_noun(len(names), noun)


def local_time(moment: str | None) -> str:
    """Return a stored time in the local time zone, to the minute; `-` for None or an empty text."""
    if not moment:
        return "-"
    from datetime import datetime

    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with aligned columns.

    The last column is not padded, and cells over 60 characters do not widen their column.
    """
    if not rows:
        return []
    lengths = [[len(row[column]) for row in rows] for column in range(len(rows[0]))]
    widths = [max((length for length in column if length <= _WIDEST), default=0) for column in lengths]
    widths[-1] = 0
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


_WORDS_SHARE = 4  # `words` get at most a quarter of the width beside a `text` column


@dataclass(frozen=True)
class TableColumn:
    """A column of a table in a terminal or in HTML.

    The `kind` decides how its cells are shown: a `figure` (number) right-aligned, a `name` left-aligned, both in full.
    `words` may wrap over several lines, and a `text` may be shortened.
    """

    title: str
    kind: Literal["figure", "name", "words", "text"] = "name"


def figure_columns(*titles: str) -> list[TableColumn]:
    """Return right-aligned columns for numbers, with these titles."""
    return [TableColumn(title, "figure") for title in titles]


def table_lines(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Return the lines of a table, at most `width` characters wide if numbers and names leave enough space."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    has_text = any(column.kind == "text" for column in columns)
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="",
        expand=has_text,
        show_header=any(column.title for column in columns),
    )
    for column in columns:
        table.add_column(
            Text(column.title),
            justify="right" if column.kind == "figure" else "left",
            ratio=1 if column.kind == "text" else None,
            max_width=width // _WORDS_SHARE if column.kind == "words" and has_text else None,
            no_wrap=column.kind != "words",
            overflow="ellipsis" if column.kind == "text" else "fold",
        )
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console = Console(width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        yield line.rstrip()


def format_figure(value: float | None, digits: int = 3, missing: str = "-") -> str:
    """Format an integer unchanged, any other number rounded, and None as the text `missing`."""
    if value is None:
        return missing
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"
