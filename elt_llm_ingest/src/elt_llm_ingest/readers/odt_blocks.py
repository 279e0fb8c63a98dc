"""The body of an OpenDocument text as blocks: headings and list items with their numbers, tables, frames, notes."""

from typing import TYPE_CHECKING

from elt_llm_ingest.parsed_document import BlockKind
from elt_llm_ingest.readers.document_builder import DocumentBuilder
from elt_llm_ingest.readers.docx_styles import number
from elt_llm_ingest.readers.headings import begins_item, begins_rule
from elt_llm_ingest.readers.odt_styles import OFFICE, TABLE, TEXT, Counter, OdtStyles
from elt_llm_ingest.readers.odt_tables import Repeats, odt_cells, odt_grid, odt_lays_out, odt_rows
from elt_llm_ingest.readers.odt_text import OdtParagraph, read_odt_paragraph
from elt_llm_ingest.readers.table_rows import may_be_header, row_text, write_rows
from elt_llm_ingest.readers.term_marks import DefinitionList
from elt_llm_ingest.readers.unstyled import is_definition, unstyled_level
from elt_llm_ingest.readers.xml_guard import is_comment

if TYPE_CHECKING:
    from lxml.etree import _Element

_PARAGRAPHS = frozenset((f"{TEXT}p", f"{TEXT}h"))
_ITEMS = frozenset((f"{TEXT}list-item", f"{TEXT}list-header"))
# Lists of what is in the document, deletions kept by tracking, declarations.
_LEFT_OUT = frozenset(
    (
        *(f"{TEXT}{name}" for name in ("table-of-content", "illustration-index", "table-index", "object-index")),
        *(f"{TEXT}{name}" for name in ("user-index", "alphabetical-index", "tracked-changes", "sequence-decls")),
        *(f"{TEXT}{name}" for name in ("variable-decls", "user-field-decls")),
        *(f"{OFFICE}{name}" for name in ("forms", "annotation")),
    )
)


