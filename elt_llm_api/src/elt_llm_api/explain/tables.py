"""Tables that fit a terminal: figures keep their room, words wrap, and names of passages are cut to what is left."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from elt_llm_api.render import one_line

NARROWEST, WIDEST = 60, 120
Kind = Literal["figure", "name", "words", "passage"]
_WORDS_SHARE = 4  # words take a quarter of the width at most where a passage stands beside them


@dataclass(frozen=True)
class Column:
    """`figure`s stand to the right and `name`s to the left, both whole; `words` may wrap, a `passage` may be cut."""

    head: str
    kind: Kind = "figure"


def terminal_width() -> int:
    """Columns of the terminal, or 80 where there is none; within what tables are made for."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """The head and the rows, none wider than `width` as long as the figures and names leave room."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    with_passages = any(column.kind == "passage" for column in columns)
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="",
        expand=with_passages,
        show_header=any(column.head for column in columns),
    )
    for column in columns:
        table.add_column(
            Text(column.head),
            justify="right" if column.kind == "figure" else "left",
            ratio=1 if column.kind == "passage" else None,
            max_width=width // _WORDS_SHARE if column.kind == "words" and with_passages else None,
            no_wrap=column.kind != "words",
            overflow="ellipsis" if column.kind == "passage" else "fold",
        )
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console = Console(width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        yield line.rstrip()


def figure(value: float | None, digits: int = 3) -> str:
    """A whole number as it is, another rounded, `-` for none."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"
