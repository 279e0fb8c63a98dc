"""Read XLSX, XLS and ODS workbooks as sheets of typed cells, within checked size limits."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from html import unescape
from io import BytesIO
from itertools import product
from math import isfinite
from pathlib import Path
from posixpath import dirname, join, normpath
from types import SimpleNamespace
from typing import Any, NamedTuple

from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.store.records import MetadataValue
from lxml.etree import _Element
from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from elt_llm_ingest.parsing.archive import Archive, open_archive
from elt_llm_ingest.parsing.document_builder import blank_for
from elt_llm_ingest.parsing.document_reader import read_bytes
from elt_llm_ingest.parsing.opendocument import OFFICE, TABLE, TEXT, OpenStyles, styled_texts
from elt_llm_ingest.parsing.parsed_document import known_values
from elt_llm_ingest.parsing.xml_guard import check_xml_members, parse_xml

MAX_CELLS = 5_000_000  # cells between the first and the last filled cell of a sheet
_COLUMN = re.compile(rb"\sr\s{0,3}=\s{0,3}[\"']([A-Za-z]{1,3})[0-9]")
_ROW = re.compile(rb"\sr\s{0,3}=\s{0,3}[\"'][A-Za-z]{1,3}([0-9]{1,9})")
_CELL = re.compile(rb"<(?:[\w.-]{1,20}:)?c\s([^>]{1,300})>")
_FORMULA = rb"(?:<f[^>]{0,300}/>|<f[^>]{0,300}>[^<]{0,9000}</f>)?"
_ERROR = re.compile(rb"<c\s([^>]{1,300})>" + _FORMULA + rb"<v>(#[A-Z/0!?]{2,12})</v>")
_IS_ERROR = b't="e"'
_FORMATTED = re.compile(
    rb"<(?:[\w.-]{1,20}:)?c\s([^>]{0,200}\bs=[\"']([0-9]{1,6})[\"'][^>]{0,200})(?<!/)><"
    rb"(?:[\w.-]{1,20}:)?[fiv]"
)
_SHARED = re.compile(
    rb"<(?:[\w.-]{1,20}:)?c\s([^>]{0,200}\bt=[\"']s[\"'][^>]{0,200})><(?:[\w.-]{1,20}:)?v>([0-9]{1,9})<"
)
Position = tuple[int, int]


class NumberFormat(NamedTuple):
    """How a workbook displays a number: the decimal places, and a sign such as % or $ before or after it."""

    places: int
    before: str = ""
    after: str = "%"

    def text(self, value: float) -> str:
        """Return a number as displayed, but with its cents, and all digits if they are few: 12.5%, 33%, $0.0035."""
        percent = self.after == "%"
        number = Decimal(format(value, ".15g")).scaleb(2 if percent else 0).normalize()
        exact = -int(number.as_tuple().exponent) if len(number.as_tuple().digits) <= _MOST_EXACT_DIGITS else 0
        places = max(min(self.places, _MOST_PLACES), exact, 0 if percent or number == number.to_integral_value() else 2)
        digits = abs(number).quantize(Decimal(1).scaleb(-places), context=_UNBOUNDED)
        return f"{'-' * (number < 0)}{self.before}{digits:{'' if percent else ','}f}{self.after}"


@dataclass
class SheetExtent:
    """The size of a sheet's filled area. `errors` maps the (row, column) of a cell, from 0, to its error value.

    `struck` maps the position of each cell with struck-out text to the rest of its text, and `formats` that of each
    percentage or amount of money to its format.
    """

    rows: int = 0
    columns: int = 0
    errors: dict[Position, str] = field(default_factory=dict)
    struck: dict[Position, str] = field(default_factory=dict)
    formats: dict[Position, NumberFormat] = field(default_factory=dict)

    @property
    def is_too_large(self) -> bool:
        """Whether the filled area has more cells than the limit."""
        return self.rows * self.columns > MAX_CELLS

    @property
    def description(self) -> str:
        """The size of the filled area and the limit, as words for a message."""
        return f"spreads over {self.rows:,} rows and {self.columns:,} columns, more than {MAX_CELLS:,} cells"


@dataclass(frozen=True)
class CellFormats:
    """The numbers of an XLSX file's formats that strike text out, and those for percentages and amounts of money.

    `strings` maps the numbers of texts with struck-out words to the rest of these texts.
    """

    struck: frozenset[bytes] = frozenset()
    numbers: Mapping[bytes, NumberFormat] = field(default_factory=dict)
    strings: Mapping[bytes, str] = field(default_factory=dict)


def xlsx_extent(xml: bytes, formats: CellFormats | None = None) -> SheetExtent:
    """Measure the filled area of a sheet in the XML of an XLSX file, and find its cells with errors and formats."""
    formats = formats or CellFormats()
    extent = _bounding_box(set(_COLUMN.findall(xml)), set(_ROW.findall(xml)))
    if extent.is_too_large:
        # Only cells with content count, since whole columns may be formatted but empty.
        filled = [match.group() for match in _CELL.finditer(xml) if not match.group().endswith(b"/>")]
        extent = _bounding_box(
            {name for cell in filled for name in _COLUMN.findall(cell)},
            {name for cell in filled for name in _ROW.findall(cell)},
        )
    errors = [found for found in _ERROR.findall(xml) if _IS_ERROR in found[0]] if _IS_ERROR in xml else []
    for attributes, value in errors:
        extent.errors |= {place: value.decode("ascii") for place in _positions(attributes)}
    for attributes, number in _SHARED.findall(xml) if formats.strings else ():
        if number in formats.strings:
            extent.struck |= dict.fromkeys(_positions(attributes), formats.strings[number])
    for attributes, style in _FORMATTED.findall(xml) if formats.struck or formats.numbers else ():
        extent.struck |= dict.fromkeys(_positions(attributes) if style in formats.struck else (), "")
        if style in formats.numbers:
            extent.formats |= dict.fromkeys(_positions(attributes), formats.numbers[style])
    return extent


def _positions(attributes: bytes) -> Iterator[Position]:
    """Yield the position that the attributes of an XLSX cell state, if any."""
    column, row = _COLUMN.search(b" " + attributes), _ROW.search(b" " + attributes)
    if column and row:
        yield int(row.group(1)) - 1, _column_number(column.group(1)) - 1


def _cell_formats(archive: Archive) -> CellFormats:
    strings = dict(_struck_strings(archive))
    name = dict(_relations(archive, _WORKBOOK).values()).get("styles") if _WORKBOOK in archive else None
    root = parse_xml(archive.read_member(name)) if name else None
    if root is None:
        return CellFormats(strings=strings)
    fonts = {f"{n}" for n, font in enumerate(root.iterfind("{*}fonts/{*}font")) if _strikes(font)}
    codes = {it.get("numFmtId", ""): it.get("formatCode", "") for it in root.iterfind("{*}numFmts/{*}numFmt")}
    read = {number: _number_format(code) for number, code in {**_PERCENT_CODES, **codes}.items()}
    struck: set[bytes] = set()
    numbers: dict[bytes, NumberFormat] = {}
    for number, one in enumerate(root.iterfind("{*}cellXfs/{*}xf")):
        if one.get("fontId") in fonts:
            struck.add(b"%d" % number)
        if (shown := read.get(one.get("numFmtId", ""))) is not None:
            numbers[b"%d" % number] = shown
    return CellFormats(frozenset(struck), numbers, strings)


_PERCENT_CODES = {"9": "0%", "10": "0.00%"}  # the formats for percentages that XLSX files need not define
_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|[\\_*].')
_CONDITION = re.compile(r"\[[<>=]")
_CURRENCY = re.compile(r'\[\$([^\]-]{1,5})[^\]]{0,20}\]|"\s?([$£€¥]|[A-Z]{3})\s?"|(?<!\[)([$£€¥])')


def _number_format(code: str) -> NumberFormat | None:
    """Return a format for percentages or money, such as `0.0%;-0.0%` or `"$"#,##0.00`; None for another format."""
    first, shown = (text.partition(";")[0] for text in (code, _LITERAL.sub("", code)))
    places = len(re.findall("[0#?]", shown.partition(".")[2]))
    sign, digit = _CURRENCY.search(first), re.search("[0#?]", first)
    if _CONDITION.search(code) or not digit or shown.rstrip().endswith(","):  # a comma at the end divides by 1,000
        return None
    if sign is None or "%" in shown:
        return NumberFormat(places) if shown.count("%") == 1 else None
    name = next(filter(None, sign.groups())).strip()
    if sign.start() > digit.start():
        return NumberFormat(places, "", f" {name}")
    return NumberFormat(places, name if len(name) == 1 else f"{name} ", "")


_MOST_EXACT_DIGITS = 6
_MOST_PLACES = 15
_UNBOUNDED = Context(prec=999, rounding=ROUND_HALF_UP)  # more digits than any float has


def _strikes(font: _Element | None) -> bool:
    switch = None if font is None else font.find("{*}strike")
    return switch is not None and switch.get("val", "1") not in {"0", "false"}


def _struck_strings(archive: Archive) -> Iterator[tuple[bytes, str]]:
    """Yield the number of each text of an XLSX file with struck-out words, and the rest of the text."""
    name = dict(_relations(archive, _WORKBOOK).values()).get("sharedStrings") if _WORKBOOK in archive else None
    xml = archive.read_member(name) if name else b""
    for number, text in enumerate(parse_xml(xml).iterfind("{*}si") if b"strike" in xml else ()):
        runs = [(run.findtext("{*}t") or "", _strikes(run.find("{*}rPr"))) for run in text.iterfind("{*}r")]
        if any(struck and words.strip() for words, struck in runs):
            yield b"%d" % number, "".join(blank_for(words) if struck else words for words, struck in runs)


def _bounding_box(columns: set[bytes], rows: set[bytes]) -> SheetExtent:
    if not columns or not rows:
        return SheetExtent()
    across, down = [*map(_column_number, columns)], [*map(int, rows)]
    return SheetExtent(max(down) - min(down) + 1, max(across) - min(across) + 1)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


_WORKBOOK = "xl/workbook.xml"
_PROPERTIES = ("docProps/core.xml", "meta.xml")
_CONTENT, _STYLES = "content.xml", "styles.xml"
_PIECE = 65_536
_WITH_CELLS = re.compile(r"xl/(?:worksheets/)?[^/]{1,200}\.xml|xl/(?:worksheets/)?_rels/[^/]{1,200}\.rels")
_YEAR = re.compile(r"(?:19|20)\d\d(?=-|$)")
# Names that programs write when they do not know the author.
_NO_AUTHOR = ("openpyxl", "xlsxwriter", "apache poi", "microsoft office user", "unknown", "user", "author")


@dataclass(frozen=True)
class SheetRemarks:
    """The comments, the text boxes, the chart labels and the formulas of a sheet, as lines of text.

    For example, a comment is `Comment on B2 (Ann): Check the fee`. There is one line for each chart, and one for each
    distinct formula.
    """

    lines: tuple[str, ...] = ()
    uncalculated: int = 0
    """The number of formulas without a stored value, as in files that no spreadsheet program has saved."""


@dataclass(frozen=True)
class _Package:
    """Contents of a workbook's zip package that the library for reading cells ignores.

    XLSX sheets are identified by name, and ODS sheets by their index (from 0). `merged` lists the merged ranges of ODS
    sheets as first and last (row, column), both counted from 0 in the whole sheet.
    """

    extents: Mapping[str | int, SheetExtent] = field(default_factory=dict)
    remarks: Mapping[str | int, SheetRemarks] = field(default_factory=dict)
    merged: Mapping[int, Sequence[tuple[Position, Position]]] = field(default_factory=dict)
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)


def _check_package(path: Path) -> _Package:
    """Check the zip package of a workbook before a library opens the file, and return the package's contents."""
    with open_archive(path) as archive:
        archive.check_members()
        check_xml_members(archive)
        for name in archive.names:
            if name == _CONTENT or _WITH_CELLS.fullmatch(name):
                _check_well_formed(archive, name)
        metadata = _package_metadata(archive)
        if _CONTENT in archive:
            roots = [parse_xml(archive.read_member(name)) for name in (_STYLES, _CONTENT) if name in archive]
            styles, sheets = OpenStyles(*roots), list(roots[-1].iter(f"{TABLE}table"))
            extents = list(map(ods_extent, sheets))
            # The file is refused if one sheet is beyond the limit, since the library loads all sheets at once.
            for number, extent in enumerate(extents, 1):
                if extent.is_too_large:
                    raise UnreadableDocument(f"is too large: sheet {number} {extent.description}")
                extent.struck = dict(_struck_ods_cells(sheets[number - 1], styles)) if styles.strike_out else {}
                extent.formats = dict(_ods_percentages(sheets[number - 1]))
            remarks, merged = zip(*map(_ods_contents, sheets), strict=True) if sheets else ((), ())
            return _Package(dict(enumerate(extents)), dict(enumerate(remarks)), dict(enumerate(merged)), metadata)
        parts, formats = _sheet_parts(archive), _cell_formats(archive)
        return _Package(
            {name: xlsx_extent(archive.read_member(part), formats) for name, part in parts.items()},
            {name: _sheet_remarks(archive, part) for name, part in parts.items()},
            metadata=metadata,
        )


