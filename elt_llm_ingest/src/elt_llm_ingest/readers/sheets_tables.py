"""The tables of a sheet: areas of filled cells with empty ones between, found however they lie."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from elt_llm_ingest.readers.sheets_rows import is_value

# Scattered cells beyond this number are no tables side by side: the sheet is read row by row.
_MOST_AREAS = 400


@dataclass
class Area:
    """Rows and columns from `top`, `left` to `bottom`, `right`, the latter included; counted from 0."""

    top: int
    left: int
    bottom: int
    right: int

    def include(self, other: "Area") -> None:
        """Grow until it covers the other as well."""
        self.top, self.left = min(self.top, other.top), min(self.left, other.left)
        self.bottom, self.right = max(self.bottom, other.bottom), max(self.right, other.right)


def table_areas(rows: Sequence[Sequence[str]]) -> list[Area]:
    """The areas from top to bottom and left to right. Cells that touch at an edge, not a corner, belong together."""
    areas = _touching(rows)
    if len(areas) > _MOST_AREAS:
        return [Area(0, 0, len(rows) - 1, max(map(len, rows)) - 1)]
    while (fewer := _merged(areas, rows)) != areas:
        areas = fewer
    return areas


def _touching(rows: Sequence[Sequence[str]]) -> list[Area]:
    """Areas of cells that touch, row by row: a run of filled cells joins the areas of the runs above it."""
    found: dict[int, Area] = {}
    above: list[tuple[int, int, int]] = []
    renamed: dict[int, int] = {}
    names = 0
    for number, row in enumerate(rows):
        here: list[tuple[int, int, int]] = []
        for left, right in _runs(row):
            area, name, names = Area(number, left, number, right), names, names + 1
            for touched in {_latest(other, renamed) for first, last, other in above if first <= right and left <= last}:
                area.include(found.pop(touched))
                renamed[touched] = name
            found[name] = area
            here.append((left, right, name))
        above = here
    return list(found.values())


def _latest(name: int, renamed: dict[int, int]) -> int:
    while name in renamed:
        name = renamed[name]
    return name


def _runs(row: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = -1
    for column, cell in enumerate(row):
        if cell and start < 0:
            start = column
        elif not cell and start >= 0:
            yield start, column - 1
            start = -1
    if start >= 0:
        yield start, len(row) - 1


def _merged(areas: Sequence[Area], rows: Sequence[Sequence[str]]) -> list[Area]:
    """The areas with those joined that overlap, stand beside one another or go on after an empty row."""
    kept: list[Area] = []
    for area in sorted(areas, key=lambda area: (area.top, area.left)):
        home = next((other for other in kept if _belong_together(other, area, rows)), None)
        if home is None:
            kept.append(Area(area.top, area.left, area.bottom, area.right))
        else:
            home.include(area)
    return sorted(kept, key=lambda area: (area.top, area.left))


def _belong_together(upper: Area, lower: Area, rows: Sequence[Sequence[str]]) -> bool:
    overlap = upper.left <= lower.right and lower.left <= upper.right and lower.top <= upper.bottom
    return overlap or _stand_beside(upper, lower) or _goes_on(upper, lower, rows[lower.top])


def _stand_beside(one: Area, other: Area) -> bool:
    """Whether they take the same rows with one empty column between: a table with a spacer, or label and value."""
    gap = max(one.left, other.left) - min(one.right, other.right)
    return one.top == other.top and one.bottom == other.bottom and gap <= 2


def _goes_on(upper: Area, lower: Area, first_row: Sequence[str]) -> bool:
    """Whether the lower is the rest of the upper: the same columns after one empty row, and no header of its own."""
    alike = upper.left == lower.left and upper.right == lower.right and lower.top - upper.bottom == 2
    return alike and any(is_value(cell) for cell in first_row[lower.left : lower.right + 1])
