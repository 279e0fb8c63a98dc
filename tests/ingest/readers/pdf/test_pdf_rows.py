from elt_llm_ingest.readers.pdf.layout import PdfLine, mark_table_rows, rows_by_height


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


def test_the_second_line_of_a_table_cell_is_part_of_the_row_of_the_cell() -> None:
    first = _line(100, (72, "Loan"), (200, "A transfer for a"))
    onward = _line(88, (200, "time"))
    second = _line(76, (72, "Term"), (200, "What it means"))
    assert _texts(first, onward, second) == ["Loan | A transfer for a time", "Term | What it means"]


def test_a_cell_beside_a_cell_of_several_lines_is_part_of_the_same_row() -> None:
    head = _line(112, (72, "Class"), (200, "Covers"), (400, "Handled"))
    first, onward = _line(100, (72, "Secret"), (200, "Files of")), _line(88, (200, "cases"))
    last = _line(100, (400, "Locked away"))
    assert _texts(head, first, onward, last)[1] == "Secret | Files of cases | Locked away"


def _right_aligned(top: float, label: str, *cells: tuple[float, str]) -> PdfLine:
    parts = [PdfLine(text, right - 5 * len(text), right, top - 10, top, 10) for right, text in cells]
    labels = [PdfLine(label, 72, 72 + 5 * len(label), top - 10, top, 10)] if label else []
    every = (*labels, *parts)
    whole = PdfLine(" ".join(part.text for part in every), every[0].left, every[-1].right, top - 10, top, 10)
    return PdfLine(**{**vars(whole), "cells": every if len(every) > 1 else ()})


def test_figures_with_a_common_right_edge_below_two_lines_of_column_heads_are_read_as_a_table() -> None:
    heads = (
        _right_aligned(112, "", (340, "Year ended"), (420, "Year ended")),
        _right_aligned(100, "EUR", (340, "2025"), (420, "2024")),
    )
    rows = (
        _right_aligned(88, "Revenue", (340, "1,204"), (420, "998")),
        _right_aligned(76, "Costs", (340, "(87)"), (420, "(1,100)")),
    )
    lines = mark_table_rows([*heads, *rows])
    assert [line.text for line in lines] == [
        "EUR | Year ended 2025 | Year ended 2024",
        "Revenue | 1,204 | 998",
        "Costs | (87) | (1,100)",
    ]
    assert [line.header for line in lines[1:]] == ["EUR | Year ended 2025 | Year ended 2024"] * 2


def test_a_row_without_a_figure_in_one_column_keeps_its_other_figures_under_the_right_column_heads() -> None:
    head = _right_aligned(100, "", (300, "Note"), (360, "2025"), (420, "2024"))
    rows = [
        _right_aligned(88, "Revenue", (300, "3"), (360, "1,204"), (420, "998")),
        _right_aligned(76, "Profit", (360, "17"), (420, "12")),
    ]
    assert _texts(head, *rows)[2] == "Profit |  | 17 | 12"


def test_figures_that_are_drawn_column_by_column_are_joined_to_the_row_labels_beside_them() -> None:
    labels = [_line(88, (72, "Revenue")), _line(76, (72, "Costs")), _line(64, (72, "Profit"))]
    column = [
        _right_aligned(100, "", (360, "2025")),
        *(_right_aligned(top, "", (360, figure)) for top, figure in ((88, "1,204"), (76, "1,187"), (64, "17"))),
    ]
    assert [line.text for line in rows_by_height([*labels, *column])] == [
        "2025",
        "Revenue 1,204",
        "Costs 1,187",
        "Profit 17",
    ]


def test_the_lines_of_a_first_cell_that_come_before_the_cell_beside_them_are_one_row() -> None:
    head = _line(112, (72, "Term"), (200, "Meaning"))
    first, onward = _line(100, (72, "Security")), _line(88, (72, "Report"))
    beside, below = _line(100, (200, "A report on")), _line(88, (200, "the results"))
    assert _texts(head, first, onward, beside, below) == ["Term | Meaning", "Security Report | A report on the results"]
    prose = _line(100, (72, "We met.")), _line(88, (72, "We left."))
    assert _texts(head, *prose, beside)[1:3] == ["We met.", "We left."]
