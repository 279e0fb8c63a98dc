"""Read Word files from their XML: headings, text, lists, tables, boxes and notes in order, with styles and numbers."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

from lxml.etree import _Element

from elt_llm_ingest.parsing.document_builder import EMBEDDED, STRUCK_OUT, blank_for, collapse_blanks
from elt_llm_ingest.parsing.document_reader import DocumentReader
from elt_llm_ingest.parsing.parsed_document import BlockKind, ParsedDocument
from elt_llm_ingest.parsing.xml_guard import is_comment
from elt_llm_ingest.readers.equations import EQUATION, linear_equation
from elt_llm_ingest.readers.headings import bold_heading_level, bullet_of_level, format_number, to_roman
from elt_llm_ingest.readers.office_package import (
    CHART,
    COMPATIBILITY,
    DIAGRAM,
    DRAWING,
    WORD,
    OfficeBodyWriter,
    OfficePackage,
    OfficeParagraph,
    StyledText,
    choose_alternatives,
    open_package,
    parse_number,
)
from elt_llm_ingest.readers.tables import may_be_header_row, row_text, write_grid

VALUE = f"{WORD}val"
_MOST_BASES = 20  # the most styles in a chain of styles that are each based on the next
_HEADING = re.compile(r"heading (\d)")
_BODY_LEVEL = 9
# Styles of tables of contents and of indexes.
_NAVIGATION = re.compile(r"toc (\d|heading)|table of (figures|authorities)|index \d")
_EMPHASIS = frozenset(("strong", "emphasis", "intenseemphasis", "subtleemphasis"))
_CODE = re.compile(r"code|preformatted|source text|macro text|plain text")


class ParagraphNumbering(NamedTuple):
    """The list and level of a numbered paragraph. If `level` is None, it is the list's level for the style `style`."""

    list_id: str
    level: int | None
    style: str


@lru_cache
def _word_path(path: str) -> str:
    return "/".join(WORD + step for step in path.split("/"))


def word_value(parent: _Element | None, path: str) -> str | None:
    """Return the w:val attribute of a descendant such as `pPr/pStyle`, or None."""
    element = None if parent is None else parent.find(_word_path(path))
    return None if element is None else element.get(VALUE)


def is_switched_on(parent: _Element | None, path: str) -> bool:
    """Return whether an on/off property such as `rPr/b` is on."""
    element = None if parent is None else parent.find(_word_path(path))
    return element is not None and element.get(VALUE, "true") not in {"0", "false", "off", "none"}


def is_struck(parent: _Element | None) -> bool | None:
    """Return whether a run or a style strikes the text out, once or twice; None if it does not set this."""
    paths = ("rPr/strike", "rPr/dstrike")
    if parent is None or all(parent.find(_word_path(path)) is None for path in paths):
        return None
    return any(is_switched_on(parent, path) for path in paths)


class DocxStyles:
    """The styles of a document. A paragraph inherits from its style and from all styles on which that is based."""

    def __init__(self, root: _Element | None) -> None:
        styles = [] if root is None else root.findall(f"{WORD}style")
        self._styles = {style.get(f"{WORD}styleId", ""): style for style in styles}
        self._outlines: dict[str | None, int | None] = {}

    def heading_level(self, paragraph: _Element) -> int | None:
        """Return the heading level, 1 to 9, from the paragraph itself or else from its style; None for other text."""
        outline = parse_number(word_value(paragraph, "pPr/outlineLvl"))
        if outline is None:
            style_id = word_value(paragraph, "pPr/pStyle")
            if style_id not in self._outlines:
                levels = map(_outline_level, self._chain(style_id))
                self._outlines[style_id] = next((level for level in levels if level is not None), None)
            outline = self._outlines[style_id]
        return outline + 1 if outline is not None and outline < _BODY_LEVEL else None

    def is_title(self, paragraph: _Element) -> bool:
        """Return whether a paragraph has the style of a document title."""
        return any(_style_name(style) == "title" for style in self._chain(word_value(paragraph, "pPr/pStyle")))

    def is_struck(self, paragraph: _Element, run: _Element | None) -> bool:
        """Return whether the text of a run is struck out by the run itself, its style or the paragraph's style."""
        names = (word_value(run, "rPr/rStyle"), word_value(paragraph, "pPr/pStyle"))
        formats = (run, *(style for name in names for style in self._chain(name)))
        return next((struck for one in formats if (struck := is_struck(one)) is not None), False)

    def name_of(self, paragraph: _Element) -> str:
        """Return the name of a paragraph's own style in small letters, or "" for a paragraph without a style."""
        style = self._styles.get(word_value(paragraph, "pPr/pStyle") or "")
        return "" if style is None else _style_name(style)

    def numbering(self, paragraph: _Element) -> ParagraphNumbering | None:
        """Return list and level of a paragraph, as the paragraph or else its style sets them; None without a number."""
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
        """Return whether a table style formats the first row as a header."""
        return any(
            part.get(f"{WORD}type") == "firstRow"
            for style in self._chain(table_style)
            for part in style.findall(f"{WORD}tblStylePr")
        )

    def _chain(self, style_id: str | None) -> Iterator[_Element]:
        for _ in range(_MOST_BASES):
            style = self._styles.get(style_id or "")
            if style is None:
                return
            yield style
            style_id = word_value(style, "basedOn")


