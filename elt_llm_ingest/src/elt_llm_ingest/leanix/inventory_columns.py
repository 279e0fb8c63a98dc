"""The columns of an exported inventory: machine keys in the first row, labels in the second."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from elt_llm_ingest.readers.workbook import Cell, Sheet

_NEEDED = {"id", "type", "name"}
# Any of these beside the needed three tells an export from a list that happens to have such columns.
_TELLING = {"displayName", "lxState", "qualitySeal", "level", "status"}
_RELATION = re.compile(r"(rel[A-Z]\w{0,80}?|relTo\w{1,80}):(\w{1,80})", re.ASCII)
_DISPLAY_NAME = "displayName"


@dataclass(frozen=True)
class RelationColumns:
    """Where the other ends of one kind of relation stand, and where what is said about each."""

    kind: str
    names: int
    attributes: tuple[tuple[str, int], ...]

    @property
    def other_type(self) -> str:
        """The type on the other side, such as Application for relProjectToApplication; may be a role like Parent."""
        return self.kind.rpartition("To")[2]


@dataclass(frozen=True)
class Columns:
    """Which column holds what; numbers count from 0. Columns that share a label have their key as label."""

    plain: dict[str, int]
    relations: tuple[RelationColumns, ...]
    labels: dict[str, str]
    first_row: int

    def value(self, row: Sequence[Cell], key: str) -> str:
        """The cell of a plain column as text; empty if there is no such column."""
        column = self.plain.get(key)
        return cell_text(row[column]) if column is not None and column < len(row) else ""


def is_inventory(sheets: Sequence[Sheet]) -> bool:
    """Whether the first sheet begins with the machine keys of an export."""
    if not sheets or not sheets[0].rows:
        return False
    keys = {cell_text(cell) for cell in sheets[0].rows[0]}
    return keys >= _NEEDED and bool(keys & _TELLING)


def read_columns(sheet: Sheet) -> Columns:
    """The columns of a sheet that `is_inventory`. Of two columns with one key the first counts."""
    keys = [cell_text(cell) for cell in sheet.rows[0]]
    second = sheet.rows[1] if len(sheet.rows) > 1 else ()
    places: dict[str, int] = {}
    for number, key in enumerate(keys):
        if key:
            places.setdefault(key, number)
    labelled = _are_labels(second, places)
    matches = {key: match for key in places if (match := _RELATION.fullmatch(key))}
    plain = {key: place for key, place in places.items() if key not in matches}
    return Columns(
        plain=plain,
        relations=_relations(matches, places),
        labels=_labels(plain, second if labelled else ()),
        first_row=2 if labelled else 1,
    )


def _labels(plain: dict[str, int], row: Sequence[Cell]) -> dict[str, str]:
    labels = {key: (cell_text(row[place]) if row else "") or key for key, place in plain.items()}
    counts = Counter(labels.values())
    return {key: label if counts[label] == 1 else key for key, label in labels.items()}


def _are_labels(row: Sequence[Cell], places: dict[str, int]) -> bool:
    """Exports have labels in the second row; where somebody deleted them, the first fact sheet stands there."""
    if not row:
        return False
    texts = {key: cell_text(row[places[key]]).casefold().replace(" ", "") for key in ("id", "type")}
    return texts["id"] in {"id", "externalid", "factsheetid", ""} and texts["type"] in {"type", "factsheettype", "typ"}


def _relations(matches: dict[str, re.Match[str]], places: dict[str, int]) -> tuple[RelationColumns, ...]:
    attributes: dict[str, list[tuple[str, int]]] = {}
    names: dict[str, int] = {}
    for key, match in matches.items():
        if match[2] == _DISPLAY_NAME:
            names[match[1]] = places[key]
        else:
            attributes.setdefault(match[1], []).append((match[2], places[key]))
    return tuple(RelationColumns(kind, place, tuple(attributes.get(kind, ()))) for kind, place in names.items())


def cell_text(cell: Cell) -> str:
    """A cell as text: whole numbers without decimals, days without midnight, white space around it gone."""
    match cell:
        case bool():
            return "true" if cell else "false"
        case float() if cell.is_integer() and abs(cell) < 1e15:
            return str(int(cell))
        case datetime() if cell.time() == datetime.min.time():
            return cell.date().isoformat()
        case datetime() | date():
            return cell.isoformat()
        case _:
            return str(cell).strip().replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def listed_values(text: str) -> list[str]:
    """The values of a list parted by semicolons, empty ones kept because attributes are matched by place."""
    return [value.strip() for value in text.split(";")] if text else []
