"""Equations of Word and PowerPoint files are written as one line of plain text."""

from pathlib import Path

import pytest
from elt_llm_ingest.parsing.xml_guard import parse_xml
from elt_llm_ingest.readers.docx import DocxReader
from elt_llm_ingest.readers.equations import linear_equation
from optional import needs

_MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def _run(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def _equation(inner: str) -> str:
    return f'<m:oMath xmlns:m="{_MATH}">{inner}</m:oMath>'


def _square(base: str) -> str:
    return f"<m:sSup><m:e>{_run(base)}</m:e><m:sup>{_run('2')}</m:sup></m:sSup>"


_ROOT = f"<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/><m:e>{_square('b')}{_run('-4ac')}</m:e></m:rad>"


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (_run("E=m") + _square("c"), "E=mc^2"),
        (
            f"{_run('x=')}<m:f><m:num>{_run('-b±')}{_ROOT}</m:num><m:den>{_run('2a')}</m:den></m:f>",
            "x=(-b±√(b^2-4ac))/2a",
        ),
        (
            f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{_run('i=1')}</m:sub><m:sup>{_run('n')}</m:sup>"
            f"<m:e><m:sSub><m:e>{_run('x')}</m:e><m:sub>{_run('i')}</m:sub></m:sSub></m:e></m:nary>",
            "∑_(i=1)^n x_i",
        ),
        (f"<m:nary><m:sub/><m:sup/><m:e>{_run('f(x)dx')}</m:e></m:nary>", "∫ f(x)dx"),
        (f"<m:rad><m:deg>{_run('3')}</m:deg><m:e>{_run('x')}</m:e></m:rad>", "√(3&x)"),
        (f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e>{_run('0,1')}</m:e></m:d>", "[0,1]"),
        (
            f"<m:d><m:e><m:m><m:mr><m:e>{_run('a')}</m:e><m:e>{_run('b')}</m:e></m:mr>"
            f"<m:mr><m:e>{_run('c')}</m:e><m:e>{_run('d')}</m:e></m:mr></m:m></m:e></m:d>",
            "([a & b; c & d])",
        ),
        (
            f"<m:func><m:fName><m:limLow><m:e>{_run('lim')}</m:e><m:lim>{_run('n→∞')}</m:lim></m:limLow></m:fName>"
            f"<m:e><m:f><m:num>{_run('1')}</m:num><m:den>{_run('n')}</m:den></m:f></m:e></m:func>",
            "lim_(n→∞) 1/n",
        ),
        (f"<m:sPre><m:sub>{_run('6')}</m:sub><m:sup>{_run('14')}</m:sup><m:e>{_run('C')}</m:e></m:sPre>", "_6^14 C"),
        (f"<m:eqArr><m:e>{_run('x=1')}</m:e><m:e>{_run('y=2')}</m:e></m:eqArr>", "x=1; y=2"),
        (
            f"<m:borderBox><m:e>{_run('unknown forms keep their text')}</m:e></m:borderBox>",
            "unknown forms keep their text",
        ),
    ],
)
def test_an_equation_is_written_in_linear_form(inner: str, expected: str) -> None:
    assert linear_equation(parse_xml(_equation(inner).encode())) == expected


def test_an_equation_nested_beyond_the_limit_keeps_its_letters() -> None:
    inner = _run("x")
    for _ in range(80):
        inner = f"<m:sSup><m:e>{inner}</m:e><m:sup>{_run('2')}</m:sup></m:sSup>"
    written = linear_equation(parse_xml(_equation(inner).encode()))
    assert written.count("2") == 80
    assert "x" in written


def test_an_equation_is_read_as_part_of_the_text_of_its_paragraph(tmp_path: Path) -> None:
    needs("docx")
    import docx
    from docx.oxml import parse_xml as docx_element

    document = docx.Document()
    paragraph = document.add_paragraph("The energy is ")
    paragraph._p.append(docx_element(_equation(_run("E=m") + _square("c"))))
    paragraph.add_run(" at rest.")
    document.save(str(tmp_path / "energy.docx"))
    assert DocxReader().read(tmp_path / "energy.docx").text == "The energy is E=mc^2 at rest."