def _check_well_formed(archive: Archive, name: str) -> None:
    """Check that the XML of a member is complete, since the library may never return on truncated XML."""
    from lxml import etree

    discard: Any = SimpleNamespace(close=lambda: None)
    parser = etree.XMLParser(target=discard, resolve_entities=False, no_network=True, huge_tree=False)
    try:
        data = archive.read_member(name)
        # The XML is parsed in pieces, since the parser refuses a buffer of tens of megabytes as an attack.
        for start in range(0, len(data), _PIECE):
            parser.feed(data[start : start + _PIECE])
        parser.close()
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableDocument(f"holds damaged XML, in {name[:80]!a}: {error}") from error


def _sheet_parts(archive: Archive) -> dict[str, str]:
    """Map the names of an XLSX file's sheets to their members in the package; empty for other files."""
    relations = _relations(archive, _WORKBOOK) if _WORKBOOK in archive else {}
    parts: dict[str, str] = {}
    for sheet in parse_xml(archive.read_member(_WORKBOOK)).iterfind("{*}sheets/{*}sheet") if relations else ():
        relation = next((str(value) for key, value in sheet.items() if str(key).endswith("}id")), "")
        if relation in relations:
            _, parts[sheet.get("name", "")] = relations[relation]
    return parts


_CELL_FORMULA = re.compile(
    rb"<(?:[\w.-]{1,20}:)?c\s([^>]{1,300})><(?:[\w.-]{1,20}:)?f([^>]{0,300})>([^<]{1,8200})</(?:[\w.-]{1,20}:)?f>"
)
_WITHOUT_VALUE = re.compile(rb"</(?:[\w.-]{1,20}:)?f>\s{0,9}(?:<v ?/>|<v></v>)?\s{0,9}</")
_REFERENCE = re.compile(r"(?<![\w$.\[])(\$?)([A-Z]{1,3})(\$?)([1-9][0-9]{0,6})(?![\w(])")
_CELL_NAME = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_FORMULA_RANGE = re.compile(rb'\sref="([A-Z0-9:]{2,25})"')
_MOST_FORMULAS = 200
_LONGEST_REMARK = 2000


