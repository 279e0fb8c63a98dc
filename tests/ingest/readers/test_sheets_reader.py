"""The workbook reader reads the visible content of each sheet, table by table and row by row."""

import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.parsing.workbook import (
    MAX_CELLS,
    CellFormats,
    CellValue,
    NumberFormat,
    formula_lines,
    ods_extent,
    open_workbook,
    xlsx_extent,
    xlsx_formulas,
)
from elt_llm_ingest.parsing.xml_guard import parse_xml
from elt_llm_ingest.readers.sheets import SheetsReader, cell_display, table_areas
from file_formats.workbooks import Value, ods, package, sheet_rows, xlsx
from hypothesis import given
from hypothesis import strategies as st
from lxml.etree import _Element
from optional import needs

CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Register</dc:title>'
    "<dc:creator>A. Writer</dc:creator><dcterms:created>2021-05-06T00:00:00Z</dcterms:created></cp:coreProperties>"
)


def _read(folder: Path, data: bytes, suffix: str = ".xlsx") -> ParsedDocument:
    path = folder / f"book{suffix}"
    path.write_bytes(data)
    return SheetsReader().read(path)


def _rows(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(document.text[b.start : b.end], b.header) for b in document.blocks if b.kind == "table"]


def test_each_sheet_is_a_page_with_its_name_as_heading_and_a_note_reports_hidden_sheets(tmp_path: Path) -> None:
    sheets: dict[str, Sequence[Sequence[Value]] | str] = {
        "First": [["a", "b"], [1.0, 2.5]],
        "Empty": [],
        "Old": [["x", "y"], ["1", "2"]],
    }
    document = _read(tmp_path, xlsx(sheets, hidden=["Old"]))
    assert document.text == "First\n\na | b\n1 | 2.5\n\nOld\n\nx | y\n1 | 2"
    assert document.pages == (0, document.text.index("Old"), document.text.index("Old"))
    assert [section.title for section in document.sections] == ["First", "Old"]
    assert document.notes == ("sheet 'Old' is hidden in the workbook but is read",)
    assert document.metadata == {"page_unit": "sheet"}


def test_title_authors_and_year_are_taken_from_the_workbook_properties(tmp_path: Path) -> None:
    document = _read(tmp_path, xlsx({"S": [["words"]]}, properties=CORE))
    assert document.title == "Register"
    assert document.metadata == {"authors": "A. Writer", "year": 2021, "page_unit": "sheet"}


def test_sheet_tables_that_are_side_by_side_or_touch_at_a_corner_are_read_as_separate_tables(tmp_path: Path) -> None:
    rows: list[list[Value]] = [
        ["a", "b", None, None, None, None],
        [1, 2, None, None, "c", "d"],
        [3, 4, None, None, 5, 6],
        [None, None, "e", "f", None, None],
        [None, None, 7, 8, None, None],
    ]
    found = _rows(_read(tmp_path, xlsx({"S": rows})))
    assert found == [
        *(("a | b", ""), ("1 | 2", "a | b"), ("3 | 4", "a | b")),
        *(("c | d", ""), ("5 | 6", "c | d")),
        *(("e | f", ""), ("7 | 8", "e | f")),
    ]


def test_a_sheet_table_continues_after_an_empty_row_and_an_empty_column(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["a", None, "b"], [1, None, 2], [None, None, None], [3, None, 4]]
    assert _rows(_read(tmp_path, xlsx({"S": rows})))[-1] == ("3 | | 4", "a | | b")


def test_merged_cells_repeat_their_value_in_each_row_and_column_name(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["Name", "Seats", None], [None, "old", "new"], ["Hall", 1, 2], [None, 3, 4]]
    merged = '<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/><mergeCell ref="A3:A4"/></mergeCells>'
    found = _rows(_read(tmp_path, xlsx({"S": f"<sheetData>{sheet_rows(rows)}</sheetData>{merged}"})))
    assert found[-1] == ("Hall | 3 | 4", "Name | Seats old | Seats new")


def test_a_title_above_a_sheet_table_is_a_heading_and_a_single_column_is_read_as_prose(tmp_path: Path) -> None:
    document = _read(tmp_path, xlsx({"S": [["Clubs 2024", None], ["a", "b"], ["c", "d"]], "T": [["One."], ["Two."]]}))
    assert [(section.title, section.level) for section in document.sections] == [("S", 1), ("Clubs 2024", 2), ("T", 1)]
    assert [block.kind for block in document.blocks[-2:]] == ["prose", "prose"]


