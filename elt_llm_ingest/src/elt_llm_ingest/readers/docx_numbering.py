"""The numbers that a Word file does not write but tells how to count: `2.3.4.` before a heading, `b)` before items."""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.docx_styles import Numbered, Styles, is_on, number, value
from elt_llm_ingest.readers.list_markers import bullet, format_number
from elt_llm_ingest.readers.ooxml import WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

_PLACE = re.compile(r"%([1-9])")
_LEVELS = range(9)


@dataclass(frozen=True)
class Level:
    """How one level of a list counts. `restart` is the level (from 1) whose step sets it back; 0 is none."""

    start: int = 1
    format: str = "decimal"
    text: str = ""
    restart: int | None = None
    style: str = ""
    legal: bool = False


class Numbering:
    """Counts through a document: ask for each paragraph once, in order."""

    def __init__(self, root: "_Element | None", styles: Styles) -> None:
        self._lists: dict[str, tuple[str, dict[int, Level]]] = {}
        self._starts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        if root is not None:
            self._read(root, styles)

    def label(self, numbered: Numbered) -> str:
        """What stands before the paragraph, such as `2.1` or a bullet; "" for nothing. The list is counted on."""
        if numbered.list_id not in self._lists:
            return ""
        counted, levels = self._lists[numbered.list_id]
        own = numbered.level if numbered.level is not None else _level_of_style(levels, numbered.style)
        level = levels.get(own, Level(text=f"%{own + 1}."))
        self._count(numbered.list_id, self._counts.setdefault(counted, {}), own, levels)
        if level.format == "bullet":
            return bullet(own)
        return self._formatted(level, self._counts[counted], levels)

    def _count(self, list_id: str, counts: dict[int, int], own: int, levels: dict[int, Level]) -> None:
        # A list that shares its definition with another goes on counting, unless it says where to begin.
        starts = self._starts.pop(list_id, {})
        for level in _LEVELS:
            if level in starts:
                counts.pop(level, None)
                levels[level] = replace(levels.get(level, Level(text=f"%{level + 1}.")), start=starts[level])
        for level in range(own):
            counts.setdefault(level, levels.get(level, Level()).start)
        counts[own] = counts[own] + 1 if own in counts else levels.get(own, Level()).start
        for level in _LEVELS:
            restart = levels.get(level, Level()).restart
            if level > own and (restart is None or own < restart):
                counts.pop(level, None)

    @staticmethod
    def _formatted(level: Level, counts: dict[int, int], levels: dict[int, Level]) -> str:
        def written(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            shown = "decimal" if level.legal else levels.get(place, Level()).format
            return format_number(counts.get(place, 1), shown)

        return _PLACE.sub(written, level.text[:80]).strip()

    def _read(self, root: "_Element", styles: Styles) -> None:
        abstracts = {found.get(f"{WORD}abstractNumId", ""): found for found in root.findall(f"{WORD}abstractNum")}
        lists = {found.get(f"{WORD}numId", ""): found for found in root.findall(f"{WORD}num")}
        for list_id, found in lists.items():
            abstract_id = value(found, "abstractNumId") or ""
            # A definition may only point to a style, whose list points to the definition that counts.
            linked = styles.list_of_style(value(abstracts.get(abstract_id), "numStyleLink"))
            if linked in lists:
                abstract_id = value(lists[linked], "abstractNumId") or ""
            abstract = abstracts.get(abstract_id)
            levels = {} if abstract is None else _levels(abstract)
            starts = {}
            for override in found.findall(f"{WORD}lvlOverride"):
                level = number(override.get(f"{WORD}ilvl"))
                levels |= _levels(override)
                start = number(value(override, "startOverride"))
                if level is not None and start is not None:
                    starts[level] = start
            self._lists[list_id] = (abstract_id, levels)
            self._starts[list_id] = starts


def _levels(parent: "_Element") -> dict[int, Level]:
    levels = {}
    for element in parent.findall(f"{WORD}lvl"):
        own = number(element.get(f"{WORD}ilvl"))
        if own is not None and own in _LEVELS:
            levels[own] = Level(
                number(value(element, "start")) or 0,
                value(element, "numFmt") or "decimal",
                value(element, "lvlText") or "",
                number(value(element, "lvlRestart")),
                value(element, "pStyle") or "",
                is_on(element, "isLgl"),
            )
    return levels


def _level_of_style(levels: dict[int, Level], style: str) -> int:
    return next((own for own, level in levels.items() if style and level.style == style), 0)