def _sheet_remarks(archive: Archive, part: str) -> SheetRemarks:
    targets = _relations(archive, part).values()
    threads = [_thread_lines(archive, name) for kind, name in targets if kind == "threadedComment"]
    notes = [_note_lines(archive, name) for kind, name in targets if kind == "comments"]
    drawings = [drawing for kind, drawing in targets if kind == "drawing"]
    boxes = (f"Text box: {text}"[:_LONGEST_REMARK] for drawing in drawings for text in _box_texts(archive, drawing))
    charts = [
        _chart_labels(archive, chart)
        for drawing in drawings
        for chart_kind, chart in _relations(archive, drawing).values()
        if chart_kind == "chart"
    ]
    xml = archive.read_member(part)
    comments = (line for lines in (*threads, *notes, boxes) for line in lines)
    return SheetRemarks((*comments, *filter(None, charts), *xlsx_formulas(xml)), len(_WITHOUT_VALUE.findall(xml)))


def _box_texts(archive: Archive, drawing: str) -> Iterator[str]:
    """Yield the texts of the text boxes and shapes of a sheet, without those that replace what Excel cannot show."""
    for body in parse_xml(archive.read_member(drawing)).iter("{*}txBody"):
        lines = ("".join(text.text or "" for text in line.iter("{*}t")) for line in body.iter("{*}p"))
        text = " ".join(" ".join(lines).split())
        if text and next(body.iterancestors("{*}Fallback"), None) is None:
            yield text


