"""The body of a Word file as blocks: headings with their numbers, paragraphs, list items, tables, boxes, notes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elt_llm_ingest.parsed_document import BlockKind
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.docx_notes import Notes
from elt_llm_ingest.readers.docx_numbering import Numbering
from elt_llm_ingest.readers.docx_pages import breaks_around
from elt_llm_ingest.readers.docx_paragraph import LEFT_OUT, Paragraph, read_paragraph
from elt_llm_ingest.readers.docx_styles import Styles
from elt_llm_ingest.readers.docx_tables import cells_of, grid, header_rows, lays_out, rows_of
from elt_llm_ingest.readers.headings import begins_item, begins_rule
from elt_llm_ingest.readers.ooxml import COMPATIBILITY, WORD, chosen
from elt_llm_ingest.readers.table_rows import row_text, write_rows
from elt_llm_ingest.readers.term_marks import DefinitionList
from elt_llm_ingest.readers.unstyled import is_definition, unstyled_level
from elt_llm_ingest.readers.xml_guard import is_comment

if TYPE_CHECKING:
    from lxml.etree import _Element

_TIGHT: frozenset[BlockKind] = frozenset(("list", "code"))


@dataclass(frozen=True)
class Look:
    """What a document tells of its paragraphs' look. `paged`: the page breaks in it can be trusted."""

    styles: Styles
    numbering: Numbering
    paged: bool = False
    has_headings: bool = True


class BodyWriter:
    """Puts the blocks of a body into a document. `title` is the text of the first title paragraph, `left_out` why."""

    def __init__(self, look: Look, notes: Notes) -> None:
        self.builder = DocumentBuilder()
        self.title = ""
        self.left_out: set[str] = set()
        self._look = look
        self._notes = notes
        self._definitions = DefinitionList(self.builder.marks)
        self._before: BlockKind = "prose"
        self._boxes: list[_Element] = []
        self._apart = 0
        if look.paged:
            self.builder.begin_page()

    def write(self, container: "_Element") -> None:
        """Append what is in a body, a cell, a control or a box."""
        self._write_all(list(container))

    def end(self) -> None:
        """All of the document is written."""
        self._definitions.end()

    def _write_all(self, children: "list[_Element]") -> None:
        for child in children:
            if child.tag == f"{WORD}p":
                self._paragraph(child)
                self._set_aside()
            elif child.tag == f"{WORD}tbl":
                self._table(child)
                self._set_aside()
            elif child.tag == f"{COMPATIBILITY}AlternateContent":
                self._write_all(chosen(child))
            elif child.tag == f"{WORD}altChunk":
                self.left_out.add("holds another document within, which is not read")
            elif child.tag not in LEFT_OUT and not is_comment(child):
                self.write(child)

    def _paragraph(self, element: "_Element") -> None:
        styles = self._look.styles
        if styles.is_navigation(element):
            self._begin_pages(sum(breaks_around(element)))
            return
        paragraph, label = self._read(element)
        level = styles.heading_level(element)
        text = paragraph.text
        if styles.is_title(element) and text:
            self.title = self.title or " ".join(text.split())
            level = level or 1
        if level is None and not self._look.has_headings and not self._apart:
            level = unstyled_level(text, bold=paragraph.is_bold)
        if level is not None and text:
            before, after = breaks_around(element)
            self._begin_pages(before)
            self.builder.add_heading(" ".join(f"{label} {text}".split()), level)
            self._before = "heading"
            self._begin_pages(after)
        else:
            first = self.builder.count
            self._segments(paragraph, label, self._kind(element, paragraph, label))
            self._mark(element, paragraph, label, self.builder.span(first))

    def _mark(self, element: "_Element", paragraph: Paragraph, label: str, span: tuple[int, int] | None) -> None:
        """Keep what the look of a paragraph says of terms; `span` is where it stands."""
        if span is None:
            return
        part = self._look.styles.definition_part(element)
        self._definitions.styled(part, span)
        if not part and self._before != "code":
            self.builder.marks.lead_after(span, self.builder.end, label, paragraph.lead)

    def _read(self, element: "_Element") -> tuple[Paragraph, str]:
        """A paragraph and its number; what lies beside the text is kept for after the block."""
        paragraph = read_paragraph(element, self._notes.mark)
        self._boxes += paragraph.boxes
        if paragraph.hidden:
            self.left_out.add("holds hidden text, which is left out")
        numbered = self._look.styles.numbering(element)
        return paragraph, self._look.numbering.label(numbered) if numbered else ""

    def _kind(self, element: "_Element", paragraph: Paragraph, label: str) -> BlockKind:
        text = f"{label} {paragraph.text}".strip()[:120]
        if self._look.styles.is_code(element):
            return "code"
        if begins_rule(text):
            return "rule"
        if label or begins_item(text):
            return "list"
        defines = self._look.styles.is_definition(element) or is_definition(paragraph.term, text)
        return "definition" if defines else "prose"

    def _segments(self, paragraph: Paragraph, label: str, kind: BlockKind) -> None:
        """Append a paragraph; where a page begins within it, it goes on there."""
        segments = paragraph.segments if self._look.paged else ["".join(paragraph.segments)]
        written = False
        for number, segment in enumerate(segments):
            if number:
                self.builder.begin_page()
            text = _lines(segment, code=kind == "code")
            if written and text:
                self.builder.resume(text)
            elif text:
                tight = kind == self._before and kind in _TIGHT
                self.builder.add(f"{label} {text}", kind, tight=tight)
                self._before, written = kind, True

    def _begin_pages(self, count: int) -> None:
        if self._look.paged:
            for _ in range(count):
                self.builder.begin_page()

    def _table(self, table: "_Element") -> None:
        if lays_out(table, self._look.styles):
            for row in rows_of(table):
                for cell in cells_of(row):
                    self.write(cell)
            return
        pages = [0]
        for before, after in map(breaks_around, rows_of(table) if self._look.paged else ()):
            pages[-1] += before
            pages.append(after)
        rows = grid(table, self._cell)
        header = header_rows(table, self._look.styles, rows[0] if rows else ())
        write_rows(self.builder, rows, header, pages)
        self._begin_pages(pages[-1])
        self._before = "table"

    def _cell(self, cell: "_Element") -> str:
        """All text of a cell in one line; the rows of a table within it are parted by semicolons."""
        texts = []
        for child in cell:
            if child.tag == f"{WORD}p":
                paragraph, label = self._read(child)
                texts.append(" ".join(f"{label} {paragraph.text}".split()) if paragraph.text else "")
            elif child.tag == f"{WORD}tbl":
                texts.append("; ".join(filter(None, (row_text(row) for row in grid(child, self._cell)))))
            elif child.tag not in LEFT_OUT and not is_comment(child):
                texts.append(self._cell(child))
        return " ".join(filter(None, texts))

    def _set_aside(self) -> None:
        """Append the boxes and notes that belong to the block just written."""
        boxes, self._boxes = self._boxes, []
        self._apart += 1
        for box in boxes:
            self.write(box)
        for mark, note in self._notes.take():
            self.builder.add(f"{mark} {self._cell(note)}")
            self._before = "prose"
        self._apart -= 1


def _lines(text: str, *, code: bool) -> str:
    if code:
        return text.replace("\r", "").expandtabs(4).strip("\n")
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