def test_the_rows_of_a_wide_table_are_written_with_the_column_name_before_each_value(tmp_path: Path) -> None:
    rows: list[list[Value]] = [[f"c{n}" for n in range(12)], ["x", *([None] * 10), 5]]
    assert _rows(_read(tmp_path, xlsx({"S": rows})))[1] == ("c0: x | c11: 5", "")


def test_years_above_the_name_of_a_group_of_rows_are_the_header_of_their_sheet_table(tmp_path: Path) -> None:
    rows: list[list[Value]] = [["", 2019.0, 2018.0], ["Transport", "", ""], ["Cars", 5.0, 6.0]]
    document = _read(tmp_path, xlsx({"Sales": rows}))
    assert document.text.endswith("| 2019 | 2018\nTransport\nCars | 5 | 6")
    assert _rows(document)[-1] == ("Cars | 5 | 6", "| 2019 | 2018")


def test_a_table_of_numbers_has_no_header_row(tmp_path: Path) -> None:
    assert _rows(_read(tmp_path, xlsx({"S": [[1, 2], [3, 4]]}))) == [("1 | 2", ""), ("3 | 4", "")]


def test_formula_errors_are_read_as_a_spreadsheet_displays_them(tmp_path: Path) -> None:
    assert _rows(_read(tmp_path, xlsx({"S": [["a", "b"], [1, "#DIV/0!"]]})))[1] == ("1 | #DIV/0!", "a | b")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        *(
            (1.0, "1"),
            (0.1 + 0.2, "0.3"),
            (-0.0, "0"),
            (1e20, "1e+20"),
            (0.00001, "0.00001"),
            (True, "TRUE"),
            ("x", "x"),
        ),
        *((date(2024, 1, 2), "2024-01-02"), (datetime(2024, 1, 2), "2024-01-02"), (time(3, 4), "03:04")),  # noqa: DTZ001
        *((datetime(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05"), (timedelta(hours=30), "30:00:00")),  # noqa: DTZ001
        (timedelta(seconds=-90), "-0:01:30"),
    ],
)
def test_cell_values_are_formatted_as_a_spreadsheet_displays_them(cell: CellValue, text: str) -> None:
    assert cell_display(cell) == text


@given(st.floats(-1e300, 1e300))
def test_a_number_in_a_sheet_is_read_with_fifteen_significant_digits(number: float) -> None:
    assert float(cell_display(number)) == pytest.approx(number, rel=1e-14)


def test_a_sheet_beyond_the_size_limit_is_skipped_with_a_note_and_the_other_sheets_are_read(tmp_path: Path) -> None:
    corners = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    document = _read(tmp_path, xlsx({"Vast": f"<sheetData>{corners}</sheetData>", "Small": [["words"]]}))
    assert document.text == "Small\n\nwords"
    [note] = document.notes
    assert "sheet 'Vast' is not read: it spreads over 1,048,576 rows and 16,384 columns" in note


def test_formatted_empty_cells_do_not_count_toward_the_size_limit(tmp_path: Path) -> None:
    empty = (
        '<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576" s="1"/></row></sheetData>'
    )
    assert _read(tmp_path, xlsx({"S": empty})).text == "S\n\n1"


def _ods_sheet(rows: str) -> _Element:
    names = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = f'xmlns:table="{names}:table:1.0" xmlns:office="{names}:office:1.0"'
    return parse_xml(f"<table:table {spaces}>{rows}</table:table>".encode())


def test_repeated_cells_of_an_ods_file_are_counted_before_the_file_is_loaded(tmp_path: Path) -> None:
    cell = '<table:table-cell table:number-columns-repeated="16000" office:value-type="float" office:value="1"/>'
    vast = f'<table:table-row table:number-rows-repeated="1000000">{cell}</table:table-row>'
    with pytest.raises(UnreadableDocument, match="sheet 1 spreads over 1,000,000 rows and 16,000 columns"):
        _read(tmp_path, ods({"Vast": vast}), ".ods")
    extent = ods_extent(_ods_sheet(vast))
    assert extent.rows * extent.columns > MAX_CELLS


def test_empty_rows_at_the_end_of_an_ods_sheet_do_not_count() -> None:
    row = '<table:table-row><table:table-cell office:value-type="float" office:value="1"/></table:table-row>'
    empty = '<table:table-cell table:number-columns-repeated="16384"/>'
    rest = f'<table:table-row table:number-rows-repeated="1048575">{empty}</table:table-row>'
    extent = ods_extent(_ods_sheet(row + rest))
    assert (extent.rows, extent.columns) == (1, 1)


def test_a_sheet_of_megabytes_is_read(tmp_path: Path) -> None:
    words = [f"row {number} of many, with words that go on" for number in range(40_000)]
    cells = "".join(f'<row><c t="inlineStr"><is><t>{"x" * 200}{word}</t></is></c></row>' for word in words)
    document = _read(tmp_path, xlsx({"S": f"<sheetData>{cells}</sheetData>"}))
    assert len(document.blocks) == 40_001
    assert document.text.endswith(words[-1])


def test_the_function_open_workbook_returns_the_typed_cells_of_all_sheets(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(xlsx({"A": [["x", None, 1.0], [True, "#N/A", "y"]], "B": []}))
    first, second = open_workbook(path).sheets
    assert first.rows == (("x", "", 1.0), (True, "#N/A", "y"))
    assert (second.name, second.rows) == ("B", ())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"words", "is not a workbook"),
        (b"PK\x03\x04 and no more", "not a zip package"),
        (package({"word/document.xml": "<w/>"}), "is not a workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is not a workbook"),
    ],
)
def test_files_that_are_not_workbooks_are_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        _read(tmp_path, data)


