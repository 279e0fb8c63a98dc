import csv
from io import BytesIO
from pathlib import Path

import openpyxl
import pytest
from elt_llm_consumer.evidence import (
    Cell,
    Curation,
    JobResult,
    Row,
    Table,
    absent_cell,
    found_cell,
    group_by_domain,
)
from elt_llm_consumer.export.csv import EVIDENCE_COLUMNS, REVIEW_COLUMNS, column_names, write_csv
from elt_llm_consumer.export.text import escape_formula, unescape_formula
from elt_llm_consumer.export.xlsx import fit_cell_text, write_xlsx
from hypothesis import given
from hypothesis import strategies as st

from tests.consumer.export.sample_results import catalog_result, evidence_of, glossary_result

FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://x")',
    "'=1",
    "\uff1d1+1",
    "\uff20SUM(A1)",
]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def result_with(text: str) -> JobResult:
    row = Row(key=text, name=text, cells={"value": found_cell(text, [evidence_of(text)])}, notes=(text,))
    return JobResult(job="j", kind="glossary", tables=(Table(name="terms", columns=("value",), rows=(row,)),))


def test_a_table_and_its_evidence_are_separate_files(tmp_path: Path) -> None:
    paths = write_csv(glossary_result(), tmp_path / "words.csv")
    assert [path.name for path in paths] == ["words.terms.csv", "words.evidence.csv"]
    first = rows_of(paths[0])[0]
    assert first["key"] == "term/member-club"
    assert first["definition"] == 'A club that is affiliated; see Rule A2, "Membership".'
    assert first["definition: verdict"] == "found"
    assert first["definition: evidence"] == "handbook.pdf, page 8"
    assert [first[name] for name in REVIEW_COLUMNS] == ["APPROVED", "Registrar", "'=fine"]


def test_every_cell_has_a_line_in_the_evidence_file_even_if_the_cell_is_absent(tmp_path: Path) -> None:
    lines = rows_of(write_csv(glossary_result(), tmp_path / "words.csv")[1])
    assert list(lines[0]) == list(EVIDENCE_COLUMNS)
    board = [line for line in lines if line["key"] == "term/board"]
    assert [(line["field"], line["verdict"], line["quote"]) for line in board] == [
        ("definition", "conflict", "Five directors."),
        ("definition", "conflict", "Seven directors."),
        ("abbreviation", "absent", ""),
    ]
    [fee] = [line for line in lines if line["key"] == "term/fee"]
    assert (fee["method"], fee["curated_by"], fee["curated_at"]) == ("curated", "Treasurer", "2026-10-01")


@pytest.mark.parametrize("text", FORMULAS)
def test_text_in_csv_never_becomes_a_formula(text: str, tmp_path: Path) -> None:
    for path in write_csv(result_with(text), tmp_path / "j.csv"):
        for line in rows_of(path):
            assert not any(value[:1] in "=+-@\t\r\uff1d\uff0b\uff0d\uff20" for value in line.values() if value)


@pytest.mark.parametrize("text", FORMULAS)
def test_text_in_a_workbook_never_becomes_a_formula(text: str, tmp_path: Path) -> None:
    [path] = write_xlsx(result_with(text), tmp_path / "j.xlsx")
    for sheet in openpyxl.load_workbook(path).worksheets:
        assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)
        assert all(cell.quotePrefix for row in sheet.iter_rows(min_row=2) for cell in row if cell.data_type == "s")


@given(st.text())
def test_the_original_text_of_a_cell_that_was_escaped_as_a_formula_can_be_read_back(text: str) -> None:
    printable = escape_formula(text)
    assert unescape_formula(printable) == unescape_formula(escape_formula(unescape_formula(printable)))
    assert printable[:1] not in {"=", "+", "-", "@", "\t", "\r", "\n"}


@pytest.mark.parametrize(
    ("text", "written"),
    [("'Priority Services Register' is also a list.", "'Priority Services Register' is also a list."), ("'=1", "''=1")],
)
def test_a_leading_apostrophe_is_doubled_only_if_a_formula_follows(text: str, written: str) -> None:
    assert escape_formula(text) == written
    assert unescape_formula(written) == text


def test_a_workbook_has_filters_a_frozen_header_and_links_to_the_evidence(tmp_path: Path) -> None:
    [path] = write_xlsx(glossary_result(), tmp_path / "words.xlsx")
    workbook = openpyxl.load_workbook(path)
    assert workbook.sheetnames == ["Terms", "Evidence", "Notes"]
    sheet = workbook["Terms"]
    assert (sheet.freeze_panes, sheet.auto_filter.ref[:3]) == ("D2", "A1:")
    names = [cell.value for cell in sheet[1]]
    link = sheet.cell(3, names.index("definition: evidence") + 1).hyperlink
    assert link is not None
    assert link.location is not None
    target = workbook["Evidence"][link.location.rpartition("!")[2]]
    assert (target.value, workbook["Evidence"].cell(target.row, 2).value) == ("terms", "term/board")
    assert workbook["Evidence"].cell(target.row, EVIDENCE_COLUMNS.index("quote") + 1).value == "Five directors."


