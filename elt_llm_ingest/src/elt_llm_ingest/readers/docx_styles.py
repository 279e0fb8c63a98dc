"""Word paragraph styles and the automatic numbers of headings and list items."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from elt_llm_ingest.readers.headings import bullet_of_level, format_number
from elt_llm_ingest.readers.office_package import WORD, parse_number

if TYPE_CHECKING:
    from lxml.etree import _Element

VALUE = f"{WORD}val"
_MOST_BASES = 20
_HEADING = re.compile(r"heading (\d)")
_BODY_LEVEL = 9
_NAVIGATION = re.compile(r"toc (\d|heading)|table of (figures|authorities)|index \d")
_EMPHASIS = frozenset(("strong", "emphasis", "intenseemphasis", "subtleemphasis"))
_CODE = re.compile(r"code|preformatted|source text|macro text|plain text")


class ParagraphNumbering(NamedTuple):
    """The list of a numbered paragraph. `level` is None if the definition of the list assigns it to `style`."""

    list_id: str
    level: int | None
    style: str


@lru_cache
def _word_path(path: str) -> str:
    return "/".join(WORD + step for step in path.split("/"))


def word_value(parent: "_Element | None", path: str) -> str | None:
    """Return the w:val attribute of a descendant such as `pPr/pStyle`, or None."""
    element = None if parent is None else parent.find(_word_path(path))
    return None if element is None else element.get(VALUE)


def is_switched_on(parent: "_Element | None", path: str) -> bool:
    """Whether an on/off property such as `rPr/b` is set."""
    element = None if parent is None else parent.find(_word_path(path))
    return element is not None and element.get(VALUE, "true") not in {"0", "false", "off", "none"}


def is_emphasis(run: "_Element | None") -> bool:
    """Return whether a run (text of one format) is italic, or has a character style for emphasis."""
    return is_switched_on(run, "rPr/i") or (word_value(run, "rPr/rStyle") or "").casefold() in _EMPHASIS


class DocxStyles:
    """The styles of a document. A paragraph inherits from its style and all styles that this style is based on."""

    def __init__(self, root: "_Element | None") -> None:
        styles = [] if root is None else root.findall(f"{WORD}style")
        self._styles = {style.get(f"{WORD}styleId", ""): style for style in styles}
        self._outlines: dict[str | None, int | None] = {}

    def heading_level(self, paragraph: "_Element") -> int | None:
        """Return the heading level, 1 to 9, set by the paragraph itself or else by its style; None for other text."""
        outline = parse_number(word_value(paragraph, "pPr/outlineLvl"))
        if outline is None:
            style_id = word_value(paragraph, "pPr/pStyle")
            if style_id not in self._outlines:
                levels = map(_outline_level, self._chain(style_id))
                self._outlines[style_id] = next((level for level in levels if level is not None), None)
            outline = self._outlines[style_id]
        return outline + 1 if outline is not None and outline < _BODY_LEVEL else None

    def is_title(self, paragraph: "_Element") -> bool:
        """Whether a paragraph has the style of a document title."""
        return any(_style_name(style) == "title" for style in self._chain(word_value(paragraph, "pPr/pStyle")))

    def is_navigation(self, paragraph: "_Element") -> bool:
        """Whether a paragraph belongs to a table of contents or an index."""
        return bool(_NAVIGATION.match(self._own_name(paragraph)))

    def is_code(self, paragraph: "_Element") -> bool:
        """Whether a paragraph has a style for code or other preformatted text."""
        return bool(_CODE.search(self._own_name(paragraph)))

    def definition_part(self, paragraph: "_Element") -> str:
        """Return the role of a paragraph in a definition list, by its style: `term`, `body` (the definition) or ""."""
        name = self._own_name(paragraph)
        return "term" if "definition term" in name else "body" if "definition" in name else ""

    def numbering(self, paragraph: "_Element") -> ParagraphNumbering | None:
        """Return the list of a paragraph, set by the paragraph itself or by its style; None if it has no number."""
        level = parse_number(word_value(paragraph, "pPr/numPr/ilvl"))
        list_id = word_value(paragraph, "pPr/numPr/numId")
        style_id = ""
        for style in self._chain(word_value(paragraph, "pPr/pStyle")):
            if list_id is not None:
                break
            list_id = word_value(style, "pPr/numPr/numId")
            level = parse_number(word_value(style, "pPr/numPr/ilvl")) if level is None else level
            style_id = style.get(f"{WORD}styleId", "")
        return None if list_id in {None, "0"} else ParagraphNumbering(list_id or "", level, style_id)

    def list_of_style(self, style_id: str | None) -> str | None:
        """Return the id of the list that a numbering style refers to."""
        return word_value(self._styles.get(style_id or ""), "pPr/numPr/numId")

    def has_header_row(self, table_style: str | None) -> bool:
        """Whether a table style formats the first row as a header."""
        return any(
            part.get(f"{WORD}type") == "firstRow"
            for style in self._chain(table_style)
            for part in style.findall(f"{WORD}tblStylePr")
        )

    def _own_name(self, paragraph: "_Element") -> str:
        style = self._styles.get(word_value(paragraph, "pPr/pStyle") or "")
        return "" if style is None else _style_name(style)

    def _chain(self, style_id: str | None) -> "Iterator[_Element]":
        for _ in range(_MOST_BASES):
            style = self._styles.get(style_id or "")
            if style is None:
                return
            yield style
            style_id = word_value(style, "basedOn")


def _style_name(style: "_Element") -> str:
    return (word_value(style, "name") or "").casefold()


def _outline_level(style: "_Element") -> int | None:
    outline = parse_number(word_value(style, "pPr/outlineLvl"))
    # Style names are English in every language of Word. Only the style ids are translated.
    if outline is None and (match := _HEADING.match(_style_name(style))):
        return int(match.group(1)) - 1
    return outline


_PLACE = re.compile(r"%([1-9])")
_LEVELS = range(9)


@dataclass(frozen=True)
class NumberingLevel:
    """The numbering of a list level. An item of the level `restart` (from 1) resets the count; 0 means no reset."""

    start: int = 1
    format: str = "decimal"
    text: str = ""
    restart: int | None = None
    style: str = ""
    legal: bool = False


class DocxNumbering:
    """Count the numbered paragraphs of a document. Call `label` once for each paragraph, in order."""

    def __init__(self, root: "_Element | None", styles: DocxStyles) -> None:
        self._lists: dict[str, tuple[str, dict[int, NumberingLevel]]] = {}
        self._starts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        if root is not None:
            self._read(root, styles)

    def label(self, numbered: ParagraphNumbering) -> str:
        """Count a paragraph and return its label, such as `2.1` or a bullet; "" if it has no label."""
        if numbered.list_id not in self._lists:
            return ""
        counted, levels = self._lists[numbered.list_id]
        own = numbered.level
        if own is None:
            own = next((number for number, level in levels.items() if numbered.style == level.style != ""), 0)
        level = levels.get(own, NumberingLevel(text=f"%{own + 1}."))
        self._count(numbered.list_id, self._counts.setdefault(counted, {}), own, levels)
        if level.format == "bullet":
            return bullet_of_level(own)
        return self._formatted(level, self._counts[counted], levels)

    def _count(self, list_id: str, counts: dict[int, int], own: int, levels: dict[int, NumberingLevel]) -> None:
        # Lists with the same definition share one count, unless a list sets its own start.
        starts = self._starts.pop(list_id, {})
        for level in _LEVELS:
            if level in starts:
                counts.pop(level, None)
                levels[level] = replace(levels.get(level, NumberingLevel(text=f"%{level + 1}.")), start=starts[level])
        for level in range(own):
            counts.setdefault(level, levels.get(level, NumberingLevel()).start)
        counts[own] = counts[own] + 1 if own in counts else levels.get(own, NumberingLevel()).start
        for level in _LEVELS:
            restart = levels.get(level, NumberingLevel()).restart
            if level > own and (restart is None or own < restart):
                counts.pop(level, None)

    @staticmethod
    def _formatted(level: NumberingLevel, counts: dict[int, int], levels: dict[int, NumberingLevel]) -> str:
        def number(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            number_format = "decimal" if level.legal else levels.get(place, NumberingLevel()).format
            return format_number(counts.get(place, 1), number_format)

        return _PLACE.sub(number, level.text[:80]).strip()

    def _read(self, root: "_Element", styles: DocxStyles) -> None:
        abstracts = {item.get(f"{WORD}abstractNumId", ""): item for item in root.findall(f"{WORD}abstractNum")}
        lists = {item.get(f"{WORD}numId", ""): item for item in root.findall(f"{WORD}num")}
        for list_id, element in lists.items():
            abstract_id = word_value(element, "abstractNumId") or ""
            # A definition may only refer to a style. The list of this style refers to the actual definition.
            linked = styles.list_of_style(word_value(abstracts.get(abstract_id), "numStyleLink"))
            if linked in lists:
                abstract_id = word_value(lists[linked], "abstractNumId") or ""
            abstract = abstracts.get(abstract_id)
            levels = {} if abstract is None else _numbering_levels(abstract)
            starts = {}
            for override in element.findall(f"{WORD}lvlOverride"):
                level = parse_number(override.get(f"{WORD}ilvl"))
                levels |= _numbering_levels(override)
                start = parse_number(word_value(override, "startOverride"))
                if level is not None and start is not None:
                    starts[level] = start
            self._lists[list_id] = (abstract_id, levels)
            self._starts[list_id] = starts


def _numbering_levels(parent: "_Element") -> dict[int, NumberingLevel]:
    levels = {}
    for element in parent.findall(f"{WORD}lvl"):
        own = parse_number(element.get(f"{WORD}ilvl"))
        if own is not None and own in _LEVELS:
            levels[own] = NumberingLevel(
                parse_number(word_value(element, "start")) or 0,
                word_value(element, "numFmt") or "decimal",
                word_value(element, "lvlText") or "",
                parse_number(word_value(element, "lvlRestart")),
                word_value(element, "pStyle") or "",
                is_switched_on(element, "isLgl"),
            )
    return levels
