from elt_llm_ingest.readers.pdf.layout import PdfLine, mark_table_rows


def _line(top: float, *cells: tuple[float, str]) -> PdfLine:
    parts = tuple(PdfLine(text, left, left + 5 * len(text), top - 10, top, 10) for left, text in cells)
    whole = PdfLine(" ".join(part.text for part in parts), parts[0].left, parts[-1].right, top - 10, top, 10)
    return PdfLine(**{**vars(whole), "cells": parts if len(parts) > 1 else ()})


def _texts(*lines: PdfLine) -> list[str]:
    return [line.text for line in mark_table_rows(lines)]


def test_table_cells_with_a_common_left_edge_are_separated() -> None:
    head, row = _line(100, (72, "Fee"), (200, "Amount")), _line(88, (72, "Entry"), (200, "40.00"))
    assert _texts(head, row) == ["Fee | Amount", "Entry | 40.00"]


def test_a_line_with_wide_gaps_but_without_aligned_cells_is_unchanged() -> None:
    assert _texts(_line(100, (72, "Far"), (200, "apart")), _line(88, (72, "Words that go on"))) == [
        "Far apart",
        "Words that go on",
    ]


def test_the_numbers_of_a_list_are_not_table_cells() -> None:
    first, second = _line(100, (72, "1."), (90, "Take it")), _line(88, (72, "2."), (90, "Leave it"))
    assert _texts(first, second) == ["1. Take it", "2. Leave it"]


def test_the_second_line_of_a_cell_joins_the_row_of_the_cell() -> None:
    first = _line(100, (72, "Loan"), (200, "A transfer for a"))
    onward = _line(88, (200, "time"))
    second = _line(76, (72, "Term"), (200, "What it means"))
    assert _texts(first, onward, second) == ["Loan | A transfer for a time", "Term | What it means"]


def test_a_cell_beside_a_long_cell_joins_the_row() -> None:
    head = _line(112, (72, "Class"), (200, "Covers"), (400, "Handled"))
    first, onward = _line(100, (72, "Secret"), (200, "Files of")), _line(88, (200, "cases"))
    last = _line(100, (400, "Locked away"))
    assert _texts(head, first, onward, last)[1] == "Secret | Files of cases | Locked away"
