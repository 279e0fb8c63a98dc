"""Texts are split into statements: table rows have headers, and headings are left out."""

from elt_llm_consumer.sentences.statements import TextStatement, bare_title, read_statements
from row_jobs.contexts import corpus_of

_TABLE = """# Register

| Information set | Owner | Class |
|---|---|---|
| Case File | Clerk | Restricted |
| Ledger |  | Internal |

After it.

A | B
1 | 2
"""
_CONTENTS = """# Contents

First part | 2
Second part | 5
Third part | 9

# First part

A1.1 The board meets. It decides on fees.

- (a) at once; and
- (b) in writing.
"""


def _read(text: str) -> list[TextStatement]:
    return read_statements(corpus_of({"one.md": text}))


def test_every_cell_of_a_table_row_statement_has_its_column_header() -> None:
    rows = [{cell.header: cell.text for cell in one.cells} for one in _read(_TABLE) if one.cells]
    assert rows == [
        {"": "Class"},
        {"Information set": "Case File", "Owner": "Clerk", "Class": "Restricted"},
        {"Information set": "Ledger", "Owner": "", "Class": "Internal"},
        {"": "B"},
        {"A": "1", "B": "2"},
    ]


def test_a_table_row_that_contains_only_names_is_marked_as_a_header_row() -> None:
    assert [one.only_names for one in _read(_TABLE) if one.cells] == [True, False, False, True, False]


def test_every_cell_of_a_table_row_statement_matches_its_span() -> None:
    for one in _read(_TABLE):
        assert all(one.document.text[cell.start : cell.end] == cell.text for cell in one.cells)


def test_a_table_continues_after_a_page_footer() -> None:
    cut = "Name | Meaning of it\nLoan | A loan of a book.\n\nThe Library\n\nFine | A sum to be paid.\n"
    rows = [[cell.header for cell in one.cells] for one in _read(cut) if one.cells]
    assert rows[-1] == ["Name", "Meaning of it"]


def test_a_wide_sheet_row_without_its_empty_cells_has_the_header_of_each_value() -> None:
    head = "Ref | Class | Owner | Note\n"
    wide = f"{head}Ref: A1 | Class: Loans | Note: kept | for long\nRef: People\nRef: A2 | Owner: Clerk\n"
    rows = [{cell.header: cell.text for cell in one.cells} for one in _read(wide)[1:] if one.cells]
    assert rows == [
        {"Ref": "A1", "Class": "Loans", "Owner": "", "Note": "kept | for long"},
        {"Ref": "A2", "Class": "", "Owner": "Clerk", "Note": ""},
    ]


def test_a_title_between_the_rows_of_a_table_leaves_the_headers_to_the_rows_below() -> None:
    titles = ["A. People", "Records of the year 2024", "Property.", "money and law", "'HKDF'"]
    for title in titles:
        rows = [one for one in _read(f"Class | Kept for\nLoan | 3 years\n{title}\nFine | 4 years\n") if one.cells]
        assert {cell.header: cell.text for cell in rows[-1].cells} == {"Class": "Fine", "Kept for": "4 years"}
    for text in ("And in Part B:", "- an item of a list", "One line.\nAnother line."):
        apart = [one for one in _read(f"Class | Kept for\nLoan | 3 years\n{text}\nSet | Owner\n") if one.cells]
        assert apart[-1].only_names


def test_a_second_header_row_below_the_name_of_a_group_of_columns_is_no_data() -> None:
    below = {
        "Class | From | Period": True,
        "Loan | May | June": False,
        "Class | 1 | 2": False,
    }
    for row, is_header in below.items():
        found = [one for one in _read(f"Class | Retention | Retention\n{row}\nFine | Payment | 4 years\n") if one.cells]
        headers = ["Class", "Retention From", "Retention Period"] if is_header else ["Class", "Retention", "Retention"]
        assert [cell.header for cell in found[2].cells] == headers
        assert found[1].only_names == is_header


def test_a_continued_table_keeps_the_headers_of_both_header_rows() -> None:
    head = "Class | Retention | Retention\nClass | From | Period\n"
    for repeated in ("", head):
        rows = [
            one for one in _read(f"{head}Loan | Return | 3 years\n\n{repeated}Fine | Payment | 4 years\n") if one.cells
        ]
        assert [cell.header for cell in rows[-1].cells] == ["Class", "Retention From", "Retention Period"]


def test_tables_of_contents_and_headings_are_not_statements() -> None:
    assert [one.text for one in _read(_CONTENTS)] == [
        "A1.1 The board meets.",
        "It decides on fees.",
        "- (a) at once; and",
        "- (b) in writing.",
    ]


def test_the_content_of_a_statement_starts_after_its_number() -> None:
    found = _read(_CONTENTS)
    assert [one.document.text[one.content_start : one.end] for one in found] == [
        "The board meets.",
        "It decides on fees.",
        "at once; and",
        "in writing.",
    ]
    assert [one.same_paragraph for one in found] == [False, True, False, False]
    assert {one.headings for one in found} == {("First part",)}


def test_the_content_of_a_statement_has_no_footnote_marks() -> None:
    found = _read("- Files stay for 25 years.[3]\n- Logs go at once[2].\n- Call argv[1] first; see [5].\n")
    assert [one.content for one in found] == [
        "Files stay for 25 years.",
        "Logs go at once.",
        "Call argv[1] first; see [5].",
    ]


def test_the_function_bare_title_removes_the_number_of_a_heading() -> None:
    titles = ["D7 Dual Registration", "Schedule 1: Fees", "3.2 Loans.", "## Grounds", "Team Sheets"]
    assert [bare_title(title) for title in titles] == ["Dual Registration", "Fees", "Loans", "Grounds", "Team Sheets"]
