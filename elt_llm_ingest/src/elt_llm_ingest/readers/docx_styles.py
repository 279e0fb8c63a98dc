"""Paragraph styles of a Word file: which are headings, which carry a number, what the kind of a paragraph is."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from elt_llm_ingest.readers.ooxml import WORD

if TYPE_CHECKING:
    from lxml.etree import _Element

VALUE = f"{WORD}val"
_MOST_BASES = 20
_HEADING = re.compile(r"heading (\d)")
_BODY_LEVEL = 9
_NAVIGATION = re.compile(r"toc (\d|heading)|table of (figures|authorities)|index \d")
_EMPHASIS = frozenset(("strong", "emphasis", "intenseemphasis", "subtleemphasis"))
_CODE = re.compile(r"code|preformatted|source text|macro text|plain text")


class Numbered(NamedTuple):
    """The numbering of a paragraph. `level` is None where the list that names `style` tells it."""

    list_id: str
    level: int | None
    style: str


@lru_cache
def _path(path: str) -> str:
    return "/".join(WORD + step for step in path.split("/"))


def value(parent: "_Element | None", path: str) -> str | None:
    """The w:val of a descendant such as `pPr/pStyle`, or None."""
    if parent is None:
        return None
    found = parent.find(_path(path))
    return None if found is None else found.get(VALUE)


def number(text: str | None) -> int | None:
    """A whole number, or None for what is none or longer than any real one."""
    return int(text) if text and text.isdecimal() and len(text) < 7 else None


def is_on(parent: "_Element | None", path: str) -> bool:
    """Whether a switch such as `rPr/b` is set."""
    found = None if parent is None else parent.find(_path(path))
    return found is not None and found.get(VALUE, "true") not in {"0", "false", "off", "none"}


def is_emphasis(run: "_Element | None") -> bool:
    """Whether a run is italic, or of one of the character styles that are for emphasis."""
    return is_on(run, "rPr/i") or (value(run, "rPr/rStyle") or "").casefold() in _EMPHASIS


class Styles:
    """The styles part; every question about a paragraph goes up the styles that its own is based on."""

    def __init__(self, root: "_Element | None") -> None:
        found = [] if root is None else root.findall(f"{WORD}style")
        self._styles = {style.get(f"{WORD}styleId", ""): style for style in found}
        self._outlines: dict[str | None, int | None] = {}

    def heading_level(self, paragraph: "_Element") -> int | None:
        """1 to 9 for a heading, None for other text. A level in the paragraph itself outweighs its style's."""
        outline = number(value(paragraph, "pPr/outlineLvl"))
        if outline is None:
            outline = self._outline_of(value(paragraph, "pPr/pStyle"))
        return outline + 1 if outline is not None and outline < _BODY_LEVEL else None

    def _outline_of(self, style_id: str | None) -> int | None:
        if style_id not in self._outlines:
            self._outlines[style_id] = next(
                (level for style in self._chain(style_id) for level in _outlines(style)), None
            )
        return self._outlines[style_id]

    def is_title(self, paragraph: "_Element") -> bool:
        """Whether it is the title of the document."""
        return any(_name(style) == "title" for style in self._chain(value(paragraph, "pPr/pStyle")))

    def is_navigation(self, paragraph: "_Element") -> bool:
        """Whether it belongs to a table of contents or an index."""
        return bool(_NAVIGATION.match(self._own_name(paragraph)))

    def is_code(self, paragraph: "_Element") -> bool:
        """Whether it is preformatted."""
        return bool(_CODE.search(self._own_name(paragraph)))

    def is_definition(self, paragraph: "_Element") -> bool:
        """Whether it is a term or what the term means."""
        return "definition" in self._own_name(paragraph)

    def definition_part(self, paragraph: "_Element") -> str:
        """`term` or `body` for a paragraph of a definition list by its style, else empty."""
        name = self._own_name(paragraph)
        return "term" if "definition term" in name else "body" if "definition" in name else ""

    def numbering(self, paragraph: "_Element") -> Numbered | None:
        """The list a paragraph belongs to, by itself or by its style; None if it has no number."""
        level = number(value(paragraph, "pPr/numPr/ilvl"))
        list_id = value(paragraph, "pPr/numPr/numId")
        style_id = ""
        for style in self._chain(value(paragraph, "pPr/pStyle")):
            if list_id is not None:
                break
            list_id = value(style, "pPr/numPr/numId")
            level = number(value(style, "pPr/numPr/ilvl")) if level is None else level
            style_id = style.get(f"{WORD}styleId", "")
        return None if list_id in {None, "0"} else Numbered(list_id or "", level, style_id)

    def list_of_style(self, style_id: str | None) -> str | None:
        """The id of the list that a numbering style stands for."""
        style = self._styles.get(style_id or "")
        return value(style, "pPr/numPr/numId")

    def has_header_row(self, table_style: str | None) -> bool:
        """Whether a table style sets its first row apart."""
        return any(
            part.get(f"{WORD}type") == "firstRow"
            for style in self._chain(table_style)
            for part in style.findall(f"{WORD}tblStylePr")
        )

    def _own_name(self, paragraph: "_Element") -> str:
        style = self._styles.get(value(paragraph, "pPr/pStyle") or "")
        return "" if style is None else _name(style)

    def _chain(self, style_id: str | None) -> "Iterator[_Element]":
        for _ in range(_MOST_BASES):
            style = self._styles.get(style_id or "")
            if style is None:
                return
            yield style
            style_id = value(style, "basedOn")


def _name(style: "_Element") -> str:
    return (value(style, "name") or "").casefold()


def _outlines(style: "_Element") -> Iterator[int]:
    """The outline level, from 0, that a style itself tells, if any."""
    outline = number(value(style, "pPr/outlineLvl"))
    if outline is not None:
        yield outline
    # Names are English in every language of the program; only the ids are translated.
    elif match := _HEADING.match(_name(style)):
        yield int(match.group(1)) - 1
