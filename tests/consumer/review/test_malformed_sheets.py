"""Damaged and hostile sheets are refused with a reason, in bounded time and memory."""

from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from elt_llm_consumer.review.sheet import SheetRow, import_reviews, read_sheet
from elt_llm_core.errors import UsageError
from elt_llm_core.settings.loader import LoadedSettings
from elt_llm_core.state.database import open_state
from elt_llm_core.state.jobs import JobName, JobReviewTable
from row_jobs.fake_jobs import KIND, project, run, some_terms
from xlsxwriter import Workbook

NAME = JobName("rules", KIND)
HEADER = ["table", "key", "review_status", "reviewer", "review_comment"]


def _workbook(path: Path, *lines: list[str]) -> Path:
    with Workbook(path) as workbook:
        sheet = workbook.add_worksheet("Terms")
        for number, line in enumerate((HEADER, *lines)):
            sheet.write_row(number, 0, line)
    return path


def _with_part(path: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """Return a copy of the workbook in which one part is changed."""
    with ZipFile(path) as package:
        parts = {part: package.read(part) for part in package.namelist()}
    with ZipFile(path, "w", ZIP_DEFLATED) as package:
        for part, content in parts.items():
            package.writestr(part, change(content) if part == name else content)
    return path


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("xl/worksheets/sheet1.xml", lambda content: content[: len(content) // 2]),
        ("xl/sharedStrings.xml", lambda content: content[: len(content) // 2]),
        ("xl/worksheets/sheet1.xml", lambda content: content.replace(b"<v>1</v>", b"<v>99999</v>")),
    ],
)
def test_a_damaged_workbook_is_refused_with_a_reason(
    part: str, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = _with_part(_workbook(tmp_path / "sheet.xlsx", ["terms", "Board", "APPROVED"]), part, change)
    with pytest.raises(UsageError, match=r"sheet\.xlsx cannot be read as a workbook"):
        read_sheet(path)


def test_a_workbook_with_a_renamed_review_column_is_refused_although_another_sheet_has_all(tmp_path: Path) -> None:
    with Workbook(tmp_path / "sheet.xlsx") as workbook:
        renamed = [name.replace("review_status", "Status") for name in HEADER]
        for name, *lines in (("Terms", renamed, ["terms", "Board", "APPROVED", "Ada"]), ("Abbreviations", HEADER)):
            sheet = workbook.add_worksheet(str(name))
            for number, line in enumerate(lines):
                sheet.write_row(number, 0, line)
    with pytest.raises(UsageError, match=r"The sheet 'Terms' of .*sheet\.xlsx has no column review_status\."):
        read_sheet(tmp_path / "sheet.xlsx")


def test_lines_above_the_names_of_the_columns_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(
        f"sep=;\r\nReviewed, in November;;\r\n{';'.join(HEADER)}\r\nterms;Board;APPROVED;Ada;\r\n", encoding="utf-8-sig"
    )
    with Workbook(tmp_path / "sheet.xlsx") as workbook:
        sheet = workbook.add_worksheet("Terms")
        for number, line in enumerate((["Reviewed in November"], [], HEADER, ["terms", "Board", "APPROVED", "Ada"])):
            sheet.write_row(number, 0, line)
    found = [read_sheet(tmp_path / name)[0] for name in ("sheet.csv", "sheet.xlsx")]
    assert [(it.where, it.key, it.reviewer) for it in found] == [
        ("row 4", "Board", "Ada"),
        ("row 4 of sheet 'Terms'", "Board", "Ada"),
    ]


def test_a_comment_that_a_spreadsheet_made_a_date_is_imported_as_this_date(tmp_path: Path) -> None:
    with Workbook(tmp_path / "sheet.xlsx", {"default_date_format": "dd.mm.yyyy"}) as workbook:
        sheet = workbook.add_worksheet("Terms")
        sheet.write_row(0, 0, HEADER)
        sheet.write_row(1, 0, ["terms", "Board", "APPROVED", "Ada", datetime(2026, 3, 12)])  # noqa: DTZ001 - as typed
    assert read_sheet(tmp_path / "sheet.xlsx")[0].comment == "2026-03-12"


def test_a_workbook_that_is_a_decompression_bomb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = _workbook(tmp_path / "sheet.xlsx")
    with ZipFile(path, "a", ZIP_DEFLATED) as package, package.open("xl/extra.xml", "w") as part:
        for _ in range(257):
            part.write(b" " * 1_000_000)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(UsageError, match="unpacks to more than"):
        read_sheet(path)


def test_a_filled_cell_far_from_the_other_cells_does_not_slow_down_reading(tmp_path: Path) -> None:
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    path = _workbook(tmp_path / "sheet.xlsx", ["terms", "Board", "APPROVED", "Registrar"])
    _with_part(path, "xl/worksheets/sheet1.xml", lambda content: content.replace(b"</sheetData>", far))
    assert [line.key for line in read_sheet(path)] == ["Board"]


def test_a_review_sheet_with_too_many_lines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(",".join(HEADER) + "\n" + "terms,Board,APPROVED,Registrar,\n" * 100_001, encoding="utf-8")
    with pytest.raises(UsageError, match="more than 100,000 lines"):
        read_sheet(path)


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    """Return a project in which a glossary of two terms was written."""
    loaded = project(tmp_path, {"a/one.md": some_terms(2)})
    run(loaded)
    return loaded


def test_importing_an_unchanged_sheet_with_unprintable_characters_adds_no_review(
    loaded: LoadedSettings,
) -> None:
    line = SheetRow("row 2", "terms", "Term 00", "APPROVED", "Registrar", "fine \x1b[31m")
    with closing(open_state(loaded.data_dir)) as state:
        import_reviews([line], state, NAME)
        [kept] = JobReviewTable(state).all(NAME).values()
        back = SheetRow("row 2", "terms", "Term 00", "APPROVED", "Registrar", kept.comment)
        assert "\x1b" not in kept.comment
        assert import_reviews([back], state, NAME).unchanged == 1


def test_a_comment_too_long_for_a_cell_is_reported(loaded: LoadedSettings) -> None:
    line = SheetRow("row 2", "terms", "Term 00", "APPROVED", "Registrar", "x" * 10_001)
    with closing(open_state(loaded.data_dir)) as state:
        report = import_reviews([line], state, NAME)
    assert report.taken == 0
    assert report.problems == ("row 2: the reviewer or comment has more than 10,000 characters",)