def _style_name(style: _Element) -> str:
    return (word_value(style, "name") or "").casefold()


def _outline_level(style: _Element) -> int | None:
    outline = parse_number(word_value(style, "pPr/outlineLvl"))
    # Style names are English in every language of Word. Only the style ids are translated.
    if outline is None and (match := _HEADING.match(_style_name(style))):
        return int(match.group(1)) - 1
    return outline


_PLACE = re.compile(r"%([1-9])")
_LEVELS = range(9)


@dataclass(frozen=True)
class NumberingLevel:
    """The numbering of one list level.

    The numbers restart after each item of an outer level. If `restart` is set, only items of the levels from 1 (the
    outermost) to `restart` have this effect; 0 means that the numbers never restart.
    """

    start: int = 1
    format: str = "decimal"
    text: str = ""
    restart: int | None = None
    style: str = ""
    legal: bool = False


class DocxNumbering:
    """Counts the numbered paragraphs of a document. Call `label` once for each of them, in order."""

    def __init__(self, root: _Element | None, styles: DocxStyles) -> None:
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

        def number(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            number_format = "decimal" if level.legal else levels.get(place, NumberingLevel()).format
            return format_number(self._counts[counted].get(place, 1), number_format)

        return _PLACE.sub(number, level.text[:80]).strip()

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

    def _read(self, root: _Element, styles: DocxStyles) -> None:
        abstracts = {item.get(f"{WORD}abstractNumId", ""): item for item in root.findall(f"{WORD}abstractNum")}
        lists = {item.get(f"{WORD}numId", ""): item for item in root.findall(f"{WORD}num")}
        for list_id, element in lists.items():
            abstract_id = word_value(element, "abstractNumId") or ""
            # A definition may consist of a reference to a style. The style's list then refers to the actual definition.
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


def _numbering_levels(parent: _Element) -> dict[int, NumberingLevel]:
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


_SEPARATORS = frozenset(("separator", "continuationSeparator", "continuationNotice"))
_PARAGRAPH, _RUN, _TEXT = f"{WORD}p", f"{WORD}r", f"{WORD}t"
_BOX = f"{WORD}txbxContent"
_PAGE_BREAK = f"{WORD}lastRenderedPageBreak"
_ALTERNATIVES = f"{COMPATIBILITY}AlternateContent"
_TEXTS = (_TEXT, f"{DRAWING}t")
_SIGNS = {f"{WORD}tab": " ", f"{WORD}ptab": " ", f"{WORD}br": "\n", f"{WORD}cr": "\n", f"{WORD}noBreakHyphen": "-"}
_NOTES = {f"{WORD}footnoteReference": "footnote", f"{WORD}endnoteReference": "endnote"}
_OBJECTS = {
    f"{CHART}chart": "holds a chart, which is not read",
    f"{DIAGRAM}relIds": "holds a diagram, which is not read",
    f"{WORD}object": EMBEDDED,
}
_WORD_ART = "{urn:schemas-microsoft-com:vml}textpath"
# Common symbols of two fonts in Unicode, by their codes in the font as hexadecimal numbers.
_SYMBOLS = {
    font: dict(zip(map("{:02x}".format, codes), signs, strict=True))
    for font, codes, signs in (
        ("Symbol", b"DWabgdmp\xa3\xa5\xae\xb0\xb1\xb3\xb4\xb7\xb9\xbb", "ΔΩαβγδμπ≤∞→°±≥\u00d7•≠≈"),
        ("Wingdings", b"o\xa8\xdf\xe0\xfb\xfc\xfd\xfe", "☐☐←→✗✓☒☑"),
    )
}
# Elements without visible text: deleted or moved text, properties, ruby annotations and field codes.
_HIDDEN_ELEMENTS = frozenset(
    (
        *(f"{WORD}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "sdtPr", "sdtEndPr", "rt", "instrText")),
        *(f"{WORD}{name}" for name in ("tblPr", "trPr", "tcPr", "sectPr", "delText", "delInstrText")),
    )
)
_PAGES = "{http://schemas.openxmlformats.org/officeDocument/2006/extended-properties}Pages"
_FIRST_ROW = 0x20
_WIDEST = 63  # columns, the limit of Word


def _drawn_text(element: _Element) -> str | None:
    """Return the text that Word draws for a symbol, WordArt, a check box or list of an old form; else None.

    It is "" for an unknown symbol and for WordArt without words.
    """
    if element.tag == f"{WORD}sym":
        code = element.get(f"{WORD}char", "").casefold().removeprefix("f0").removeprefix("00")
        return _SYMBOLS.get(element.get(f"{WORD}font", ""), {}).get(code, "")
    if element.tag == f"{WORD}checkBox":
        state = "default" if element.find(f"{WORD}checked") is None else "checked"
        return "☒" if is_switched_on(element, state) else "☐"
    if element.tag == f"{WORD}ddList":
        chosen = parse_number(word_value(element, "result") or word_value(element, "default")) or 0
        return "".join(entry.get(VALUE, "") for entry in element.findall(f"{WORD}listEntry")[chosen : chosen + 1])
    if element.tag == _WORD_ART:
        words = element.get("string", "").strip()
        return f" {words} " if words else ""
    return None


class DocxNotes:
    """Numbers notes in the order of their references. Footnotes are numbered `[1]`, endnotes `[i]`."""

    def __init__(self, parts: dict[str, _Element | None]) -> None:
        self._texts: dict[tuple[str, str], _Element] = {}
        self._counts = dict.fromkeys(parts, 0)
        self._pending: list[tuple[str, _Element]] = []
        for kind, part in parts.items():
            for note in () if part is None else part.findall(f"{WORD}{kind}"):
                if note.get(f"{WORD}type") not in _SEPARATORS:
                    self._texts[kind, note.get(f"{WORD}id", "")] = note

    def mark(self, kind: str, note_id: str) -> str:
        """Return the mark of a "footnote" or "endnote", such as `[1]`; "" if it is unknown or was referenced before."""
        note = self._texts.pop((kind, note_id), None)
        if note is None:
            return ""
        self._counts[kind] += 1
        mark = f"[{self._counts[kind] if kind == 'footnote' else to_roman(self._counts[kind])}]"
        self._pending.append((mark, note))
        return mark

    def take(self) -> list[tuple[str, _Element]]:
        """Return the mark and the element of each note that was referenced since the last call."""
        pending, self._pending = self._pending, []
        return pending


def _visible_elements(paragraph: _Element) -> Iterator[tuple[_Element, _Element | None]]:
    """Yield the elements of a paragraph in order, each with the run (`w:r`, text of one format) that contains it.

    The run is None for an element outside of runs, such as a link. Of a hidden run, only the run itself is yielded, so
    that the caller can note it. The inner elements of boxes and equations are not yielded either. There is no
    recursion, since links, controls and insertions may be nested to any depth.
    """
    pending: list[tuple[_Element, _Element | None]] = [(paragraph, None)]
    while pending:
        element, run = pending.pop()
        if element.tag in _HIDDEN_ELEMENTS or is_comment(element):
            continue
        if element.tag == _RUN:
            run = element
            if is_switched_on(run, "rPr/vanish"):
                yield run, run
                continue
        else:
            yield element, run
        if element.tag not in (_BOX, EQUATION):
            inner = choose_alternatives(element) if element.tag == _ALTERNATIVES else list(element)
            pending += [(child, run) for child in reversed(inner)]


def trusted_page_count(package: OfficePackage, document: _Element) -> int | None:
    """Return the page count in the document properties if the page breaks in the file agree with it, else None.

    The breaks come from the last program that laid out the file, with its fonts and printer, and breaks before empty
    paragraphs are missing. Since a wrong page number is worse than none, the number of breaks must match the page count
    in the properties, and no table row may have breaks in several cells.
    """
    breaks = _count_breaks(document)
    properties = package.related_part("", "extended-properties") if breaks else None
    pages = None if properties is None else parse_number((properties.findtext(_PAGES) or "").strip())
    rows = (row for row in document.iter(f"{WORD}tr") if _count_breaks(row))
    split_once = all(sum(_count_breaks(cell) > 0 for cell in row.findall(f"{WORD}tc")) <= 1 for row in rows)
    return pages if pages == breaks + 1 and split_once else None


def count_page_breaks(element: _Element) -> tuple[int, int]:
    """Count the pages that start before the first text of an element, and the pages that start after it."""
    before = after = 0
    has_text = False
    for child in element.iter(_PAGE_BREAK, _TEXT):
        if child.tag != _PAGE_BREAK:
            has_text = has_text or bool((child.text or "").strip())
        elif has_text:
            after += 1
        else:
            before += 1
    return before, after


def _count_breaks(element: _Element) -> int:
    return sum(1 for _ in element.iter(_PAGE_BREAK))


def docx_rows(table: _Element) -> list[_Element]:
    """Return the rows of a table, without those that a tracked change deletes."""
    return [row for row in _elements_inside(table, f"{WORD}tr") if not is_switched_on(row, "trPr/del")]


def docx_cells(row: _Element) -> list[_Element]:
    """Return the cells of a row, including those inside content controls (fields of a form)."""
    return list(_elements_inside(row, f"{WORD}tc"))


def is_docx_layout_table(table: _Element, styles: DocxStyles) -> bool:
    """Return whether a table serves only for layout: it has at most one column, or contains headings."""
    rows = [docx_cells(row) for row in docx_rows(table)]
    if all(len(cells) <= 1 for cells in rows):
        return True
    paragraphs = (paragraph for cells in rows for cell in cells for paragraph in cell.findall(_PARAGRAPH))
    return any(styles.heading_level(paragraph) for paragraph in paragraphs)


def docx_header_rows(table: _Element, styles: DocxStyles, first: Sequence[str]) -> int:
    """Count the header rows of a table.

    These are the rows that the file repeats on each page. If there are none, the first row is a header if it is bold
    or specially styled. `first` contains its texts: if one is empty or repeated, the row is not a header.
    """
    rows = docx_rows(table)
    count = 0
    while count < len(rows) - 1 and is_switched_on(rows[count], "trPr/tblHeader"):
        count += 1
    if count or len(rows) < 2 or not may_be_header_row(first):
        return count
    bold = all(_is_bold_cell(cell) for cell in docx_cells(rows[0]))
    styled = _has_special_first_row(table) and styles.has_header_row(word_value(table, "tblPr/tblStyle"))
    return 1 if bold or styled else 0


def docx_grid(table: _Element, read_cell: Callable[[_Element], str]) -> list[list[str]]:
    """Return the texts of all rows. The text of a merged cell is repeated in each position that it covers."""
    rows: list[list[str]] = []
    for row in docx_rows(table):
        above = rows[-1] if rows else []
        texts = [""] * min(parse_number(word_value(row, "trPr/gridBefore")) or 0, _WIDEST)
        for cell in docx_cells(row):
            merge = cell.find(f"{WORD}tcPr/{WORD}vMerge")
            covered = merge is not None and merge.get(f"{WORD}val", "continue") == "continue"
            text = read_cell(cell)
            if covered and not text and len(texts) < len(above):
                text = above[len(texts)]
            texts += [text] * max(1, min(parse_number(word_value(cell, "tcPr/gridSpan")) or 1, _WIDEST - len(texts)))
        rows.append(texts)
    return rows


def _elements_inside(parent: _Element, tag: str) -> Iterator[_Element]:
    """Yield the elements in `parent` that have this tag, including those inside controls and insertions."""
    pending = list(reversed(parent))
    while pending:
        element = pending.pop()
        if element.tag == tag:
            yield element
        elif element.tag not in _HIDDEN_ELEMENTS:
            pending += reversed(element)


def _is_bold_cell(cell: _Element) -> bool:
    runs = [run for run in cell.iter(_RUN) if any((text.text or "").strip() for text in run.iter(_TEXT))]
    return bool(runs) and all(is_switched_on(run, "rPr/b") for run in runs)


def _has_special_first_row(table: _Element) -> bool:
    look = table.find(f"{WORD}tblPr/{WORD}tblLook")
    if look is None:
        return False
    if (first := look.get(f"{WORD}firstRow")) is not None:
        return first in {"1", "true", "on"}
    try:
        return bool(int(look.get(f"{WORD}val", "0"), 16) & _FIRST_ROW)
    except ValueError:
        return False


class DocxBodyWriter(OfficeBodyWriter):
    """Writes the blocks of a Word body. `paged` is true if the document's page breaks can be trusted."""

    def __init__(self, package: OfficePackage, document: _Element, *, paged: bool) -> None:
        super().__init__()
        self._styles = DocxStyles(package.related_part(package.main, "styles"))
        self._numbering = DocxNumbering(package.related_part(package.main, "numbering"), self._styles)
        parts = {kind: package.related_part(package.main, f"{kind}s") for kind in ("footnote", "endnote")}
        self._notes = DocxNotes(parts)
        self._paged = paged
        self._has_headings = any(self._styles.heading_level(paragraph) for paragraph in document.iter(_PARAGRAPH))
        self._boxes: list[_Element] = []
        self._start_pages(1)

    def write(self, container: Iterable[_Element]) -> None:
        """Append the content of a body, a cell, a control or a box."""
        for child in container:
            if child.tag == _PARAGRAPH:
                self._write_paragraph(child)
                self._write_aside()
            elif child.tag == f"{WORD}tbl":
                self._write_table(child)
                self._write_aside()
            elif child.tag == _ALTERNATIVES:
                self.write(choose_alternatives(child))
            elif child.tag == f"{WORD}altChunk":
                self.left_out.add("holds an embedded document, which is not read")
            elif child.tag not in _HIDDEN_ELEMENTS and not is_comment(child):
                self.write(child)

    def _write_paragraph(self, element: _Element) -> None:
        style = self._styles.name_of(element)
        if _NAVIGATION.match(style):
            self._start_pages(sum(count_page_breaks(element)))
            return
        paragraph, label = self._read(element)
        level = self._styles.heading_level(element)
        text = paragraph.text
        if self._styles.is_title(element) and text:
            self.title = self.title or " ".join(text.split())
            level = level or 1
        if level is None and not self._has_headings and not self._aside_depth:
            level = bold_heading_level(text, bold=paragraph.is_bold)
        if level is not None and text:
            before, after = count_page_breaks(element)
            self._start_pages(before)
            self.builder.add_heading(" ".join(f"{label} {text}".split()), level)
            self._before = "heading"
            self._start_pages(after)
        else:
            first = self.builder.count
            part = "term" if "definition term" in style else "body" if "definition" in style else ""
            kind = self._kind(paragraph, label, is_item=bool(label), defines=bool(part))
            self._write_text(paragraph, label, "code" if _CODE.search(style) else kind)
            self._mark_terms(first, label, paragraph.lead, part)

    def _read(self, element: _Element) -> tuple[OfficeParagraph, str]:
        """Return the visible text of a paragraph, and its list label, such as "2.1" or a bullet, or "".

        The text boxes in it are only collected here, and `_write_aside` writes them after the paragraph.
        """
        read = OfficeParagraph()
        for child, run in _visible_elements(element):
            tag = child.tag
            if tag in _TEXTS:
                style = (word_value(run, "rPr/rStyle") or "").casefold()
                is_emphasis = is_switched_on(run, "rPr/i") or style in _EMPHASIS
                text = child.text or ""
                struck = text.strip() and self._styles.is_struck(element, run)
                self.left_out |= {STRUCK_OUT} if struck else set()
                text = blank_for(text) if struck else text
                raised = word_value(run, "rPr/vertAlign") == "superscript"
                read.add(text, is_switched_on(run, "rPr/b"), emphasis=is_emphasis, raised=raised)
            elif tag == EQUATION:
                read.pieces.append(StyledText(linear_equation(child)))
            elif tag in _SIGNS:
                read.pieces.append(StyledText(_SIGNS[tag], is_switched_on(run, "rPr/b")))
            elif tag in _NOTES:
                if not self._styles.is_struck(element, run):
                    read.pieces.append(StyledText(self._notes.mark(_NOTES[tag], child.get(f"{WORD}id", ""))))
            elif tag == _PAGE_BREAK:
                read.pieces.append(None)
            elif tag == _BOX:
                self._boxes.append(child)
            elif not self._styles.is_struck(element, run):
                self._read_object(child, read)
        numbered = self._styles.numbering(element)
        return read, self._numbering.label(numbered) if numbered else ""

    def _read_object(self, element: _Element, read: OfficeParagraph) -> None:
        """Add what an element other than text shows, or note that it is not read."""
        if element.tag == _RUN:
            self.left_out.add("holds hidden text, which is not read")
        elif element.tag in _OBJECTS:
            self.left_out.add(_OBJECTS[str(element.tag)])
        elif text := _drawn_text(element):
            read.add(text, bold=None)
        elif text is not None and element.tag == f"{WORD}sym":
            self.left_out.add(f"holds symbols of the font {element.get(f'{WORD}font', '')[:40]}, which are not read")

    def _write_text(self, paragraph: OfficeParagraph, label: str, kind: BlockKind) -> None:
        """Append a paragraph. If a page starts inside it, the paragraph continues on the new page."""
        segments: list[list[str]] = [[]]
        for piece in paragraph.pieces:
            if piece is not None:
                segments[-1].append(piece.text)
            elif self._paged:
                segments.append([])
        written = False
        for number, segment in enumerate(map("".join, segments)):
            if number:
                self.builder.start_page()
            text = segment.replace("\r", "").expandtabs(4).strip("\n") if kind == "code" else collapse_blanks(segment)
            if written and text:
                self.builder.resume(text)
            elif text:
                tight = kind == self._before and kind in {"list", "code"}
                self.builder.add(f"{label} {text}", kind, tight=tight)
                self._before, written = kind, True

    def _start_pages(self, count: int) -> None:
        for _ in range(count if self._paged else 0):
            self.builder.start_page()

    def _write_table(self, table: _Element) -> None:
        if is_docx_layout_table(table, self._styles):
            for row in docx_rows(table):
                for cell in docx_cells(row):
                    self.write(cell)
            return
        pages = [0]
        for before, after in map(count_page_breaks, docx_rows(table) if self._paged else ()):
            pages[-1] += before
            pages.append(after)
        rows = docx_grid(table, self._cell_text)
        header = docx_header_rows(table, self._styles, rows[0] if rows else ())
        write_grid(self.builder, rows, header, pages)
        self._start_pages(pages[-1])
        self._before = "table"

    def _cell_text(self, cell: _Element) -> str:
        """Return the text of a cell in one line. Semicolons separate the rows of a table inside the cell."""
        texts = []
        for child in cell:
            if child.tag == _PARAGRAPH:
                paragraph, label = self._read(child)
                texts.append(" ".join(f"{label} {paragraph.text}".split()) if paragraph.text else "")
            elif child.tag == f"{WORD}tbl":
                texts.append("; ".join(filter(None, map(row_text, docx_grid(child, self._cell_text)))))
            elif child.tag not in _HIDDEN_ELEMENTS and not is_comment(child):
                texts.append(self._cell_text(child))
        return " ".join(filter(None, texts))

    def _write_aside(self) -> None:
        boxes, self._boxes = self._boxes, []
        self._aside_depth += 1
        for box in boxes:
            self.write(box)
        for mark, note in self._notes.take():
            self.builder.add(f"{mark} {self._cell_text(note)}")
            self._before = "prose"
        self._aside_depth -= 1


class DocxReader(DocumentReader):
    """Reads Word files, without their headers, footers, comments, deletions, struck-out text and tables of contents."""

    name: ClassVar[str] = "docx"
    version: ClassVar[int] = 6

    def read(self, path: Path) -> ParsedDocument:
        """Parse the file; raise UnreadableDocument if it is damaged, encrypted or not a Word file."""
        with open_package(path, f"{WORD}document") as (package, document):
            pages = trusted_page_count(package, document)
            writer = DocxBodyWriter(package, document, paged=pages is not None)
            for body in document.findall(f"{WORD}body"):
                writer.write(body)
            read = writer.build(package.related_part("", "core-properties"), path.stem)
        # A page break in content that was not read, such as a deletion, would shift all pages after it.
        return read if len(read.pages) == pages else replace(read, pages=())