@given(st.lists(st.lists(st.sampled_from(["", "", "a", "1"]), min_size=6, max_size=6), min_size=1, max_size=12))
def test_every_filled_cell_of_a_sheet_is_in_exactly_one_table_area(rows: list[list[str]]) -> None:
    areas = table_areas(rows)
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            homes = [a for a in areas if a.top <= number <= a.bottom and a.left <= column <= a.right]
            assert len(homes) == 1 if cell else len(homes) <= 1


def test_truncated_sheet_xml_is_refused_at_once(tmp_path: Path) -> None:
    unclosed = '<table:table-row><table:table-cell office:value-type="string"><text:p>a</text:p></table:table-cell></t3'
    with pytest.raises(UnreadableDocument, match=r"holds damaged XML, in 'content\.xml'"):
        _read(tmp_path, ods({"S": unclosed}), ".ods")


@given(st.text(st.sampled_from('<>/="rvc123AB# '), max_size=40), st.integers(0, 300))
def test_a_sheet_with_damaged_markup_is_read_or_refused(damage: str, place: int) -> None:
    inner = f"<sheetData>{sheet_rows([['a', 'b'], [1, 2], ['x', True]])}</sheetData>"
    damaged = inner[:place] + damage + inner[place + len(damage) // 2 :]
    with tempfile.TemporaryDirectory() as folder, suppress(UnreadableDocument):
        assert _read(Path(folder), xlsx({"S": damaged})).title


@given(st.binary(max_size=400))
def test_measuring_the_sheet_sizes_of_any_bytes_raises_no_error(data: bytes) -> None:
    assert xlsx_extent(b'<c r="B2"><v>1</v></c>' + data).rows >= 1


def test_comments_chart_labels_and_formulas_are_read_after_the_tables_of_their_sheet(tmp_path: Path) -> None:
    needs("openpyxl")
    import openpyxl
    from openpyxl.chart import BarChart, Reference
    from openpyxl.comments import Comment

    book = openpyxl.Workbook()
    sheet = book.create_sheet("Fees", 0)
    sheet.append(["Item", "Count", "Price", "Total"])
    for row in range(2, 5):
        sheet.append([f"Item {row}", row, 10, f"=B{row}*C{row}"])
    sheet["D5"] = "=SUM(D2:D4)"
    sheet["B3"].comment = Comment("Ann:\nCheck with the treasurer.", "Ann")
    chart = BarChart()
    chart.title = "Fees by item"
    chart.y_axis.title = "Pounds"
    chart.add_data(Reference(sheet, min_col=3, min_row=1, max_row=4), titles_from_data=True)
    sheet.add_chart(chart, "G2")
    book.save(tmp_path / "fees.xlsx")
    document = SheetsReader().read(tmp_path / "fees.xlsx")
    assert document.text.split("\n\n")[2:] == [
        "Comment on B3 (Ann): Check with the treasurer.",
        "Chart Fees by item. Axes: Pounds",
        "Formula in D2:D4: B2*C2",
        "Formula in D5: SUM(D2:D4)",
    ]
    assert document.notes == (
        "sheet 'Fees': 4 formulas have no stored values; open the workbook in a spreadsheet program and save it",
    )


def test_the_chart_labels_that_a_workbook_stores_are_read(tmp_path: Path) -> None:
    chart = (
        f"<c:chartSpace {_CHART_SPACES}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Growth</a:t></a:r></a:p>"
        "</c:rich></c:tx></c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:f>S!B1</c:f><c:strCache><c:pt><c:v>Clubs</c:v>"
        "</c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:f>S!A2:A3</c:f><c:strCache><c:pt><c:v>2023</c:v></c:pt>"
        "<c:pt><c:v>2024</c:v></c:pt></c:strCache></c:strRef></c:cat></c:ser></c:barChart></c:plotArea></c:chart>"
        "</c:chartSpace>"
    )
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": _relations("drawing", "../drawings/drawing1.xml"),
        "xl/drawings/drawing1.xml": "<x/>",
        "xl/drawings/_rels/drawing1.xml.rels": _relations("chart", "/xl/charts/chart1.xml"),
        "xl/charts/chart1.xml": chart,
    }
    document = _read(tmp_path, _with_parts(xlsx({"S": [["words"]]}), parts))
    assert document.text.endswith("Chart Growth. Series: Clubs; Categories: 2023, 2024")