class OdtWriter:
    """Puts the blocks of a body into a document. `title` is the text of the first title paragraph."""

    def __init__(self, styles: OdtStyles, *, has_headings: bool) -> None:
        self.builder = DocumentBuilder()
        self.title = ""
        self.left_out: set[str] = set()
        self._definitions = DefinitionList(self.builder.marks)
        self._styles = styles
        self._has_headings = has_headings
        self._outline = Counter(styles.outline)
        self._lists: dict[str, Counter] = {}
        self._repeats = Repeats()
        self._before: BlockKind = "prose"
        self._apart = 0

    def write(self, container: "_Element") -> None:
        """Append what is in a body, a section, a cell or a frame."""
        for child in container:
            if child.tag in _PARAGRAPHS:
                self._paragraph(child, "")
            elif child.tag == f"{TEXT}list":
                self._list(child, "", 1)
            elif child.tag == f"{TABLE}table":
                self._table(child)
            elif child.get(f"{TEXT}display") == "none":
                self.left_out.add("holds hidden text, which is left out")
            elif child.tag not in _LEFT_OUT and not is_comment(child):
                self.write(child)

    def end(self) -> None:
        """All of the document is written."""
        self._definitions.end()

    def _paragraph(self, element: "_Element", label: str, *, in_list: bool = False) -> None:
        paragraph = read_odt_paragraph(element, self._styles)
        text = paragraph.text
        level = self._heading_level(element, paragraph)
        if level is not None and text:
            if element.tag == f"{TEXT}h" and not label and not in_list:
                label = self._outline.step(level, number(element.get(f"{TEXT}start-value")))
            self.builder.add_heading(" ".join(f"{label} {text}".split()), level)
            self._before = "heading"
        else:
            kind = self._kind(element, paragraph, label, in_list=in_list)
            tight = kind == self._before and kind in {"list", "code"}
            shown = paragraph.raw.strip("\n") if kind == "code" else f"{label} {text}" if text else ""
            first = self.builder.count
            self.builder.add(shown, kind, tight=tight)
            self._before = kind if text else self._before
            self._mark(element, paragraph, label, self.builder.span(first))
        self._set_aside(paragraph)

    def _mark(self, element: "_Element", paragraph: OdtParagraph, label: str, span: tuple[int, int] | None) -> None:
        """Keep what the look of a paragraph says of terms; `span` is where it stands."""
        if span is None:
            return
        style = element.get(f"{TEXT}style-name")
        is_term = self._styles.is_a(style, "definition term")
        part = "term" if is_term else "body" if self._styles.is_a(style, "definition") else ""
        self._definitions.styled(part, span)
        if not part and self._before != "code":
            self.builder.marks.lead_after(span, self.builder.end, label, paragraph.term)

    def _heading_level(self, element: "_Element", paragraph: OdtParagraph) -> int | None:
        if element.tag == f"{TEXT}h":
            return max(1, min(number(element.get(f"{TEXT}outline-level")) or 1, 10))
        if self._styles.is_a(element.get(f"{TEXT}style-name"), "title") and paragraph.text:
            self.title = self.title or " ".join(paragraph.text.split())
            return 1
        if self._has_headings or self._apart:
            return None
        return unstyled_level(paragraph.text, bold=paragraph.is_bold)

    def _kind(self, element: "_Element", paragraph: OdtParagraph, label: str, *, in_list: bool) -> BlockKind:
        text = f"{label} {paragraph.text}".strip()[:120]
        if self._styles.is_a(element.get(f"{TEXT}style-name"), "preformatted", "code"):
            return "code"
        if begins_rule(text):
            return "rule"
        if label or in_list or begins_item(text):
            return "list"
        return "definition" if is_definition(paragraph.term, text) else "prose"

    def _list(self, element: "_Element", outer_style: str, level: int) -> None:
        style = element.get(f"{TEXT}style-name") or outer_style
        goes_on = element.get(f"{TEXT}continue-numbering") == "true" or element.get(f"{TEXT}continue-list")
        if style not in self._lists or (style != outer_style and not goes_on):
            self._lists[style] = self._styles.counter(style)
        for item in element:
            if item.tag in _ITEMS:
                self._item(item, style, level)

    def _item(self, item: "_Element", style: str, level: int) -> None:
        first = item.tag == f"{TEXT}list-item"
        for child in item:
            if child.tag in _PARAGRAPHS:
                start = number(item.get(f"{TEXT}start-value"))
                label = self._lists[style].step(level, start) if first else ""
                self._paragraph(child, label, in_list=True)
                first = False
            elif child.tag == f"{TEXT}list":
                self._list(child, style, level + 1)

    def _table(self, table: "_Element") -> None:
        if odt_lays_out(table):
            for row, _ in odt_rows(table):
                for cell in odt_cells(row):
                    self.write(cell)
            return
        aside = OdtParagraph()
        rows, header_rows = odt_grid(table, lambda cell: self._cell(cell, aside), self._repeats)
        if not header_rows and len(rows) > 1 and may_be_header(rows[0]) and self._first_is_bold(table):
            header_rows = 1
        write_rows(self.builder, rows, header_rows)
        self._before = "table"
        self._set_aside(aside)

    def _cell(self, cell: "_Element", aside: OdtParagraph) -> str:
        """All text of a cell in one line; the rows of a table within it are parted by semicolons."""
        texts = []
        for child in cell:
            if child.tag in _PARAGRAPHS:
                paragraph = read_odt_paragraph(child, self._styles)
                aside.boxes += paragraph.boxes
                aside.notes += paragraph.notes
                texts.append(" ".join(paragraph.text.split()))
            elif child.tag == f"{TABLE}table":
                rows, _ = odt_grid(child, lambda inner: self._cell(inner, aside), self._repeats)
                texts.append("; ".join(filter(None, map(row_text, rows))))
            elif child.tag not in _LEFT_OUT and not is_comment(child):
                texts.append(self._cell(child, aside))
        return " ".join(filter(None, texts))

    def _first_is_bold(self, table: "_Element") -> bool:
        row = next((row for row, _ in odt_rows(table)), None)
        paragraphs = [] if row is None else [found for cell in odt_cells(row) for found in cell.iter(f"{TEXT}p")]
        read = [read_odt_paragraph(found, self._styles) for found in paragraphs]
        return all(paragraph.is_bold for paragraph in read if paragraph.text)

    def _set_aside(self, paragraph: OdtParagraph) -> None:
        """Append the frames and notes that belong to the block just written."""
        self._apart += 1
        for box in paragraph.boxes:
            self.write(box)
        for mark, body in paragraph.notes:
            self.builder.add(f"{mark} {self._cell(body, OdtParagraph())}")
            self._before = "prose"
        self._apart -= 1
