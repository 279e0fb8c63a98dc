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
