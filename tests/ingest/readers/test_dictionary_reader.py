"""A data dictionary becomes entities with definitions and domains, and its web addresses stay out of the texts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_core.enterprise import Inventory
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import ReaderOptions
from elt_llm_ingest.readers.dictionary import DictionaryReader, propose_columns
from file_formats.workbooks import column_name, ods, sheet_rows, xlsx
from optional import needs
from stored.job_project import JobProject

COLUMNS = '{"definition":"Definition","domain":"Domain","entity":"Element Name","id":"Global ID","subgroup":"Entity"}'
ROWS = [
    ["Global ID", "Element Name", "Definition", "Domain", "Entity", "Option Set", "URL"],
    ["1", "First Name", "The name given at birth.", "Learners", "Identity", "", "https://example.org/1"],
    ["2", "Status", "The state of a case.", "Staff", "", "Open; Closed", "https://example.org/2"],
    ["3", "", "A row without a name.", "Staff", "", "", ""],
]


def _read(path: Path, columns: str = COLUMNS) -> ParsedDocument:
    return DictionaryReader(ReaderOptions(columns=columns)).read(path)


def _csv(rows: list[list[str]]) -> str:
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows) + "\n"


def test_a_register_without_a_column_of_definitions_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "register.csv"
    path.write_text(_csv([["Division", "System", "Data owner"], ["Sales", "Web shop", "Ms Fox"]]), encoding="utf-8")
    document = _read(path, '{"domain":"Division","entity":"System"}')
    [sheet] = Inventory.from_json(document.artefacts["inventory"]).fact_sheets
    assert (sheet.name, sheet.parent, sheet.description, sheet.fields) == (
        "Web shop",
        "Sales",
        "",
        {"Data owner": "Ms Fox"},
    )


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_each_row_of_a_data_dictionary_that_has_a_name_becomes_an_entity(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"elements{suffix}"
    title: list[list[str]] = [["Elements, edition 3"], []] if suffix == ".xlsx" else []
    path.write_bytes(_csv(ROWS).encode() if suffix == ".csv" else xlsx({"Elements": [*title, *ROWS]}))
    document = _read(path)
    inventory = Inventory.from_json(document.artefacts["inventory"])
    first, second = inventory.fact_sheets
    assert (first.id, first.name, first.description) == ("1", "First Name", "The name given at birth.")
    assert (first.display_name, first.parent) == ("Learners / Identity / First Name", "Learners / Identity")
    assert (second.type, second.parent, second.fields) == ("DataElement", "Staff", {"Option Set": "Open; Closed"})
    left_out = (
        "1 row without a name left out" if suffix == ".csv" else "sheet 'Elements': 1 row without a name left out: 6"
    )
    assert document.notes == ("2 entries of a data dictionary", left_out)


def test_web_addresses_in_a_data_dictionary_become_metadata_of_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "elements.csv"
    path.write_text(_csv(ROWS))
    parts = _read(path).parts
    assert [part.document.metadata["url"] for part in parts] == ["https://example.org/1", "https://example.org/2"]
    assert not any("example.org" in part.document.text for part in parts)


def test_a_missing_data_dictionary_column_is_named_with_the_most_similar_headers(tmp_path: Path) -> None:
    path = tmp_path / "elements.csv"
    path.write_text(_csv(ROWS))
    missing = r"^has no column 'Elemnt Name', which the job maps to entity \(Nearest: Element Name"
    with pytest.raises(UnreadableDocument, match=missing):
        _read(path, '{"definition":"Definition","entity":"Elemnt Name"}')
    with pytest.raises(UnreadableDocument, match="has no column 'Meaning', which the job maps to definition"):
        _read(path, '{"definition":"Meaning","entity":"Element Name"}')


@pytest.mark.parametrize(("source", "message"), [("", "is empty$"), (",\n,\n", r"maps to entity$")])
def test_a_data_dictionary_without_headers_is_refused_without_a_list_of_headers(
    tmp_path: Path, source: str, message: str
) -> None:
    path = tmp_path / "elements.csv"
    path.write_text(source)
    with pytest.raises(UnreadableDocument, match=message):
        _read(path, '{"entity":"Name"}')


def test_all_missing_data_dictionary_columns_are_named_even_if_the_sheet_starts_with_a_title(tmp_path: Path) -> None:
    path = tmp_path / "elements.xlsx"
    path.write_bytes(xlsx({"Read me": [["Elements"]], "Elements": [["Elements, edition 3"], [], *ROWS]}))
    with pytest.raises(UnreadableDocument) as missing:
        _read(path, '{"definition":"defnition","domain":"Domaine","entity":"Elemnt Name","id":"Global ID"}')
    assert all(name in str(missing.value) for name in ("'defnition'", "'Domaine'", "'Elemnt Name'"))
    assert "'Domaine', which the job maps to domain (Nearest: Domain" in str(missing.value)
    assert "'defnition', which the job maps to definition (Nearest: Definition)" in str(missing.value)


TWO_SHEETS = {
    "Entities": [["Entity", "Definition"], ["Main", "A pipe in a street."], ["Pump", "A machine that moves water."]],
    "Attributes": [["Entity", "Attribute"], ["Main", "Diameter"]],
    "Empty": [],
}


def test_a_sheet_that_lacks_a_column_is_left_out_with_a_note_if_another_sheet_has_all_columns(tmp_path: Path) -> None:
    path = tmp_path / "two.xlsx"
    path.write_bytes(xlsx(TWO_SHEETS))
    document = _read(path, '{"definition":"Definition","entity":"Entity"}')
    assert [one.name for one in Inventory.from_json(document.artefacts["inventory"]).fact_sheets] == ["Main", "Pump"]
    lacking = "no column 'Definition', which the job maps to definition (Known: Entity, Attribute)"
    assert document.notes[1:] == (f"sheet 'Attributes' has {lacking}; it is left out",)


def test_if_no_sheet_has_all_columns_each_sheet_is_named_with_the_most_similar_headers(tmp_path: Path) -> None:
    path = tmp_path / "two.xlsx"
    path.write_bytes(xlsx(TWO_SHEETS))
    with pytest.raises(UnreadableDocument) as missing:
        _read(path, '{"definition":"Definitions","entity":"Entity"}')
    assert str(missing.value) == (
        "has no sheet with all columns: sheet 'Entities' has no column 'Definitions', which the job maps to definition "
        "(Nearest: Definition); sheet 'Attributes' has no column 'Definitions', which the job maps to definition "
        "(Known: Entity, Attribute)"
    )


def test_rows_without_a_name_are_noted_by_sheet_and_row_as_the_spreadsheet_numbers_them(tmp_path: Path) -> None:
    path = tmp_path / "late.xlsx"
    rows = [[], [], ["Entity", "Definition"], ["Main", "A pipe."], *([["", "No name."]] * 7)]
    path.write_bytes(xlsx({"Entities": rows}))
    document = _read(path, '{"definition":"Definition","entity":"Entity"}')
    assert document.notes[1:] == ("sheet 'Entities': 7 rows without a name left out: 5, 6, 7, 8, 9, ...",)
    assert [one.row for one in Inventory.from_json(document.artefacts["inventory"]).fact_sheets] == [4]


def test_formulas_without_stored_values_and_comments_of_a_data_dictionary_are_noted(tmp_path: Path) -> None:
    needs("openpyxl")
    import openpyxl
    from openpyxl.comments import Comment

    book = openpyxl.Workbook()
    sheet = book.create_sheet("Entities", 0)
    for row in (["Entity", "Definition"], ["Main", '="A pipe"'], ["Pump", "A machine."]):
        sheet.append(row)
    sheet["A3"].comment = Comment("To be checked.", "Ann")
    book.save(tmp_path / "formulas.xlsx")
    document = _read(tmp_path / "formulas.xlsx", '{"definition":"Definition","entity":"Entity"}')
    assert document.notes[1:] == (
        "sheet 'Entities': 1 formula has no stored value; open the workbook in a spreadsheet program and save it",
        "sheet 'Entities': comments on cells are not read: 1",
    )


MERGED_ROWS: list[list[str | None]] = [
    ["Ref", "Governance", None, "Element", "Definition"],
    [None, "Domain", "Steward", None, None],
    ["1", "Customers", "A. Adams", "Account", "An agreement with a payer."],
    ["2", None, None, "Payer", "A person who pays."],
    ["3", "Pipes", None, "Main", "A pipe in a street."],
]
MERGED_RANGES = ("A1:A2", "B1:C1", "D1:D2", "E1:E2", "B3:B4", "C3:C5")


def _merged_xlsx() -> bytes:
    ranges = "".join(f'<mergeCell ref="{place}"/>' for place in MERGED_RANGES)
    return xlsx({"Elements": f"<sheetData>{sheet_rows(MERGED_ROWS)}</sheetData><mergeCells>{ranges}</mergeCells>"})


def _merged_ods() -> bytes:
    spans = {"A1": (2, 1), "B1": (1, 2), "D1": (2, 1), "E1": (2, 1), "B3": (2, 1), "C3": (3, 1)}
    rows = ""
    for number, row in enumerate(MERGED_ROWS, 1):
        cells = ""
        for column, text in enumerate(row):
            down, across = spans.get(f"{column_name(column)}{number}", (1, 1))
            span = f'table:number-rows-spanned="{down}" table:number-columns-spanned="{across}"'
            value = f'<table:table-cell office:value-type="string" {span}><text:p>{text}</text:p></table:table-cell>'
            cells += "<table:covered-table-cell/>" if text is None else value
        rows += f"<table:table-row>{cells}</table:table-row>"
    return ods({"Elements": rows})


@pytest.mark.parametrize(("suffix", "content"), [(".xlsx", _merged_xlsx), (".ods", _merged_ods)])
def test_a_merged_cell_of_a_data_dictionary_applies_to_all_rows_and_headers_that_it_covers(
    tmp_path: Path, suffix: str, content: Callable[[], bytes]
) -> None:
    path = tmp_path / f"elements{suffix}"
    path.write_bytes(content())
    document = _read(path, '{"definition":"Definition","domain":"Domain","entity":"Element","id":"Ref"}')
    sheets = Inventory.from_json(document.artefacts["inventory"]).fact_sheets
    assert [(one.name, one.parent, one.fields) for one in sheets] == [
        ("Account", "Customers", {"Steward": "A. Adams"}),
        ("Payer", "Customers", {"Steward": "A. Adams"}),
        ("Main", "Pipes", {"Steward": "A. Adams"}),
    ]


def test_changed_web_addresses_in_a_data_dictionary_do_not_cause_rows_to_be_embedded_again(tmp_path: Path) -> None:
    project = JobProject(tmp_path)
    project.write({"elements.csv": _csv(ROWS)})
    project.job(
        "elements",
        "collection: elements\npaths: [elements.csv]\n"
        "columns: {entity: Element Name, definition: Definition, domain: Domain, id: Global ID}\n",
    )
    [first] = project.run("elements").reports
    assert first.embedded == 3
    project.write({"elements.csv": _csv(ROWS).replace("https://example.org/", "https://example.org/new/")})
    [again] = project.run("elements").reports
    assert (again.embedded, again.generation) == (0, 2)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            ["Global ID", "Element Name", "Definition", "Option Set", "Domain", "Entity", "Category", "Format", "URL"],
            {
                "entity": "Element Name",
                "definition": "Definition",
                "domain": "Domain",
                "subgroup": "Entity",
                "type": "Format",
                "id": "Global ID",
            },
        ),
        (
            ["Ref", "Domain", "Subject area", "Element", "Business definition", "Format", "Class", "Reference"],
            {
                "entity": "Element",
                "definition": "Business definition",
                "domain": "Domain",
                "subgroup": "Subject area",
                "type": "Format",
                "id": "Ref",
            },
        ),
        (
            ["Table", "Column name", "Description"],
            {"entity": "Column name", "definition": "Description", "subgroup": "Table"},
        ),
        (["Term", "Meaning of the term"], {"entity": "Term", "definition": "Meaning of the term"}),
    ],
)
def test_columns_for_reading_a_data_dictionary_are_proposed(header: list[str], expected: dict[str, str]) -> None:
    texts = {"definition", "business definition", "description", "meaning of the term"}
    rows = [
        [f"The meaning of value {number}" if cell.casefold() in texts else f"{cell} {number}" for cell in header]
        for number in range(9)
    ]
    assert propose_columns([["Elements, edition 3"], [], header, *rows]) == expected


def test_a_price_list_and_a_table_of_remarks_are_not_recognised_as_data_dictionaries() -> None:
    assert propose_columns([["Name", "Price"], *[[f"Item {number}", str(number)] for number in range(9)]]) == {}
    assert propose_columns([["Name", "Comment"], *[[f"Item {number}", "ok"] for number in range(9)]]) == {}
    assert propose_columns([]) == {}