def test_text_boxes_of_a_workbook_are_read_after_its_tables(tmp_path: Path) -> None:
    names = f'{_CHART_SPACES} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    box = "<sp><txBody><a:p><a:r><a:t>{}</a:t></a:r><a:r><a:t> once.</a:t></a:r></a:p><a:p/></txBody></sp>"
    replaced = f"<mc:AlternateContent><mc:Fallback>{box.format('Cannot be shown')}</mc:Fallback></mc:AlternateContent>"
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": _relations("drawing", "../drawings/drawing1.xml"),
        "xl/drawings/drawing1.xml": f"<wsDr {names}>{box.format('Fees fall due')}{replaced}</wsDr>",
    }
    document = _read(tmp_path, _with_parts(xlsx({"S": [["words"]]}), parts))
    assert document.text.split("\n\n") == ["S", "words", "Text box: Fees fall due once."]


def test_comments_with_replies_are_read_once_with_the_names_of_their_authors(tmp_path: Path) -> None:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    threads = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": _relations(
            *("comments", "../comments1.xml", "threadedComment", "../threadedComments/threadedComment1.xml")
        ),
        "xl/comments1.xml": f'<comments xmlns="{main}"><authors><author>tc=1</author></authors><commentList>'
        '<comment ref="A1" authorId="0"><text><t>[Threaded comment]</t></text></comment></commentList></comments>',
        "xl/threadedComments/threadedComment1.xml": f'<ThreadedComments xmlns="{threads}">'
        '<threadedComment ref="A1" personId="p" id="1"><text>Is this right?</text></threadedComment>'
        '<threadedComment ref="A1" personId="q" id="2" parentId="1"><text>Yes.</text></threadedComment>'
        "</ThreadedComments>",
        "xl/persons/person.xml": f'<personList xmlns="{threads}"><person displayName="Ann" id="p"/>'
        '<person displayName="Ben" id="q"/></personList>',
    }
    document = _read(tmp_path, _with_parts(xlsx({"S": [["words"]]}), parts))
    assert document.text.split("\n\n")[2:] == ["Comment on A1 (Ann): Is this right?", "Reply on A1 (Ben): Yes."]


def test_comments_and_formulas_of_an_ods_sheet_are_read(tmp_path: Path) -> None:
    note = (
        '<office:annotation><dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">Ann</dc:creator>'
        "<text:p>Check it.</text:p></office:annotation>"
    )
    rows = (
        '<table:table-row><table:table-cell office:value-type="string"><text:p>words</text:p></table:table-cell>'
        '<table:table-cell office:value-type="string" table:formula="of:=UPPER([.A1])">'
        f"{note}<text:p>WORDS</text:p></table:table-cell></table:table-row>"
    )
    text = _read(tmp_path, ods({"S": rows}), ".ods").text
    assert text.split("\n\n")[2:] == ["Comment on B1 (Ann): Check it.", "Formula in B1: UPPER(A1)"]


def test_formulas_that_are_equal_relative_to_their_cells_are_written_as_one_line() -> None:
    cells = [(f"C{row}", f"C{row}", f"A{row}*$B$1") for row in range(2, 9)] + [("C9", "C9", "SUM(C2:C8)")]
    assert formula_lines(cells) == ["Formula in C2:C8: A2*$B$1", "Formula in C9: SUM(C2:C8)"]
    first = b'<c r="B1"><f t="shared" ref="B1:B90" si="0">A1&amp;"x"</f><v>1</v></c>'
    shared = first + b'<c r="B2"><f t="shared" si="0"/></c>'
    assert xlsx_formulas(shared) == ['Formula in B1:B90: A1&"x"']


