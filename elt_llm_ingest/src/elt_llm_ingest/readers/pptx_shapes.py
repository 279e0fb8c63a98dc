"""The shapes of a slide in reading order, groups opened, each with what its layout and master lend it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.ooxml import COMPATIBILITY, DRAWING, SLIDE, chosen

if TYPE_CHECKING:
    from lxml.etree import _Element

TITLES = frozenset(("title", "ctrTitle"))
_FURNITURE = frozenset(("dt", "ftr", "sldNum", "hdr", "sldImg"))
_GROUP = f"{SLIDE}grpSp"
_SHAPES = frozenset((f"{SLIDE}sp", f"{SLIDE}graphicFrame", _GROUP, f"{SLIDE}cxnSp", f"{SLIDE}pic"))
_PLACES = (f"{SLIDE}spPr/{DRAWING}xfrm", f"{SLIDE}grpSpPr/{DRAWING}xfrm", f"{SLIDE}xfrm")
# Shapes whose tops differ by less stand side by side; in English Metric Units, 914,400 an inch.
_SAME_ROW = 180_000


@dataclass(frozen=True)
class Models:
    """The layout and the master of a slide, nearest first, whose placeholders it fills."""

    roots: "Sequence[_Element]" = ()

    def of(self, shape: "_Element") -> "list[_Element]":
        """The placeholders that a shape inherits from."""
        own = placeholder(shape)
        if own is None:
            return []
        found = []
        for root in self.roots:
            candidates = [(model, placeholder(model)) for model in root.iter(f"{SLIDE}sp")]
            matching = [model for model, given in candidates if given is not None and _fills(own, given)]
            found += matching[:1]
        return found

    def list_styles(self, shape: "_Element") -> "list[_Element]":
        """Where bullets are told for a shape's paragraphs, nearest first."""
        styles = [style for source in (shape, *self.of(shape)) for style in source.iter(f"{DRAWING}lstStyle")]
        if kind_of(shape) in {"body", "obj"}:
            styles += [style for root in self.roots for style in root.iter(f"{SLIDE}bodyStyle")]
        return styles


def placeholder(shape: "_Element") -> "_Element | None":
    """What says which part of the layout a shape fills, or None."""
    return next(iter(shape.findall(f"*/{SLIDE}nvPr/{SLIDE}ph")), None)


def kind_of(shape: "_Element") -> str:
    """The kind of placeholder a shape is, such as "title" or "body"; "" if it is none."""
    found = placeholder(shape)
    return "" if found is None else found.get("type", "obj")


def in_order(parent: "_Element", models: Models) -> "Iterator[_Element]":
    """The shapes that show something, from the top and from the left, those of a group together."""
    shapes = [shape for shape in _direct(parent) if kind_of(shape) not in _FURNITURE]
    placed = sorted(((_place(shape, models), number) for number, shape in enumerate(shapes)))
    row_top = 0
    keyed: list[tuple[int, int, int]] = []
    for (top, left), number in placed:
        if not keyed or top - row_top > _SAME_ROW:
            row_top = top
        keyed.append((row_top, left, number))
    for _, _, number in sorted(keyed):
        if shapes[number].tag == _GROUP:
            yield from in_order(shapes[number], models)
        else:
            yield shapes[number]


def _direct(parent: "_Element") -> "Iterator[_Element]":
    for element in parent:
        if element.tag == f"{COMPATIBILITY}AlternateContent":
            yield from (inner for inner in chosen(element) if inner.tag in _SHAPES)
        elif element.tag in _SHAPES:
            yield element


def _place(shape: "_Element", models: Models) -> tuple[int, int]:
    """Top and left; shapes that nowhere say where they are come first."""
    for source in (shape, *models.of(shape)):
        for path in _PLACES:
            offset = source.find(f"{path}/{DRAWING}off")
            if offset is not None:
                return _whole(offset.get("y")), _whole(offset.get("x"))
    return 0, 0


def _whole(text: str | None) -> int:
    digits = (text or "").removeprefix("-")
    return int(text or "") if digits.isascii() and digits.isdecimal() and len(digits) < 16 else 0


def _fills(own: "_Element", given: "_Element") -> bool:
    if own.get("idx") is not None and own.get("idx") == given.get("idx"):
        return True
    kind, other = own.get("type", "obj"), given.get("type", "obj")
    return kind == other or {kind, other} in ({"title", "ctrTitle"}, {"obj", "body"})
