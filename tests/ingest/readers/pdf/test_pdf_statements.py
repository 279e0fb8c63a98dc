"""Financial statements in PDFs are read as tables, however they are drawn."""

from pathlib import Path

import pytest
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.pdf.reader import PdfReader
from optional import needs


@pytest.fixture(params=["northern", "harbour", "water"])
def report(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, ParsedDocument]:
    """The name of a generated financial report, and the document that is read from its PDF."""
    needs("fpdf")
    from corpora.statements import write_reports

    write_reports(tmp_path)
    return request.param, PdfReader().read(tmp_path / f"{request.param}.pdf")


def test_every_row_of_a_financial_statement_has_its_figures_and_its_years(report: tuple[str, ParsedDocument]) -> None:
    from corpora.statements import REPORTS

    name, document = report
    rows = {document.text[block.start : block.end]: block for block in document.blocks if block.kind == "table"}
    for statement in REPORTS[name][2]:
        years = [head.rsplit(" ", 1)[-1] for head in statement.heads[-1] if head[-4:].isdigit()]
        for label, *figures in (row for row in statement.rows if len(row) > 1):
            [row] = [text for text in rows if text.replace("$", "").split(" | ") == [label, *figures]]
            assert all(year in rows[row].header for year in years), (statement.title, label)


def test_the_unit_below_the_title_of_a_financial_statement_is_kept_and_added_to_the_column_heads(
    report: tuple[str, ParsedDocument],
) -> None:
    from corpora.statements import REPORTS

    name, document = report
    headers = {block.header for block in document.blocks}
    for statement in (one for one in REPORTS[name][2] if one.unit):
        assert document.text.count(statement.unit) >= 1
        assert statement.heads[-1][0] or any(statement.unit.strip("()") in header for header in headers)


def test_a_row_of_figures_in_bold_type_is_no_heading_and_keeps_the_years_of_its_table(tmp_path: Path) -> None:
    needs("fpdf")
    from fpdf import FPDF

    page = FPDF()
    page.add_page()
    rows = [
        ("", "2022", "2021"),
        ("Sales", "34", "35"),
        ("Rent", "19", "18"),
        ("Heat", "9", "7"),
        ("Total costs", "28", "25"),
    ]
    for label, *figures in [*rows, ("Profit", "6", "10"), ("Tax", "1", "2")]:
        page.set_font("Helvetica", "B" if not label or label.startswith("Total") else "", 9)
        page.cell(100, 5, label)
        for figure in figures:
            page.cell(25, 5, figure, align="R")
        page.ln(5)
    page.output(str(tmp_path / "costs.pdf"))
    document = PdfReader().read(tmp_path / "costs.pdf")
    assert document.sections == ()
    headers = {document.text[block.start : block.end]: block.header for block in document.blocks}
    assert headers["Total costs | 28 | 25"] == headers["Profit | 6 | 10"] == "| 2022 | 2021"