def _relations(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Map the relation ids of a package member to the kinds and names of the members that it refers to."""
    folder = dirname(part)
    relations = f"{folder}/_rels/{part[len(folder) + 1 :]}.rels"
    if relations not in archive:
        return {}
    found = {}
    for number, relation in enumerate(parse_xml(archive.read_member(relations))):
        name = normpath(join("/", folder, relation.get("Target", ""))).lstrip("/")
        if name in archive:
            kind = relation.get("Type", "").rsplit("/", 1)[-1]
            found[relation.get("Id") or f"{number}"] = kind, name
    return found


def _note_lines(archive: Archive, name: str) -> Iterator[str]:
    """Yield the notes on cells, except those that Excel adds for its older versions as copies of threaded comments."""
    root = parse_xml(archive.read_member(name))
    authors = ["".join(map(str, author.itertext())) for author in root.iterfind("{*}authors/{*}author")]
    for comment in root.iterfind("{*}commentList/{*}comment"):
        number = comment.get("authorId", "")
        author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
        text = "".join(part.text or "" for part in comment.iter("{*}t"))
        if not author.startswith("tc="):
            yield _remark("Comment on", comment.get("ref", ""), author, text.removeprefix(f"{author}:"))


def _thread_lines(archive: Archive, name: str) -> Iterator[str]:
    members = (parse_xml(archive.read_member(it)) for it in archive.names if it.startswith("xl/persons/"))
    people = {person.get("id"): person.get("displayName", "") for member in members for person in member}
    for comment in parse_xml(archive.read_member(name)).iterfind("{*}threadedComment"):
        kind = "Reply on" if comment.get("parentId") else "Comment on"
        author = people.get(comment.get("personId"), "")
        yield _remark(kind, comment.get("ref", ""), author, comment.findtext("{*}text") or "")


def _remark(kind: str, place: str, author: str, text: str) -> str:
    by = f" ({' '.join(author.split())[:100]})" if author.strip() else ""
    return f"{kind} {place}{by}: {' '.join(text.split())[:_LONGEST_REMARK]}"


def _chart_labels(archive: Archive, name: str) -> str:
    """Return a chart's titles, series names and categories as one line; "" if the chart has none of these."""
    root = parse_xml(archive.read_member(name))
    chart = root.find("{*}chart")
    if chart is None:
        return ""
    title = chart.find("{*}title")
    axes = [_runs(axis) for axis in chart.iterfind("{*}plotArea/*/{*}title")]
    series = [_cached_values(text) for text in chart.iterfind(".//{*}ser/{*}tx")]
    first = chart.find(".//{*}ser/{*}cat")
    parts = [
        ("Axes", ", ".join(filter(None, axes))),
        ("Series", ", ".join(filter(None, series))),
        ("Categories", _cached_values(first) if first is not None else ""),
    ]
    labels = "; ".join(f"{label}: {value}" for label, value in parts if value)
    heading = " ".join(filter(None, ("Chart", _runs(title) if title is not None else "")))
    return f"{heading}. {labels}"[:_LONGEST_REMARK] if labels or heading != "Chart" else ""


def _runs(element: _Element) -> str:
    texts = "".join(run.text or "" for run in element.iter("{*}t"))
    return " ".join((texts or _cached_values(element)).split())


def _cached_values(element: _Element) -> str:
    return ", ".join(" ".join(value.text.split()) for value in element.iter("{*}v") if value.text)


def xlsx_formulas(xml: bytes) -> list[str]:
    """Return a line such as `Formula in C2:C90: A2*B2` for each distinct formula in the XML of an XLSX sheet.

    Cells with the same formula relative to their position share a line, which shows the formula of the first cell.
    """
    if b"<f" not in xml and b":f>" not in xml:
        return []
    cells = []
    for attributes, options, formula in _CELL_FORMULA.findall(xml):
        shared = _FORMULA_RANGE.search(options)
        for row, column in _positions(attributes):
            here = f"{_column_name(column + 1)}{row + 1}"
            place = shared.group(1).decode("ascii") if shared else here
            cells.append((here, place, unescape(formula.decode("utf-8", "replace"))))
    return formula_lines(cells)


def formula_lines(cells: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return one line for each group of formulas that are the same relative to the cells that contain them.

    `cells` lists the cell, the range and the text of each formula. A2*B2 in C2 and A3*B3 in C3 share one line.
    """
    groups: dict[str, tuple[str, list[str]]] = {}
    for cell, place, formula in cells:
        groups.setdefault(_relative_formula(cell, formula), (formula, []))[1].append(place)
    lines = [
        f"Formula in {_place_names(places)}: {' '.join(formula.split())[:_LONGEST_REMARK]}"
        for formula, places in groups.values()
    ]
    if len(lines) > _MOST_FORMULAS:
        further = len(lines) - _MOST_FORMULAS
        return [*lines[:_MOST_FORMULAS], f"{further:,} further formulas of this sheet are not listed"]
    return lines


def _relative_formula(cell: str, formula: str) -> str:
    """Return a formula whose references are written as distances from the formula's cell, as in R1C1 notation."""
    home = _CELL_NAME.fullmatch(cell)
    if home is None:
        return formula
    column, row = _column_number(home.group(1).encode()), int(home.group(2))

    def distance(match: re.Match[str]) -> str:
        across = match.group(2) if match.group(1) else str(_column_number(match.group(2).encode()) - column)
        down = match.group(4) if match.group(3) else str(int(match.group(4)) - row)
        return f"{{{match.group(1)}{across},{match.group(3)}{down}}}"

    return _REFERENCE.sub(distance, formula)


def _place_names(places: Sequence[str]) -> str:
    """List cells as ranges. Neighbours are joined either by column or by row, whichever gives fewer ranges."""
    ranges = min(_joined_ranges(places, (0, 1)), _joined_ranges(places, (1, 0)), key=len)
    listed = ", ".join(ranges[:5])
    return f"{listed} and {len(ranges) - 5} further places" if len(ranges) > 5 else listed


def _joined_ranges(places: Sequence[str], step: tuple[int, int]) -> list[str]:
    """Join each cell to the range before it if it is `step` (columns, rows) from the end of that range."""
    joined: list[list[str]] = []
    before: tuple[int, int] | None = None
    for place in places:
        cell = _CELL_NAME.fullmatch(place)
        here = (_column_number(cell.group(1).encode()), int(cell.group(2))) if cell else None
        if before and here and (here[0] - before[0], here[1] - before[1]) == step:
            joined[-1][1:] = [place]
        else:
            joined.append([place])
        before = here
    return [":".join(ends) for ends in joined]


_DEFAULT_STYLE = f"{TABLE}default-cell-style-name"
_MOST_COLUMNS = 16_384  # the limit of LibreOffice and Excel
_ODS_ROW, _ODS_CELLS = f"{TABLE}table-row", (f"{TABLE}table-cell", f"{TABLE}covered-table-cell")


def ods_extent(sheet: _Element) -> SheetExtent:
    """Measure the filled area of an ODS sheet. Repeated cells count each time; empty rows at the end do not count."""
    extent, empty = SheetExtent(), 0
    for row in sheet.iter(_ODS_ROW):
        times, column, width = _repetitions(row, "rows"), 0, 0
        for cell in row.iterchildren(*_ODS_CELLS):
            column += _repetitions(cell, "columns")
            if cell.tag == _ODS_CELLS[0] and (len(cell) or cell.get(f"{OFFICE}value-type")):
                width = column
        if width:
            extent.columns = max(extent.columns, width)
            extent.rows += times + empty
            empty = 0
        elif extent.rows:
            empty += times
    return extent


def _ods_contents(sheet: _Element) -> tuple[SheetRemarks, list[tuple[Position, Position]]]:
    """Return the remarks and the merged ranges of an ODS sheet, which the library for reading cells does not report."""
    comments: list[str] = []
    formulas: list[tuple[str, str, str]] = []
    merged: list[tuple[Position, Position]] = []
    for row, column, cell in _ods_cells(sheet):
        place = f"{_column_name(column + 1)}{row + 1}"
        note = cell.find(f"{OFFICE}annotation")
        if note is not None:
            author = note.findtext("{*}creator") or ""
            text = " ".join("".join(map(str, paragraph.itertext())) for paragraph in note.iterfind("{*}p"))
            comments.append(_remark("Comment on", place, author, text))
        if formula := cell.get(f"{TABLE}formula"):
            formulas.append((place, place, _plain_formula(formula)))
        down, across = (_times(cell, f"number-{kind}-spanned") for kind in ("rows", "columns"))
        if down > 1 or across > 1:
            merged.append(((row, column), (row + down - 1, column + across - 1)))
    return SheetRemarks((*comments, *formula_lines(formulas))), merged


def _ods_cells(sheet: _Element) -> Iterator[tuple[int, int, _Element]]:
    """Yield row, column (from 0) and element of each filled cell of an ODS sheet. A repeated cell is yielded once."""
    row = 0
    for line in sheet.iter(_ODS_ROW):
        column = 0
        for cell in line.iterchildren(*_ODS_CELLS):
            if len(cell) or cell.get(f"{TABLE}formula"):
                yield row, column, cell
            column += _repetitions(cell, "columns")
        row += _repetitions(line, "rows")


def _struck_ods_cells(sheet: _Element, styles: OpenStyles) -> Iterator[tuple[Position, str]]:
    """Yield the position of each cell with struck-out text, and the rest of its text."""
    columns: list[str] = []
    for column in sheet.iter(f"{TABLE}table-column"):
        repeats = min(_repetitions(column, "columns"), _MOST_COLUMNS - len(columns))
        columns += [column.get(_DEFAULT_STYLE, "")] * repeats
    for top, left, cell in _ods_cells(sheet):
        row = cell.getparent()
        if row is None or cell.tag != _ODS_CELLS[0]:
            continue
        of_column = columns[left] if left < len(columns) else ""
        style = cell.get(f"{TABLE}style-name") or row.get(_DEFAULT_STYLE) or of_column
        struck = styles.is_struck("table-cell", style) or False
        lines = [[*styled_texts(line, styles, struck=struck)] for line in cell.iterchildren(f"{TEXT}p")]
        if any(is_struck and text.strip() for line in lines for text, is_struck in line):
            rest = "\n".join("".join(blank_for(text) if old else text for text, old in line) for line in lines)
            yield from ((place, rest.strip()) for place in _repeated_places(top, left, row, cell))


def _repeated_places(top: int, left: int, row: _Element, cell: _Element) -> Iterator[Position]:
    places = product(range(_repetitions(row, "rows")), range(_repetitions(cell, "columns")))
    yield from ((top + down, left + across) for down, across in places)


_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,40})?(?:[eE]-?\d{1,2})?")