def test_the_formulas_of_a_sheet_are_listed_up_to_a_limit() -> None:
    lines = formula_lines([(f"A{row}", f"A{row}", f"{row}+0.5") for row in range(1, 300)])
    assert len(lines) == 201
    assert lines[-1] == "99 further formulas of this sheet are not listed"


_CHART_SPACES = (
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)


def _relations(*kinds_and_targets: str) -> str:
    pairs = zip(kinds_and_targets[::2], kinds_and_targets[1::2], strict=True)
    rows = "".join(f'<Relationship Id="r{kind}" Type="http://x/{kind}" Target="{target}"/>' for kind, target in pairs)
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{rows}</Relationships>'


def _with_parts(book: bytes, parts: dict[str, str]) -> bytes:
    data = BytesIO(book)
    with zipfile.ZipFile(data, "a") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return data.getvalue()


def test_cells_of_a_workbook_that_are_struck_out_are_not_read_and_noted(tmp_path: Path) -> None:
    needs("openpyxl")
    import openpyxl
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    sheet = book.create_sheet("Periods", 0)
    for row in (["Record", "Years"], ["Invoice", 5], ["Bill", 6], ["Order", 7]):
        sheet.append(row)
    for cell in (*sheet[2], sheet["C1"]):
        cell.font = Font(strike=True)
    sheet["A4"].font = Font(strike=False)
    book.save(tmp_path / "periods.xlsx")
    document = SheetsReader().read(tmp_path / "periods.xlsx")
    assert "Invoice" not in document.text
    assert "Bill" in document.text
    assert "Order" in document.text
    assert document.notes == ("sheet 'Periods' holds struck-out text, which is not read, in 2 cells",)


def test_struck_out_words_in_a_cell_of_a_workbook_are_not_read_and_noted(tmp_path: Path) -> None:
    needs("xlsxwriter")
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "periods.xlsx") as book:
        sheet, struck = book.add_worksheet("Periods"), book.add_format({"font_strikeout": True})
        sheet.write_row(0, 0, ["Record", "Period"])
        sheet.write(1, 0, "Bill")
        sheet.write_rich_string(1, 1, struck, "24 ", book.add_format(), "36 months")
    document = SheetsReader().read(tmp_path / "periods.xlsx")
    assert document.text == "Periods\n\nRecord | Period\nBill | 36 months"
    assert document.notes == ("sheet 'Periods' holds struck-out text, which is not read, in 1 cell",)


def test_struck_out_rows_and_columns_of_a_workbook_do_not_divide_its_table(tmp_path: Path) -> None:
    needs("openpyxl")
    import openpyxl
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    rows: list[list[Any]] = [
        ["Old", "", ""],
        ["Old", "Record", "Years"],
        *([["x", name, 5] for name in ("Bill", "Deed", "Lease", "Will")]),
    ]
    for row in rows:
        sheet.append(row)
    for cell in (*sheet["A"], *sheet[4], *sheet[5]):
        cell.font = Font(strike=True)
    book.save(tmp_path / "periods.xlsx")
    document = SheetsReader().read(tmp_path / "periods.xlsx")
    assert [(document.text[it.start : it.end], it.header) for it in document.blocks[1:]] == [
        ("Record | Years", ""),
        ("Bill | 5", "Record | Years"),
        ("Will | 5", "Record | Years"),
    ]


def test_struck_out_cells_are_found_in_sheets_with_a_namespace_prefix() -> None:
    xml = b'<x:c r="B2" s="1"><x:v>5</x:v></x:c>'
    assert xlsx_extent(xml, CellFormats(frozenset((b"1",)))).struck == {(1, 1): ""}