def test_the_domain_and_subgroup_of_a_row_have_columns(tmp_path: Path) -> None:
    lines = rows_of(write_csv(catalog_result(), tmp_path / "things.csv")[0])
    assert [(line["domain"], line["subgroup"]) for line in lines][1:] == [
        ("People_and Places", "Clubs"),
        ("People_and Places", ""),
        ("", ""),
    ]


def test_a_group_column_that_has_the_name_of_a_field_gets_another_column_name() -> None:
    cells = {"kind": found_cell("role", [evidence_of("A role.")])}
    row = Row(key="k", name="Clerk", group=("role", "inner"), cells=cells)
    table = Table(name="candidates", columns=("kind",), rows=(row,), groups=("kind",))
    names = column_names(table)
    assert names[3:5] == ("group: kind", "group_2")
    assert len(set(names)) == len(names)


def test_a_sheet_explains_why_a_field_is_absent(tmp_path: Path) -> None:
    row = Row(key="k", name="Clerk", cells={"definition": absent_cell("The texts do not define it.")})
    table = Table(name="terms", columns=("definition",), rows=(row,))
    result = JobResult(job="j", kind="glossary", tables=(table,))
    [line] = rows_of(write_csv(result, tmp_path / "j.csv")[0])
    assert (line["definition"], line["definition: evidence"]) == ("", "The texts do not define it.")
    [path] = write_xlsx(result, tmp_path / "j.xlsx")
    sheet = openpyxl.load_workbook(path)["Terms"]
    assert all(cell.hyperlink is None for cell in sheet[2])


def test_a_sheet_shows_review_columns_first_and_hides_technical_columns(tmp_path: Path) -> None:
    [table] = glossary_result().tables
    [path] = write_xlsx(glossary_result(), tmp_path / "words.xlsx")
    sheet = openpyxl.load_workbook(path)["Terms"]
    assert [cell.value for cell in sheet[1]][2:6] == ["name", *REVIEW_COLUMNS]
    layouts = list(sheet.column_dimensions.values())
    hidden = {at for it in layouts if it.hidden for at in range(it.min or 0, (it.max or 0) + 1)}
    folded = {at for it in layouts if it.outlineLevel for at in range(it.min or 0, (it.max or 0) + 1)}
    assert [cell.value for cell in sheet[1] if cell.column in hidden] == ["table", "key", "review_of"]
    assert [cell.value for cell in sheet[1] if cell.column in folded] == [
        f"{name}: {part}" for name in table.columns for part in ("verdict", "evidence")
    ]


def test_rows_are_sorted_by_their_outermost_group_and_ungrouped_rows_are_last() -> None:
    groups: list[tuple[str, ...]] = [(), ("B",), ("A", "x"), ("B", "y"), ("", "z")]
    rows = [Row(key=str(number), name="n", group=group, cells={}) for number, group in enumerate(groups)]
    assert [row.key for row in group_by_domain(rows)] == ["1", "3", "2", "0", "4"]


def test_a_text_that_is_too_long_for_a_sheet_cell_is_replaced_by_a_reference_to_the_json_file() -> None:
    assert fit_cell_text("a" * 40_000).endswith("(full text in the JSON file)")
    assert len(fit_cell_text("a" * 40_000)) == 32_767


def test_characters_that_xml_cannot_represent_are_replaced(tmp_path: Path) -> None:
    [path] = write_xlsx(result_with("bell \x07 and \ufffe"), tmp_path / "j.xlsx")
    assert openpyxl.load_workbook(path)["Terms"]["B2"].value == "bell \ufffd and \ufffd"


@pytest.mark.parametrize("result", [glossary_result(), catalog_result()], ids=["glossary", "catalog"])
def test_equal_results_give_byte_identical_files(result: JobResult, tmp_path: Path) -> None:
    [one], [other] = write_xlsx(result, tmp_path / "a.xlsx"), write_xlsx(result, tmp_path / "b.xlsx")
    assert one.read_bytes() == other.read_bytes()
    assert openpyxl.load_workbook(BytesIO(one.read_bytes())).properties.created.year == 2000


def test_a_review_sheet_shows_the_note_of_every_cell_and_who_set_a_curated_value_and_why(tmp_path: Path) -> None:
    replaced = "The curated value replaces an absent value."
    by = Curation(by="Desk", at="2026-01-31", reason="The board decided so.")
    curated = Cell(
        value="V",
        verdict="found",
        evidence=(evidence_of("V"),),
        method="curated",
        confidence=1,
        note=replaced,
        curation=by,
    )
    used = found_cell("Part A", [evidence_of("Part A")], note="60 more sections use the term.")
    row = Row(key="k", name="Fee", cells={"definition": curated, "used_in": used})
    table = Table(name="terms", columns=("definition", "used_in"), rows=(row,))
    sheet, evidence = write_csv(JobResult(job="j", kind="glossary", tables=(table,)), tmp_path / "j.csv")
    [line] = rows_of(sheet)
    assert line["definition: evidence"].splitlines() == [
        "handbook.pdf, page 8",
        "Curated by Desk, 2026-01-31: The board decided so.",
        replaced,
    ]
    assert line["used_in: evidence"].splitlines() == ["handbook.pdf, page 8", "60 more sections use the term."]
    assert [one["curation_reason"] for one in rows_of(evidence)] == ["The board decided so.", ""]