def _ods_percentages(sheet: _Element) -> Iterator[tuple[Position, NumberFormat]]:
    """Yield the position of each percentage of an ODS sheet, and its format as displayed."""
    for top, left, cell in _ods_cells(sheet):
        row, value = cell.getparent(), cell.get(f"{OFFICE}value", "")
        if row is not None and cell.get(f"{OFFICE}value-type") == "percentage" and _NUMBER.fullmatch(value):
            digits = sum(map(str.isdigit, cell.findtext(f"{TEXT}p") or ""))
            whole = len(str(abs(int(100 * float(value)))))
            shown = NumberFormat(max(digits - whole, 0))
            yield from ((place, shown) for place in _repeated_places(top, left, row, cell))


def _repetitions(element: _Element, kind: str) -> int:
    return _times(element, f"number-{kind}-repeated")


def _times(element: _Element, name: str) -> int:
    number = element.get(f"{TABLE}{name}", "")
    return int(number) if number.isdecimal() and len(number) < 13 else 1


def _column_name(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _plain_formula(formula: str) -> str:
    """Return an OpenDocument formula, such as `of:=SUM([.B2:.B9])`, as spreadsheets display it."""
    bare = formula.split(":", 1)[-1] if formula.startswith(("of:", "oooc:", "msoxl:")) else formula
    return re.sub(r"\[([^\]]{1,200})\]", lambda match: match.group(1).replace(".", ""), bare).removeprefix("=")


def _package_metadata(archive: Archive) -> dict[str, MetadataValue]:
    name = next((name for name in _PROPERTIES if name in archive), None)
    if name is None:
        return {}
    root = parse_xml(archive.read_member(name))
    author = _first_text(root, "initial-creator") or _first_text(root, "creator")
    year = _YEAR.match(_first_text(root, "created") or _first_text(root, "creation-date") or _first_text(root, "date"))
    return known_values(
        authors="" if author.casefold() in _NO_AUTHOR else author[:300],
        year=int(year.group()) if year else None,
        title=_first_text(root, "title")[:300],
    )


def _first_text(root: _Element, name: str) -> str:
    return " ".join((root.findtext(f".//{{*}}{name}") or "").split())


CellValue = str | int | float | bool | datetime | date | time | timedelta


@dataclass(frozen=True)
class Sheet:
    """The filled area of one sheet. Empty cells are "", numbers are floats, and formula cells have their last value.

    Percentages are texts such as "15%". All `rows` have the same length. They start at the first filled row and column.
    `merged` lists the first and the last (row, column) of each merged range, counted from 0 in `rows`; only the first
    cell of a range has the value.
    `note` is the reason why a sheet was not read. `remarks` names cells as spreadsheets do, such as B2.
    `first_row` is the number of the first row in the spreadsheet. `struck` places the cells of which
    struck-out text is left out.
    """

    name: str
    rows: tuple[tuple[CellValue, ...], ...]
    hidden: bool = False
    merged: tuple[tuple[Position, Position], ...] = ()
    note: str = ""
    remarks: SheetRemarks = SheetRemarks()
    first_row: int = 1
    struck: frozenset[Position] = frozenset()

    def filled_rows(self, display: Callable[[CellValue], str]) -> list[list[str]]:
        """Return rows of cells as text, made by `display`. The value of a merged range is repeated in all its cells.

        If the range is alone in its first row, like a title, the value is repeated downwards only.
        """
        rows = [[display(cell).strip() for cell in row] for row in self.rows]
        for (top, left), (bottom, right) in self.merged:
            value = rows[top][left]
            alone = not any(rows[top][:left]) and not any(rows[top][right + 1 :])
            for row in rows[top : bottom + 1]:
                row[left : right + 1] = [value, *(["" if alone else value] * (right - left))]
        return rows


@dataclass(frozen=True)
class Workbook:
    """All sheets of a workbook in order, even empty and chart sheets. `metadata` may have authors, year and title."""

    sheets: list[Sheet]
    metadata: Mapping[str, MetadataValue]


def open_workbook(path: Path) -> Workbook:
    """Read all sheets of a workbook; raise UnreadableDocument if it is not a workbook or is too large."""
    data = read_bytes(path)
    package = _check_package(path) if data.startswith(b"PK") else _Package()
    with _name_errors(), CalamineWorkbook.from_filelike(BytesIO(data)) as book:
        sheets = [_sheet(book, number, package) for number in range(len(book.sheets_metadata))]
    return Workbook(sheets, package.metadata)


def _sheet(book: CalamineWorkbook, number: int, package: _Package) -> Sheet:
    about = book.sheets_metadata[number]
    hidden = about.visible != SheetVisibleEnum.Visible
    extent = package.extents.get(about.name) or package.extents.get(number) or SheetExtent()
    remarks = package.remarks.get(about.name) or package.remarks.get(number) or SheetRemarks()
    if about.typ != SheetTypeEnum.WorkSheet:
        return Sheet(about.name, (), hidden, remarks=remarks)
    if extent.is_too_large:
        return Sheet(about.name, (), hidden, note=f"is not read: it {extent.description}")
    sheet = book.get_sheet_by_index(number)
    if (size := SheetExtent(sheet.height, sheet.width)).is_too_large:
        return Sheet(about.name, (), hidden, note=f"is not read: it {size.description}")
    merged = tuple(_merged_ranges(sheet, package.merged.get(number) or sheet.merged_cell_ranges or ()))
    rows, struck = _sheet_rows(sheet, extent)
    return Sheet(about.name, rows, hidden, merged, "", remarks, (sheet.start or (0, 0))[0] + 1, struck)


def _sheet_rows(
    sheet: CalamineSheet, extent: SheetExtent
) -> tuple[tuple[tuple[CellValue, ...], ...], frozenset[Position]]:
    """Return the rows of a sheet, and the positions of its cells with struck-out text."""
    rows: list[list[CellValue]] = sheet.to_python()
    struck: set[Position] = set()
    top, left = sheet.start or (0, 0)
    for (row, column), shown in extent.formats.items():
        if 0 <= row - top < len(rows) and 0 <= column - left < len(rows[0]):
            value = rows[row - top][column - left]
            if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
                rows[row - top][column - left] = shown.text(value)
    for (row, column), text in (*extent.errors.items(), *extent.struck.items()):
        if 0 <= row - top < len(rows) and 0 <= column - left < len(rows[0]):
            if (row, column) in extent.struck and rows[row - top][column - left] != "":
                struck.add((row - top, column - left))
            rows[row - top][column - left] = text
    return tuple(map(tuple, rows)), frozenset(struck)


def _merged_ranges(
    sheet: CalamineSheet, merged: Iterable[tuple[Position, Position]]
) -> Iterator[tuple[Position, Position]]:
    """Yield the merged ranges inside the filled area. Rows and columns are counted from the start of this area."""
    if sheet.start is None or sheet.end is None:
        return
    top, left = sheet.start
    height, width = sheet.end[0] - top + 1, sheet.end[1] - left + 1
    for first, last in merged:
        if first[0] >= top and first[1] >= left and first[0] < top + height and first[1] < left + width:
            yield ((first[0] - top, first[1] - left), (min(last[0] - top, height - 1), min(last[1] - left, width - 1)))


@contextmanager
def _name_errors() -> Iterator[None]:
    """Convert errors of python-calamine to UnreadableDocument, even a panic in its Rust code (a BaseException)."""
    try:
        yield
    except PasswordError as error:
        raise UnreadableDocument("is encrypted: a password is needed") from error
    except (CalamineError, OSError, ValueError, OverflowError) as error:
        raise UnreadableDocument(f"is not a workbook, or is too damaged to open: {str(error)[:200]}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise UnreadableDocument("is too damaged to open as a workbook") from error
