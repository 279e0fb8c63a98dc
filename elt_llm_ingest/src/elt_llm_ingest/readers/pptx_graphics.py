"""Tables, charts and diagrams on a slide as rows and lists of text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.docx_styles import number
from elt_llm_ingest.readers.ooxml import CHART, DIAGRAM, DRAWING
from elt_llm_ingest.readers.pptx_text import plain_text
from elt_llm_ingest.readers.table_rows import WIDEST

if TYPE_CHECKING:
    from lxml.etree import _Element

_ON = frozenset(("1", "true"))


def table_grid(table: "_Element") -> list[list[str]]:
    """The texts of all rows; merged cells say theirs in every row and column they cover."""
    rows: list[list[str]] = []
    for row in table.findall(f"{DRAWING}tr"):
        above = rows[-1] if rows else []
        texts: list[str] = []
        for cell in row.findall(f"{DRAWING}tc")[:WIDEST]:
            text = " ".join(plain_text(cell).split())
            if cell.get("hMerge") in _ON and texts:
                text = texts[-1]
            elif cell.get("vMerge") in _ON and len(texts) < len(above):
                text = above[len(texts)]
            texts.append(text)
        rows.append(texts)
    return rows


def has_header(table: "_Element") -> bool:
    """Whether the first row is set apart."""
    properties = table.find(f"{DRAWING}tblPr")
    return properties is not None and properties.get("firstRow") in _ON


def chart_title(chart: "_Element") -> str:
    """The title of a chart, or "" if it has none."""
    title = chart.find(f"{CHART}chart/{CHART}title")
    return "" if title is None else " ".join(plain_text(title).split())


def chart_grid(chart: "_Element") -> list[list[str]]:
    """A row for each category, under a first row that names the series; values as the chart last showed them."""
    series = list(chart.iter(f"{CHART}ser"))[: WIDEST - 1]
    columns = [_points(one, "val") or _points(one, "yVal") for one in series]
    categories: dict[int, str] = {}
    for one in series:
        categories = _points(one, "cat") or _points(one, "xVal") | categories
    places = sorted(set(categories).union(*columns))
    names = [" ".join(text for text in _points(one, "tx").values()) for one in series]
    rows = [[categories.get(place, ""), *(column.get(place, "") for column in columns)] for place in places]
    return [["", *names], *rows] if rows or any(names) else []


def diagram_texts(diagram: "_Element") -> Iterator[str]:
    """The texts of a diagram's points, in the order they were made."""
    for point in diagram.iter(f"{DIAGRAM}pt"):
        if text := " ".join(plain_text(point).split()):
            yield text


def _points(series: "_Element", role: str) -> dict[int, str]:
    """The cached points of a series by index; those of several levels are joined, outermost first."""
    found: dict[int, str] = {}
    for source in series.findall(f"{CHART}{role}"):
        for point in source.iter(f"{CHART}pt"):
            place = number(point.get("idx")) or 0
            text = " ".join((point.findtext(f"{CHART}v") or "").split())
            found[place] = f"{text} {found[place]}" if place in found else text
    return found
