"""A file whose content has another format than its suffix is refused with the name of that format."""

from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.sandbox.parser import DirectParser, ParseRequest
from file_formats.workbooks import ods, package, xlsx

CONTENTS = {
    "PDF": b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n",
    "HTML": b"<!DOCTYPE html>\n<html><body><p>Fees</p></body></html>",
    "XLSX": xlsx({"Fees": [["Item", "Fee"]]}),
    "ODS": ods({"Fees": ""}),
    "DOCX": package({"word/document.xml": "<document/>"}),
}


def _reason(path: Path) -> str:
    [outcome] = DirectParser().read_all([ParseRequest(path)])
    assert isinstance(outcome, UnreadableDocument)
    return str(outcome)


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        ("PDF", "rules.docx", "is a PDF, not a .docx file: rename it to .pdf"),
        ("PDF", "rules.xlsx", "is a PDF, not a .xlsx file: rename it to .pdf"),
        ("HTML", "rules.docx", "is an HTML page, not a .docx file: rename it to .html"),
        ("HTML", "rules.pdf", "is an HTML page, not a .pdf file: rename it to .html"),
        ("XLSX", "rules.docx", "is a .xlsx file, not a .docx file: rename it to .xlsx"),
        ("ODS", "rules.pdf", "is a .ods file, not a .pdf file: rename it to .ods"),
        ("DOCX", "rules.xlsx", "is a .docx file, not a .xlsx file: rename it to .docx"),
    ],
)
def test_a_file_with_a_mistaken_suffix_is_refused_with_the_right_one(
    tmp_path: Path, content: str, name: str, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(CONTENTS[content])
    assert _reason(path) == reason


def test_a_damaged_file_with_the_right_suffix_keeps_its_own_reason(tmp_path: Path) -> None:
    path = tmp_path / "rules.pdf"
    path.write_bytes(CONTENTS["PDF"])
    assert "rename it" not in _reason(path)
