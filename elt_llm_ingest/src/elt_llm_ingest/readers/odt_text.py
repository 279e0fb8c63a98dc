"""The text of one OpenDocument paragraph: blanks and breaks spelled out, frames and notes set aside."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.docx_styles import number
from elt_llm_ingest.readers.odt_styles import DRAW, OFFICE, TEXT, OdtStyles
from elt_llm_ingest.readers.xml_guard import is_comment

if TYPE_CHECKING:
    from lxml.etree import _Element

_MOST_BLANKS = 100
_LINE_END = re.compile(r"[\r\n\t]")
_LEFT_OUT = frozenset(
    (f"{OFFICE}annotation", f"{TEXT}ruby-text", f"{TEXT}script", f"{TEXT}hidden-text", f"{TEXT}page-number")
)
_SIGNS = {f"{TEXT}tab": " ", f"{TEXT}line-break": "\n"}
Bold = bool | None
if TYPE_CHECKING:
    Piece = tuple[_Element | str, Bold]


@dataclass
class OdtParagraph:
    """Its text in pieces as they were read; `boxes` are frames and shapes, `notes` bodies by their sign."""

    pieces: list[str] = field(default_factory=list)
    boxes: "list[_Element]" = field(default_factory=list)
    notes: "list[tuple[str, _Element]]" = field(default_factory=list)
    _bold: int = 0
    _bold_ended: bool = False

    @property
    def raw(self) -> str:
        """The text with all its blanks."""
        return "".join(self.pieces)

    @property
    def text(self) -> str:
        """The text, lines kept, other white space made one blank."""
        return "\n".join(filter(None, (" ".join(line.split()) for line in self.raw.split("\n"))))

    @property
    def term(self) -> str:
        """How much of its beginning is bold."""
        return "".join(self.pieces[: self._bold])

    @property
    def is_bold(self) -> bool:
        """Whether all of it is bold."""
        return not self._bold_ended and bool(self.term.strip())

    def append(self, text: str, *, bold: Bold) -> None:
        """Go on with `text`."""
        self.pieces.append(text)
        if bold and not self._bold_ended:
            self._bold = len(self.pieces)
        elif text.strip():
            self._bold_ended = True


def read_odt_paragraph(paragraph: "_Element", styles: OdtStyles) -> OdtParagraph:
    """What a paragraph or heading shows."""
    read = OdtParagraph()
    bold = styles.is_bold("paragraph", paragraph.get(f"{TEXT}style-name"))
    pending: list[Piece] = _content(paragraph, bold)
    while pending:
        item, bold = pending.pop()
        if isinstance(item, str):
            # Line ends within the XML are blanks; only text:line-break is one.
            read.append(_LINE_END.sub(" ", item), bold=bold)
        elif not is_comment(item):
            pending += _enter(item, bold, read, styles)
    return read


def _enter(
    element: "_Element", bold: Bold, read: OdtParagraph, styles: OdtStyles
) -> "list[tuple[_Element | str, Bold]]":
    """Take an element that says something by itself; what is within any other, last first."""
    tag = str(element.tag)
    if tag in _SIGNS:
        read.append(_SIGNS[tag], bold=bold)
    elif tag == f"{TEXT}s":
        read.append(" " * min(number(element.get(f"{TEXT}c")) or 1, _MOST_BLANKS), bold=bold)
    elif tag == f"{TEXT}note":
        mark = f"[{(element.findtext(f'{TEXT}note-citation') or '*').strip()[:10]}]"
        read.append(mark, bold=bold)
        read.notes += [(mark, body) for body in element.findall(f"{TEXT}note-body")]
    elif tag.startswith(DRAW) and tag != f"{DRAW}a":
        read.boxes.append(element)
    elif tag not in _LEFT_OUT:
        own = styles.is_bold("text", element.get(f"{TEXT}style-name")) if tag == f"{TEXT}span" else None
        return _content(element, bold if own is None else own)
    return []


def _content(element: "_Element", bold: Bold) -> "list[Piece]":
    items: list[Piece] = [(element.text, bold)] if element.text else []
    for child in element:
        items.append((child, bold))
        if child.tail:
            items.append((child.tail, bold))
    return items[::-1]
