"""Annual reports as PDFs with financial statements, each drawn in another way, and questions for their figures."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fpdf import FPDF

Row = tuple[str, ...]


class Statement(NamedTuple):
    """A financial statement. A row that is only a label opens a group of rows; `heads` are the header lines."""

    title: str
    unit: str
    heads: tuple[Row, ...]
    rows: tuple[Row, ...]


class FigureQuestion(NamedTuple):
    """A question for one figure of a report, with the page of the figure, from 1."""

    report: str
    question: str
    figure: str
    page: int


Draw = Callable[[FPDF, Statement], None]
_COLUMNS = (118.0, 148.0, 178.0)
_LINE = 6.0


def _right(pdf: FPDF, edge: float, text: str) -> None:
    pdf.text(edge - pdf.get_string_width(text), pdf.get_y(), text)


def _edges(cells: Sequence[str]) -> Sequence[float]:
    return _COLUMNS[len(_COLUMNS) - len(cells) :]


def _titled(pdf: FPDF, statement: Statement) -> None:
    pdf.set_font("Helvetica", "B", 15)
    pdf.text(20, pdf.get_y(), statement.title)
    pdf.set_y(pdf.get_y() + 8)
    pdf.set_font("Helvetica", "", 10)
    if statement.unit:
        pdf.text(20, pdf.get_y(), statement.unit)
        pdf.set_y(pdf.get_y() + 9)


def draw_open(pdf: FPDF, statement: Statement) -> None:
    """Draw the table row by row without lines between cells, with the figures aligned at the right."""
    _titled(pdf, statement)
    for head in statement.heads:
        for edge, cell in zip(_edges(head[1:]), head[1:], strict=True):
            _right(pdf, edge, cell)
        if head[0]:
            pdf.text(20, pdf.get_y(), head[0])
        pdf.set_y(pdf.get_y() + _LINE)
    for label, *cells in statement.rows:
        pdf.text(20 if cells else 18, pdf.get_y(), label)
        for edge, cell in zip(_edges(cells), cells, strict=True):
            # The closing bracket of a negative amount is right of the column.
            _right(pdf, edge + (pdf.get_string_width(")") if cell.endswith(")") else 0), cell)
        pdf.set_y(pdf.get_y() + _LINE)


def draw_ruled(pdf: FPDF, statement: Statement) -> None:
    """Draw a grid, with the heads in the middle of their columns and a separate currency sign before each figure."""
    _titled(pdf, statement)
    pdf.set_x(20)
    width = 30.0
    sign_of_rows = "" if statement.heads[0][0] else "$"  # a list by place has numbers of people
    for cells, sign in [*((head, "") for head in statement.heads), *((row, sign_of_rows) for row in statement.rows)]:
        pdf.set_x(20)
        pdf.cell(80, _LINE, cells[0], border=1)
        for cell in cells[1:]:
            left = pdf.get_x()
            pdf.cell(width, _LINE, cell, border=1, align="C" if cells in statement.heads else "R")
            if sign and cell:
                pdf.text(left + 1, pdf.get_y() + 4.2, sign)
        pdf.ln(_LINE)
    pdf.set_y(pdf.get_y() + _LINE)


def draw_by_columns(pdf: FPDF, statement: Statement) -> None:
    """Draw all labels first and then each column from top to bottom, below a rule."""
    _titled(pdf, statement)
    top = pdf.get_y()
    lines = [*statement.heads, *statement.rows]
    for number, line in enumerate(lines):
        if line[0]:
            pdf.text(20, top + number * _LINE, line[0])
    for column in range(1, max(map(len, lines))):
        for number, line in enumerate(lines):
            if column < len(line) and line[column]:
                pdf.set_y(top + number * _LINE)
                _right(pdf, _edges(line[1:])[column - 1], line[column])
    below = top + len(statement.heads) * _LINE - 4
    pdf.line(20, below, 180, below)
    pdf.set_y(top + len(lines) * _LINE)


def write_report(path: Path, title: str, draw: Draw, statements: Sequence[Statement], prose: Sequence[str]) -> None:
    """Write a title page, then a page of prose and a statement for each of `statements`."""
    pdf = FPDF()
    pdf.set_margins(20, 20)
    pdf.add_page()
    pdf.set_font("Helvetica", "B", 24)
    pdf.multi_cell(0, 12, title)
    pdf.set_font("Helvetica", "", 10)
    for paragraph in prose:
        pdf.ln(4)
        pdf.multi_cell(0, 5, paragraph)
    for statement in statements:
        pdf.add_page()
        pdf.set_y(25)
        draw(pdf, statement)
    pdf.output(str(path))


_NORTH = (
    Statement(
        "Consolidated income statement",
        "(in millions of euros)",
        (("", "Year ended 31 December"), ("", "Note", "2025", "2024")),
        (
            ("Revenue", "3", "4,812", "4,390"),
            ("Cost of sales", "4", "(2,961)", "(2,745)"),
            ("Gross profit", "", "1,851", "1,645"),
            ("Research and development", "5", "(402)", "(377)"),
            ("Selling and distribution costs", "", "(611)", "(590)"),
            ("Administrative expenses", "6", "(248)", "(231)"),
            ("Operating profit", "", "590", "447"),
            ("Finance costs", "7", "(58)", "(49)"),
            ("Profit before tax", "", "532", "398"),
            ("Income tax expense", "8", "(131)", "(97)"),
            ("Profit for the year", "", "401", "301"),
        ),
    ),
    Statement(
        "Consolidated balance sheet",
        "(in millions of euros)",
        (("", "31 December", "31 December"), ("", "2025", "2024")),
        (
            ("Non-current assets",),
            ("Property, plant and equipment", "2,204", "2,118"),
            ("Goodwill", "873", "861"),
            ("Deferred tax assets", "94", "102"),
            ("Current assets",),
            ("Inventories", "655", "702"),
            ("Trade receivables", "918", "866"),
            ("Cash and cash equivalents", "487", "395"),
            ("Total assets", "5,231", "5,044"),
            ("Equity and liabilities",),
            ("Share capital", "250", "250"),
            ("Retained earnings", "1,976", "1,701"),
            ("Borrowings", "1,340", "1,455"),
            ("Trade payables", "742", "718"),
            ("Total liabilities", "3,005", "3,093"),
        ),
    ),
    Statement(
        "Consolidated statement of cash flows",
        "(in millions of euros)",
        (("", "2025", "2024"),),
        (
            ("Cash generated from operations", "812", "690"),
            ("Interest paid", "(55)", "(47)"),
            ("Purchases of property, plant and equipment", "(389)", "(341)"),
            ("Repayment of borrowings", "(115)", "(80)"),
            ("Dividends paid", "(126)", "(110)"),
            ("Net increase in cash", "92", "61"),
        ),
    ),
    Statement(
        "Revenue by region",
        "(in millions of euros)",
        (("Region", "2025", "2024"),),
        (
            ("Nordic countries", "1,604", "1,498"),
            ("Germany and Austria", "1,377", "1,260"),
            ("North America", "1,121", "1,012"),
            ("Rest of the world", "710", "620"),
        ),
    ),
)
_HARBOUR = (
    Statement(
        "Statements of operations (in thousands, except per share amounts)",
        "",
        (("", "Fiscal year ended", "Fiscal year ended"), ("", "June 30, 2025", "June 30, 2024")),
        (
            ("Net sales", "84,320", "79,115"),
            ("Cost of goods sold", "51,207", "48,930"),
            ("Gross margin", "33,113", "30,185"),
            ("Marketing expense", "9,844", "9,010"),
            ("General and administrative", "7,405", "7,122"),
            ("Operating income", "15,864", "14,053"),
            ("Interest expense", "1,290", "1,415"),
            ("Net income", "11,220", "9,731"),
            ("Diluted earnings per share", "2.41", "2.07"),
        ),
    ),
    Statement(
        "Balance sheets (in thousands)",
        "",
        (("", "June 30, 2025", "June 30, 2024"),),
        (
            ("Cash", "12,871", "10,264"),
            ("Accounts receivable", "17,848", "16,278"),
            ("Inventory", "21,050", "22,914"),
            ("Total current assets", "51,769", "49,456"),
            ("Accounts payable", "8,133", "7,902"),
            ("Accrued liabilities", "4,471", "4,120"),
            ("Long-term debt", "19,500", "22,000"),
            ("Stockholders' equity", "46,385", "40,297"),
        ),
    ),
    Statement(
        "Employees by location",
        "",
        (("Location", "2025", "2024"),),
        (("Bergen", "412", "398"), ("Portland", "287", "301"), ("Osaka", "155", "140")),
    ),
)
_WATER = (
    Statement(
        "Statement of profit or loss",
        "$'000",
        (("", "Notes", "2025", "2024"),),
        (
            ("Water charges", "2.1", "61,340", "58,772"),
            ("Sewerage charges", "2.1", "44,905", "43,018"),
            ("Government grants", "2.3", "7,250", "6,900"),
            ("Depreciation", "4.2", "(28,417)", "(27,660)"),
            ("Employee benefits", "3.1", "(22,180)", "(21,034)"),
            ("Surplus for the year", "", "18,604", "16,911"),
        ),
    ),
    Statement(
        "Statement of financial position",
        "$'000",
        (("", "Notes", "2025", "2024"),),
        (
            ("Pipes and pumping stations", "4.1", "702,118", "688,430"),
            ("Provisions", "5.4", "13,902", "12,771"),
            ("Contributed capital", "6.1", "215,000", "215,000"),
        ),
    ),
    Statement(
        "Water supplied and lost",
        "in megalitres",
        (("", "2025", "2024", "2023"),),
        (
            ("Supplied to households", "38,120", "37,455", "36,902"),
            ("Supplied to industry", "11,674", "12,008", "12,390"),
            ("Lost through leaks", "4,216", "4,530", "4,981"),
        ),
    ),
)
_PROSE = (
    "This report describes the year of the group and of its people. The board met nine times during the year and "
    "visited two sites. It thanks all employees for their work.",
    "The strategy remains unchanged: to invest where customers need it and to keep debt low. Revenue, profit and cash "
    "flow are explained in the notes. The auditors gave an unqualified opinion on the financial statements.",
    "The chair said that the year was demanding, that costs of energy rose, and that the outlook is good.",
)
REPORTS: dict[str, tuple[str, Draw, tuple[Statement, ...]]] = {
    "northern": ("Northern Instruments: Annual report 2025", draw_open, _NORTH),
    "harbour": ("Harbour Foods: Annual report 2025", draw_ruled, _HARBOUR),
    "water": ("Valley Water Authority: Annual report 2025", draw_by_columns, _WATER),
}
QUESTIONS = tuple(
    FigureQuestion(*line)
    for line in (
        ("northern", "What was the revenue in 2024?", "4,390", 2),
        ("northern", "How much was the cost of sales in 2025?", "2,961", 2),
        ("northern", "What was the gross profit for 2025?", "1,851", 2),
        ("northern", "How much was spent on research and development in 2024?", "377", 2),
        ("northern", "What were the administrative expenses in 2025?", "248", 2),
        ("northern", "What was the operating profit in 2025?", "590", 2),
        ("northern", "What was the profit before tax in 2024?", "398", 2),
        ("northern", "What was the profit for the year 2025?", "401", 2),
        ("northern", "What was the value of goodwill at the end of 2025?", "873", 3),
        ("northern", "How high were inventories in 2024?", "702", 3),
        ("northern", "How much cash and cash equivalents did the group hold at 31 December 2025?", "487", 3),
        ("northern", "What were total assets in 2025?", "5,231", 3),
        ("northern", "What were the borrowings in 2024?", "1,455", 3),
        ("northern", "What were total liabilities in 2025?", "3,005", 3),
        ("northern", "How much cash was generated from operations in 2025?", "812", 4),
        ("northern", "How much was paid in dividends in 2024?", "110", 4),
        ("northern", "What was the net increase in cash in 2025?", "92", 4),
        ("northern", "What was the revenue in North America in 2025?", "1,121", 5),
        ("northern", "How much revenue came from Nordic countries in 2024?", "1,498", 5),
        ("harbour", "What were net sales in fiscal year 2025?", "84,320", 2),
        ("harbour", "What was the cost of goods sold in 2024?", "48,930", 2),
        ("harbour", "What was the gross margin in 2025?", "33,113", 2),
        ("harbour", "What was the marketing expense in 2024?", "9,010", 2),
        ("harbour", "What was operating income for 2025?", "15,864", 2),
        ("harbour", "What was the net income in 2024?", "9,731", 2),
        ("harbour", "What were diluted earnings per share in 2025?", "2.41", 2),
        ("harbour", "What was the inventory on June 30, 2025?", "21,050", 3),
        ("harbour", "How high were accounts receivable in 2024?", "16,278", 3),
        ("harbour", "What was the long-term debt on June 30, 2024?", "22,000", 3),
        ("harbour", "How many employees worked in Portland in 2025?", "287", 4),
        ("harbour", "How many employees are there in Osaka?", "155", 4),
        ("water", "How much did the authority receive in government grants in 2025?", "7,250", 2),
        ("water", "What were sewerage charges in 2024?", "43,018", 2),
        ("water", "How much was depreciation in 2025?", "28,417", 2),
        ("water", "What was the surplus for the year 2024?", "16,911", 2),
        ("water", "What is the value of pipes and pumping stations in 2025?", "702,118", 3),
        ("water", "How high were provisions in 2024?", "12,771", 3),
        ("water", "How much water was lost through leaks in 2024?", "4,530", 4),
        ("water", "How much water was supplied to industry in 2023?", "12,390", 4),
        ("water", "How much water was supplied to households in 2025?", "38,120", 4),
    )
)


def write_reports(folder: Path) -> None:
    """Write the three reports as NAME.pdf into the folder."""
    for name, (title, draw, statements) in REPORTS.items():
        write_report(folder / f"{name}.pdf", title, draw, statements, _PROSE)
