"""Read OpenDocument texts from their XML: headings, paragraphs, lists, tables, frames and notes in reading order."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeAlias

from elt_llm_core.errors import UnreadableDocument
from lxml.etree import _Element

from elt_llm_ingest.parsing.archive import Archive, open_archive
from elt_llm_ingest.parsing.document_builder import EMBEDDED, STRUCK_OUT, blank_for, is_power
from elt_llm_ingest.parsing.document_reader import DocumentReader
from elt_llm_ingest.parsing.opendocument import NAMES, OFFICE, STYLE, TABLE, TEXT, OpenStyles
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.parsing.xml_guard import is_comment, parse_xml
from elt_llm_ingest.readers.headings import bold_heading_level, bullet_of_level, format_number
from elt_llm_ingest.readers.office_package import (
    OfficeBodyWriter,
    OfficeParagraph,
    StyledText,
    parse_number,
    refuse_damage,
)
from elt_llm_ingest.readers.tables import MAX_COLUMNS, may_be_header_row, row_text, write_grid

Piece: TypeAlias = "tuple[_Element | str, bool | None, bool]"  # and whether it is bold, and struck out

DRAW = f"{{{NAMES}:drawing:1.0}}"
_STYLE_NAME = f"{TEXT}style-name"
_DEEPEST = 10
_LEVELS = (f"{TEXT}list-level-style-number", f"{TEXT}outline-level-style")
_MOST_REPEATS = 100
_MOST_REPEATED = 100_000
_HEADER = f"{TABLE}table-header-rows"
_GROUPS = frozenset((f"{TABLE}table-rows", f"{TABLE}table-row-group", _HEADER))
_CELL = f"{TABLE}table-cell"
_COVERED = f"{TABLE}covered-table-cell"
_MOST_BLANKS = 100
_LINE_END = re.compile(r"[\r\n\t]")
_SKIPPED_IN_TEXT = frozenset(
    (f"{OFFICE}annotation", f"{TEXT}ruby-text", f"{TEXT}script", f"{TEXT}hidden-text", f"{TEXT}page-number")
)
_SIGNS = {f"{TEXT}tab": " ", f"{TEXT}line-break": "\n"}
_PARAGRAPHS = frozenset((f"{TEXT}p", f"{TEXT}h"))
# Tables of contents, indexes, tracked deletions and declarations.
_SKIPPED_ELEMENTS = frozenset(
    (
        *(f"{TEXT}{name}" for name in ("table-of-content", "illustration-index", "table-index", "object-index")),
        *(f"{TEXT}{name}" for name in ("user-index", "alphabetical-index", "tracked-changes", "sequence-decls")),
        *(f"{TEXT}{name}" for name in ("variable-decls", "user-field-decls")),
        *(f"{OFFICE}{name}" for name in ("forms", "annotation")),
    )
)
_OBJECTS = (f"{DRAW}object", f"{DRAW}object-ole")
_MANIFEST = "META-INF/manifest.xml"


@dataclass(frozen=True)
class ListLevel:
    """The numbering of one level of a list. `format` is the number format, or "" if no number is shown."""

    format: str = ""
    prefix: str = ""
    suffix: str = ""
    shown: int = 1
    start: int = 1
    is_bullet: bool = False


@dataclass
class ListCounter:
    """The current numbers of one list, one for each level."""

    levels: Mapping[int, ListLevel]
    counts: dict[int, int] = field(default_factory=dict)

    def step(self, level: int, start: int | None = None) -> str:
        """Count an item at `level` (from 1), or restart the count at `start`. Return its label, such as `2.1.`."""
        own = self.levels.get(level, ListLevel())
        for above in range(1, level):
            self.counts.setdefault(above, self.levels.get(above, ListLevel()).start)
        self.counts = {place: count for place, count in self.counts.items() if place <= level}
        first = own.start if start is None else start
        self.counts[level] = self.counts[level] + 1 if level in self.counts and start is None else first
        if own.is_bullet:
            return bullet_of_level(level - 1)
        if not own.format:
            return ""
        shown = range(max(1, level - own.shown + 1), level + 1)
        numbers = (format_number(self.counts[place], self.levels.get(place, own).format or "1") for place in shown)
        return f"{own.prefix}{'.'.join(numbers)}{own.suffix}".strip()


class OdtStyles(OpenStyles):
    """The styles of content.xml and styles.xml, with the numbering of lists and headings."""

    def __init__(self, *roots: _Element | None) -> None:
        super().__init__(*roots)
        self.lists: dict[str, dict[int, ListLevel]] = {}
        self.outline: dict[int, ListLevel] = {}
        for root in roots:
            if root is None:
                continue
            for style in root.iter(f"{TEXT}list-style"):
                self.lists[style.get(f"{STYLE}name", "")] = _list_levels(style)
            for style in root.iter(f"{TEXT}outline-style"):
                self.outline = _list_levels(style)

    def is_a(self, name: str | None, *kinds: str) -> bool:
        """Return whether one of `kinds` occurs in the name of a paragraph style or of a style on which it is based."""
        for style in self._chain("paragraph", name):
            own = (style.get(f"{STYLE}display-name") or style.get(f"{STYLE}name") or "").casefold().replace("_20_", " ")
            if any(kind in own for kind in kinds):
                return True
        return False


def _list_levels(parent: _Element) -> dict[int, ListLevel]:
    levels = {}
    for element in parent:
        place = parse_number(element.get(f"{TEXT}level")) or 0
        if not 1 <= place <= _DEEPEST:
            continue
        if element.tag in _LEVELS:
            levels[place] = ListLevel(
                element.get(f"{STYLE}num-format", ""),
                element.get(f"{STYLE}num-prefix", ""),
                element.get(f"{STYLE}num-suffix", ""),
                parse_number(element.get(f"{TEXT}display-levels")) or 1,
                parse_number(element.get(f"{TEXT}start-value")) or 1,
            )
        else:
            levels[place] = ListLevel(is_bullet=True)
    return levels


def odt_rows(table: _Element) -> Iterator[tuple[_Element, bool]]:
    """Yield each row of a table, and whether it is a header row."""
    pending = [(child, False) for child in reversed(table)]
    while pending:
        element, header = pending.pop()
        if element.tag == f"{TABLE}table-row":
            yield element, header
        elif element.tag in _GROUPS:
            pending += [(child, header or element.tag == _HEADER) for child in reversed(element)]


def is_odt_layout_table(table: _Element) -> bool:
    """Return whether a table serves only for layout: it has at most one column, or contains headings."""
    rows = [row.findall(_CELL) for row, _ in odt_rows(table)]
    if all(sum(_repeat_count(cell, "number-columns-repeated") for cell in cells) <= 1 for cells in rows):
        return all(not row.findall(_COVERED) for row, _ in odt_rows(table))
    return any(next(cell.iter(f"{TEXT}h"), None) is not None for cells in rows for cell in cells)


def _repeat_count(element: _Element, name: str) -> int:
    return max(1, min(parse_number(element.get(f"{TABLE}{name}")) or 1, _MOST_REPEATS))


def read_odt_paragraph(paragraph: _Element, styles: OdtStyles) -> OfficeParagraph:
    """Read the visible text of a paragraph or heading."""
    read = OfficeParagraph()
    name = paragraph.get(_STYLE_NAME)
    struck = styles.is_struck("paragraph", name) or False
    pending: list[Piece] = _element_content(paragraph, styles.is_bold("paragraph", name), struck)
    while pending:
        item, bold, struck = pending.pop()
        if isinstance(item, str) and struck and item.strip():
            read.has_struck = True
            read.pieces.append(StyledText(blank_for(item), bold))
        elif isinstance(item, str):
            # A line end in the XML counts as a blank; real line breaks are text:line-break elements.
            read.pieces.append(StyledText(_LINE_END.sub(" ", item), bold))
        elif not is_comment(item):
            pending += _read_element(item, (bold, struck), read, styles)
    return read


def _read_element(
    element: _Element, look: tuple[bool | None, bool], read: OfficeParagraph, styles: OdtStyles
) -> list[Piece]:
    """Add white space, a note or a frame to `read`. For any other element, return the pieces inside it, last first."""
    bold, struck = look
    tag = str(element.tag)
    if tag in _SIGNS:
        read.pieces.append(StyledText(_SIGNS[tag], bold))
    elif tag == f"{TEXT}s":
        read.pieces.append(StyledText(" " * min(parse_number(element.get(f"{TEXT}c")) or 1, _MOST_BLANKS), bold))
    elif tag == f"{TEXT}note" and not struck:
        mark = f"[{(element.findtext(f'{TEXT}note-citation') or '*').strip()[:10]}]"
        read.pieces.append(StyledText(mark, bold))
        read.notes += [(mark, body) for body in element.findall(f"{TEXT}note-body")]
    elif tag.startswith(DRAW) and tag != f"{DRAW}a":
        read.boxes.append(element)
    elif tag not in _SKIPPED_IN_TEXT and tag != f"{TEXT}note":
        name = element.get(_STYLE_NAME) if tag == f"{TEXT}span" else None
        before, base = element.getprevious(), read.pieces[-1] if read.pieces else None
        continues = before is not None and not before.tail and styles.is_raised(before)
        if base and styles.is_raised(element) and not continues and is_power(base.text, element.text or ""):
            read.pieces.append(StyledText("^", bold))
        own, own_struck = styles.is_bold("text", name), styles.is_struck("text", name)
        return _element_content(element, bold if own is None else own, struck if own_struck is None else own_struck)
    return []


def _element_content(element: _Element, bold: bool | None, struck: bool) -> list[Piece]:
    items: list[Piece] = [(element.text, bold, struck)] if element.text else []
    for child in element:
        items.append((child, bold, struck))
        if child.tail:
            items.append((child.tail, bold, struck))
    return items[::-1]


class OdtWriter(OfficeBodyWriter):
    """Writes the blocks of an OpenDocument body."""

    def __init__(self, styles: OdtStyles, *, has_headings: bool) -> None:
        super().__init__()
        self._styles = styles
        self._has_headings = has_headings
        self._outline = ListCounter(styles.outline)
        self._lists: dict[str, ListCounter] = {}
        self._copies_left = _MOST_REPEATED  # a file can request any number of copies of its cells

    def write(self, container: _Element) -> None:
        """Append the content of a body, a section, a cell or a frame."""
        for child in container:
            if child.tag in _PARAGRAPHS:
                self._write_paragraph(child, "")
            elif child.tag == f"{TEXT}list":
                self._write_list(child, "", 1)
            elif child.tag == f"{TABLE}table":
                self._write_table(child)
            elif child.tag in _OBJECTS:
                self.left_out.add(EMBEDDED)
            elif child.get(f"{TEXT}display") == "none":
                self.left_out.add("holds hidden text, which is not read")
            elif child.tag not in _SKIPPED_ELEMENTS and not is_comment(child):
                self.write(child)

    def _write_paragraph(self, element: _Element, label: str, *, in_list: bool = False) -> None:
        paragraph = self._read(element)
        text = paragraph.text
        level = self._heading_level(element, paragraph)
        if level is not None and text:
            if element.tag == f"{TEXT}h" and not label and not in_list:
                label = self._outline.step(level, parse_number(element.get(f"{TEXT}start-value")))
            self.builder.add_heading(" ".join(f"{label} {text}".split()), level)
            self._before = "heading"
        else:
            style = element.get(_STYLE_NAME)
            is_code = self._styles.is_a(style, "preformatted", "code")
            kind = "code" if is_code else self._kind(paragraph, label, is_item=bool(label) or in_list)
            tight = kind == self._before and kind in {"list", "code"}
            shown = paragraph.raw.strip("\n") if kind == "code" else f"{label} {text}" if text else ""
            first = self.builder.count
            self.builder.add(shown, kind, tight=tight)
            self._before = kind if text else self._before
            is_term = self._styles.is_a(style, "definition term")
            part = "term" if is_term else "body" if self._styles.is_a(style, "definition") else ""
            self._mark_terms(first, label, paragraph.term, part)
        self._write_aside(paragraph)

    def _read(self, element: _Element) -> OfficeParagraph:
        paragraph = read_odt_paragraph(element, self._styles)
        self.left_out |= {STRUCK_OUT} if paragraph.has_struck else set()
        return paragraph

    def _heading_level(self, element: _Element, paragraph: OfficeParagraph) -> int | None:
        if element.tag == f"{TEXT}h":
            return max(1, min(parse_number(element.get(f"{TEXT}outline-level")) or 1, 10))
        if self._styles.is_a(element.get(_STYLE_NAME), "title") and paragraph.text:
            self.title = self.title or " ".join(paragraph.text.split())
            return 1
        if self._has_headings or self._aside_depth:
            return None
        return bold_heading_level(paragraph.text, bold=paragraph.is_bold)

    def _write_list(self, element: _Element, outer_style: str, level: int) -> None:
        style = element.get(_STYLE_NAME) or outer_style
        continued = element.get(f"{TEXT}continue-numbering") == "true" or element.get(f"{TEXT}continue-list")
        if style not in self._lists or (style != outer_style and not continued):
            self._lists[style] = ListCounter(self._styles.lists.get(style, {}))
        for item in element:
            if item.tag in (f"{TEXT}list-item", f"{TEXT}list-header"):
                self._write_item(item, style, level)

    def _write_item(self, item: _Element, style: str, level: int) -> None:
        first = item.tag == f"{TEXT}list-item"
        for child in item:
            if child.tag in _PARAGRAPHS:
                start = parse_number(item.get(f"{TEXT}start-value"))
                label = self._lists[style].step(level, start) if first else ""
                self._write_paragraph(child, label, in_list=True)
                first = False
            elif child.tag == f"{TEXT}list":
                self._write_list(child, style, level + 1)

    def _write_table(self, table: _Element) -> None:
        if is_odt_layout_table(table):
            for row, _ in odt_rows(table):
                for cell in row.findall(_CELL):
                    self.write(cell)
            return
        aside = OfficeParagraph()
        rows, header_rows = self._grid(table, aside)
        if not header_rows and len(rows) > 1 and may_be_header_row(rows[0]) and self._is_first_row_bold(table):
            header_rows = 1
        write_grid(self.builder, rows, header_rows)
        self._before = "table"
        self._write_aside(aside)

    def _grid(self, table: _Element, aside: OfficeParagraph) -> tuple[list[list[str]], int]:
        """Return the cell texts of each row, and the number of header rows.

        The text of a merged cell is in all its places. The frames and notes of the cells are added to `aside`.
        """
        grid: list[list[str]] = []
        header_rows = 0
        covering: dict[int, str] = {}  # the text of the merged cell that covers each column
        for row, is_header in odt_rows(table):
            texts: list[str] = []
            for cell in row.iterchildren(_CELL, _COVERED):
                text = None if cell.tag == _COVERED else self._cell_text(cell, aside)
                self._append_repeated(cell, text, texts, covering)
            repeats = self._allowed_copies(_repeat_count(row, "number-rows-repeated"), len(texts)) if any(texts) else 1
            grid += [texts] * repeats
            header_rows += repeats if is_header else 0
        return grid, header_rows

    def _allowed_copies(self, count: int, cells: int) -> int:
        """Return how many of `count` copies of `cells` cells are still allowed; at least one."""
        allowed = max(1, min(count, 1 + self._copies_left // max(1, cells)))
        self._copies_left -= (allowed - 1) * cells
        return allowed

    def _append_repeated(self, cell: _Element, text: str | None, texts: list[str], covering: dict[int, str]) -> None:
        """Append a cell and its repetitions. If `text` is None, a merged cell covers it: use `covering[column]`."""
        repeats = min(_repeat_count(cell, "number-columns-repeated"), MAX_COLUMNS - len(texts))
        width = _repeat_count(cell, "number-columns-spanned")
        is_merged = width > 1 or _repeat_count(cell, "number-rows-spanned") > 1
        for _ in range(self._allowed_copies(repeats, 1) if text else repeats):
            place = len(texts)
            if text is not None:
                covering.pop(place, None)
                if is_merged:
                    covering |= dict.fromkeys(range(place, place + width), text)
            texts.append(covering.get(place, "") if text is None else text)

    def _cell_text(self, cell: _Element, aside: OfficeParagraph) -> str:
        """Return the text of a cell in one line. Semicolons separate the rows of a table inside the cell."""
        texts = []
        for child in cell:
            if child.tag in _PARAGRAPHS:
                paragraph = self._read(child)
                aside.boxes += paragraph.boxes
                aside.notes += paragraph.notes
                texts.append(" ".join(paragraph.text.split()))
            elif child.tag == f"{TABLE}table":
                texts.append("; ".join(filter(None, map(row_text, self._grid(child, aside)[0]))))
            elif child.tag not in _SKIPPED_ELEMENTS and not is_comment(child):
                texts.append(self._cell_text(child, aside))
        return " ".join(filter(None, texts))

    def _is_first_row_bold(self, table: _Element) -> bool:
        row = next((row for row, _ in odt_rows(table)), None)
        elements = [] if row is None else [element for cell in row.findall(_CELL) for element in cell.iter(f"{TEXT}p")]
        paragraphs = [read_odt_paragraph(element, self._styles) for element in elements]
        return all(paragraph.is_bold for paragraph in paragraphs if paragraph.text)

    def _write_aside(self, paragraph: OfficeParagraph) -> None:
        self._aside_depth += 1
        for box in paragraph.boxes:
            self.write(box)
        for mark, body in paragraph.notes:
            self.builder.add(f"{mark} {self._cell_text(body, OfficeParagraph())}")
            self._before = "prose"
        self._aside_depth -= 1


class OdtReader(DocumentReader):
    """Reads .odt and .ott files, without headers, footers, annotations, deleted or struck-out text, tables of contents.

    The document has no pages, since only some files of this format store page breaks.
    """

    name: ClassVar[str] = "odt"
    version: ClassVar[int] = 4

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged, encrypted or not a text document."""
        with refuse_damage(), open_archive(path) as archive:
            _refuse_encrypted(archive)
            content = _parse_part(archive, "content.xml")
            bodies = [] if content is None else content.findall(f"{OFFICE}body/{OFFICE}text")
            if content is None or not bodies:
                raise UnreadableDocument("is not an OpenDocument text: it has no text body")
            styles = OdtStyles(_parse_part(archive, "styles.xml"), content)
            writer = OdtWriter(styles, has_headings=next(content.iter(f"{TEXT}h"), None) is not None)
            for body in bodies:
                writer.write(body)
            return writer.build(_parse_part(archive, "meta.xml"), path.stem)


def _parse_part(archive: Archive, name: str) -> _Element | None:
    return parse_xml(archive.read_member(name)) if name in archive else None


def _refuse_encrypted(archive: Archive) -> None:
    if _MANIFEST in archive:
        # Older programs write a DOCTYPE without declarations.
        manifest = parse_xml(archive.read_member(_MANIFEST), plain_doctype=True)
        if next(manifest.iter(f"{{{NAMES}:manifest:1.0}}encryption-data"), None) is not None:
            raise UnreadableDocument("is encrypted: a password is needed")
