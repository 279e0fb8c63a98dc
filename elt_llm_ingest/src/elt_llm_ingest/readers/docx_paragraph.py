"""The text of one Word paragraph as it is shown: insertions in, deletions out, boxes and notes set aside."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elt_llm_ingest.readers.docx_styles import is_emphasis, is_on
from elt_llm_ingest.readers.ooxml import COMPATIBILITY, DRAWING, MATH, WORD, chosen
from elt_llm_ingest.readers.xml_guard import is_comment

if TYPE_CHECKING:
    from lxml.etree import _Element

BOX = f"{WORD}txbxContent"
PAGE_BREAK = f"{WORD}lastRenderedPageBreak"
_TEXTS = (f"{WORD}t", f"{MATH}t", f"{DRAWING}t")
_SIGNS = {
    f"{WORD}tab": " ",
    f"{WORD}ptab": " ",
    f"{WORD}br": "\n",
    f"{WORD}cr": "\n",
    f"{WORD}noBreakHyphen": "-",
}
_NOTES = {f"{WORD}footnoteReference": "footnote", f"{WORD}endnoteReference": "endnote"}
# Left out: what was deleted or moved away, how the text looks, what rubies say above it.
LEFT_OUT = frozenset(
    (
        *(f"{WORD}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "sdtPr", "sdtEndPr", "rt", "instrText")),
        *(f"{WORD}{name}" for name in ("tblPr", "trPr", "tcPr", "sectPr", "delText", "delInstrText")),
    )
)
NoteMark = Callable[[str, str], str]


@dataclass
class Paragraph:
    """Its text in pieces as they were read, None where a page began; boxes and notes are set aside."""

    pieces: list[str | None] = field(default_factory=list)
    boxes: "list[_Element]" = field(default_factory=list)
    hidden: bool = False
    _bold: int = 0
    _bold_ended: bool = False
    _emphasis: int = 0
    _emphasis_ended: bool = False

    @property
    def segments(self) -> list[str]:
        """The text, cut where a page began."""
        segments: list[list[str]] = [[]]
        for piece in self.pieces:
            if piece is None:
                segments.append([])
            else:
                segments[-1].append(piece)
        return ["".join(segment) for segment in segments]

    @property
    def text(self) -> str:
        """All of it, lines kept, other white space made one blank."""
        return "\n".join(filter(None, (" ".join(line.split()) for line in "".join(self.segments).split("\n"))))

    @property
    def term(self) -> str:
        """How much of its beginning is bold."""
        return "".join(piece or "" for piece in self.pieces[: self._bold])

    @property
    def lead(self) -> str:
        """How much of its beginning is emphasised: bold, italic, or of a style that is for emphasis."""
        return "".join(piece or "" for piece in self.pieces[: self._emphasis])

    @property
    def is_bold(self) -> bool:
        """Whether all of it is bold."""
        return not self._bold_ended and bool(self.term.strip())

    def append(self, text: str, *, bold: bool, emphasis: bool = False) -> None:
        """Go on with `text`."""
        self.pieces.append(text)
        if (bold or emphasis) and not self._emphasis_ended:
            self._emphasis = len(self.pieces)
        elif text.strip():
            self._emphasis_ended = True
        if bold and not self._bold_ended:
            self._bold = len(self.pieces)
        elif text.strip():
            self._bold_ended = True


def read_paragraph(paragraph: "_Element", mark: NoteMark) -> Paragraph:
    """What a paragraph shows; `mark` gives the sign for a note by its kind ("footnote", "endnote") and id."""
    read = Paragraph()
    for element, run in _shown(paragraph):
        tag = element.tag
        if tag in _TEXTS:
            read.append(element.text or "", bold=is_on(run, "rPr/b"), emphasis=is_emphasis(run))
        elif tag in _SIGNS:
            read.append(_SIGNS[tag], bold=is_on(run, "rPr/b"))
        elif tag in _NOTES:
            read.append(mark(_NOTES[tag], element.get(f"{WORD}id", "")), bold=False)
        elif tag == PAGE_BREAK:
            read.pieces.append(None)
        elif tag == BOX:
            read.boxes.append(element)
        elif tag == f"{WORD}r":
            read.hidden = True
    return read


def _shown(paragraph: "_Element") -> "Iterator[tuple[_Element, _Element | None]]":
    """Its elements in order, each with the run it stands in; a hidden run comes alone, boxes are not entered.

    Without recursion: runs lie in links, in controls, in insertions, as deep as a file likes.
    """
    pending: list[tuple[_Element, _Element | None]] = [(paragraph, None)]
    while pending:
        element, run = pending.pop()
        if element.tag in LEFT_OUT or is_comment(element):
            continue
        if element.tag == f"{WORD}r":
            run = element
            if is_on(run, "rPr/vanish"):
                yield run, run
                continue
        else:
            yield element, run
        if element.tag != BOX:
            inner = chosen(element) if element.tag == f"{COMPATIBILITY}AlternateContent" else list(element)
            pending += [(child, run) for child in reversed(inner)]
