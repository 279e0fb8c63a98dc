"""The text of one OpenDocument paragraph: blanks and breaks spelled out, frames and notes set aside."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.docx_styles import number
from elt_llm_ingest.readers.odt_styles import DRAW, OFFICE, TEXT, OdtStyles
from elt_llm_ingest.readers.xml_guard import is_comment

if TYPE_CHECKING:
    from lxml.etree import _Element

_MOST_BLANKS = 100
_LEFT_OUT = frozenset(
    (f"{OFFICE}annotation", f"{TEXT}ruby-text", f"{TEXT}script", f"{TEXT}hidden-text", f"{TEXT}page-number")
)
_SIGNS = {f"{TEXT}tab": " ", f"{TEXT}line-break": "\n"}
Bold = bool | None
if TYPE_CHECKING:
    Piece = tuple[_Element | str, Bold]


@dataclass
class OdtParagraph:
    """`raw` is the text with its blanks; `boxes` are frames and shapes, `notes` bodies by their sign."""

    raw: str = ""
    term: str = ""
    boxes: "list[_Element]" = field(default_factory=list)
    notes: "list[tuple[str, _Element]]" = field(default_factory=list)
    bold_ended: bool = False

    @property
    def text(self) -> str:
        """The text, lines kept, other white space made one blank."""
        return "\n".join(filter(None, (" ".join(line.split()) for line in self.raw.split("\n"))))

    @property
    def is_bold(self) -> bool:
        """Whether all of it is bold."""
        return bool(self.term.strip()) and not self.bold_ended

    def append(self, text: str, *, bold: Bold) -> None:
        """Go on with `text`."""
        self.raw += text
        if bold and not self.bold_ended:
            self.term += text
        elif text.strip():
            self.bold_ended = True


def read_odt_paragraph(paragraph: "_Element", styles: OdtStyles) -> OdtParagraph:
    """What a paragraph or heading shows."""
    read = OdtParagraph()
    bold = styles.is_bold("paragraph", paragraph.get(f"{TEXT}style-name"))
    pending: list[Piece] = _content(paragraph, bold)
    while pending:
        item, bold = pending.pop()
        if isinstance(item, str):
            # Line ends within the XML are blanks; only text:line-break is one.
            read.append(" ".join(item.splitlines()) if item.strip("\n") else " ", bold=bold)
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