def test_struck_out_cells_columns_and_words_of_an_ods_workbook_are_not_read_and_noted(tmp_path: Path) -> None:
    def style(name: str, family: str, line: str) -> str:
        line = f'<style:text-properties style:text-line-through-style="{line}"/>'
        return f'<style:style style:name="{name}" style:family="{family}">{line}</style:style>'

    def cell(text: str, attributes: str = "") -> str:
        return f'<table:table-cell office:value-type="string" {attributes}><text:p>{text}</text:p></table:table-cell>'

    words = '<text:span text:style-name="T1">24 <text:s/></text:span>36 months'
    rows = (
        [cell("Record"), cell("Period"), cell("Old", 'table:style-name="ce2"')],
        [cell("Bill"), cell(words), cell("1")],
        [cell("Deed", 'table:style-name="ce1"'), cell("5", 'table:number-columns-repeated="2"')],
        [cell("Will"), cell("7")],
    )
    columns = '<table:table-column table:number-columns-repeated="2"/><table:table-column {}"ce1"/>'
    content = columns.format("table:default-cell-style-name=") + "".join(
        f"<table:table-row>{''.join(cells)}</table:table-row>" for cells in rows
    )
    styles = style("ce1", "table-cell", "solid") + style("ce2", "table-cell", "none") + style("T1", "text", "solid")
    document = _read(tmp_path, ods({"Periods": content}, styles), ".ods")
    assert document.text.splitlines()[2:] == ["Record | Period | Old", "Bill | 36 months", "| 5 | 5", "Will | 7"]
    assert document.notes == ("sheet 'Periods' holds struck-out text, which is not read, in 3 cells",)


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (0.15, "0%", "15%"),
        (0.15, "0.00%", "15.00%"),
        (0.125, "0.0%;[Red]-0.0%", "12.5%"),
        (-0.125, "0.0 %;[Red]-0.0 %", "-12.5%"),
        (0.125, "0%", "12.5%"),
        (1 / 3, "0%", "33%"),
        (0.1 + 0.2, "0%", "30%"),
        (12.5, "#,##0%", "1250%"),
        (0.000003, "0%", "0.0003%"),
        (0, "0%", "0%"),
        (15, '0"%"', "15"),
        (15, r"0\%", "15"),
        (0.15, "[<1]0%;0.0", "0.15"),
        (0.15, "0.0%[$-409]", "15.0%"),
        (1234.5, "[$£-809]#,##0.00", "£1,234.50"),
        (-1234.5, '"$"#,##0_);[Blue]("$"#,##0)', "-$1,234.50"),
        (1234567, '_-* #,##0.00 "€"_-;-* #,##0.00 "€"_-', "1,234,567.00 €"),
        (5, "[$EUR] 0", "EUR 5"),
        (0.0035, '"$"0.00', "$0.0035"),
        (1e300, '"$"0.00', f"$1{',000' * 100}.00"),
        (1234567, '"$"#,##0,', "1234567"),
        ("none", "[$£-809]#,##0.00", "none"),
        ("15 % of fees", "0%", "15 % of fees"),
        (True, "0%", "TRUE"),
    ],
)
def test_percentages_and_amounts_of_money_in_a_workbook_are_read_as_displayed(
    tmp_path: Path, value: Value, code: str, text: str
) -> None:
    needs("openpyxl")
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.create_sheet("Rates", 0)
    sheet.append(["Item", "Rate"])
    sheet.append(["Fee", value])
    sheet["B2"].number_format = code
    book.save(tmp_path / "rates.xlsx")
    assert SheetsReader().read(tmp_path / "rates.xlsx").text == f"Rates\n\nItem | Rate\nFee | {text}"


@pytest.mark.parametrize(
    ("value", "shown", "text"),
    [
        ("0.15", "15 %", "15%"),
        ("0.15", "15,00 %", "15.00%"),
        ("0.333333333333333", "33%", "33%"),
        ("0.333333333333333", "33,3 %", "33.3%"),
        ("12.5", "1,250%", "1250%"),
        ("-0.125", "-12.5%", "-12.5%"),
        ("0.15", "", "15%"),
    ],
)
def test_a_percentage_in_an_ods_workbook_is_read_as_displayed(
    tmp_path: Path, value: str, shown: str, text: str
) -> None:
    head = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    rate = f'<table:table-cell office:value-type="percentage" office:value="{value}" table:number-columns-repeated="2">'
    rows = ("".join(map(head.format, ("Item", "Low", "High"))), f"{head.format('Fee')}{rate}<text:p>{shown}</text:p>")
    content = "<table:table-row>{}</table:table-row><table:table-row>{}</table:table-cell></table:table-row>"
    document = _read(tmp_path, ods({"Rates": content.format(*rows)}), ".ods")
    assert document.text == f"Rates\n\nItem | Low | High\nFee | {text} | {text}"


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda it: abs(it) < 1e300), st.integers(0, 99))
def test_a_percentage_is_within_half_of_its_last_digit(number: float, places: int) -> None:
    read = float(NumberFormat(places).text(number).removesuffix("%"))
    assert read == pytest.approx(100 * number, rel=1e-14, abs=0.5000001 * 10 ** -min(places, 15))
