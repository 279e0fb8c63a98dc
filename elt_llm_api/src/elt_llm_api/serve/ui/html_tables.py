"""HTML on one line, as Markdown of ours needs it; tables of which every cell is text."""

from collections.abc import Sequence
from dataclasses import dataclass

from elt_llm_api.serve.safe_text import as_text


@dataclass(frozen=True)
class Column:
    """A heading; figures stand to the right."""

    title: str
    figure: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], caption: str = "", tall: bool = False) -> str:
    """A table that scrolls sideways by itself where the window is narrow; a `tall` one also up and down."""
    kinds = [' class="figure"' if column.figure else "" for column in columns]
    head = "".join(
        f'<th scope="col"{kind}>{_cell(column.title)}</th>' for column, kind in zip(columns, kinds, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{_cell(cell)}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    named = f"<caption>{_cell(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide{" tall" if tall else ""}"><table class="ours">{named}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def figure(value: float | None, digits: int = 3) -> str:
    """A figure, or nothing where there is none."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}"


def flat(text: str) -> str:
    """The text on one line: an empty line would end the HTML that it stands in."""
    return " ".join(text.split())


def _cell(text: str) -> str:
    return as_text(flat(text))
