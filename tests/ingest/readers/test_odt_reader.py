"""The odt reader keeps the order of the text, computes numbers, and limits repetitions."""

import re
import tempfile
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.odt import OdtReader
from elt_llm_ingest.readers.pdf.reader import PdfReader
from file_formats.office import docx, odt
from hypothesis import given
from hypothesis import strategies as st

LEVELS = (
    '<text:{0} text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:{0} text:level="2" style:num-format="a" style:num-suffix=")" text:display-levels="2"/>'
)
OUTLINE = f"<text:outline-style>{LEVELS.format('outline-level-style')}</text:outline-style>"
NUMBERS = f'<text:list-style style:name="N">{LEVELS.format("list-level-style-number")}</text:list-style>'
BOLD = (
    '<style:style style:name="B" style:family="paragraph"><style:text-properties fo:font-weight="bold"/></style:style>'
    '<style:style style:name="T" style:family="text" style:parent-style-name="TB"/>'
    '<style:style style:name="TB" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>'
)


def _read(data: bytes) -> ParsedDocument:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written.odt"
        path.write_bytes(data)
        return OdtReader().read(path)


def _texts(body: str, automatic: str = "", styles: str = "") -> list[str]:
    document = _read(odt(body, automatic=automatic, styles=styles))
    return [document.text[block.start : block.end] for block in document.blocks]


def _items(*texts: str) -> str:
    return "".join(f"<text:list-item><text:p>{text}</text:p></text:list-item>" for text in texts)


def _cell(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"


def _row(cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{cells}</table:table-row>"


def test_odt_headings_have_the_numbers_of_the_outline_style() -> None:
    body = "".join(f'<text:h text:outline-level="{level}">T</text:h>' for level in (1, 2, 2, 1, 2))
    document = _read(odt(body, styles=OUTLINE))
    assert [section.title for section in document.sections] == ["1. T", "1.a) T", "1.b) T", "2. T", "2.a) T"]
    assert document.section_path(len(document.text)) == ("2. T", "2.a) T")


def test_odt_list_numbers_restart_or_continue_as_the_styles_specify() -> None:
    body = (
        f'<text:list text:style-name="N">{_items("a", "b")}<text:list-item><text:list>{_items("c")}</text:list>'
        f'</text:list-item></text:list><text:list text:style-name="N" text:continue-numbering="true">{_items("d")}'
        f'</text:list><text:list text:style-name="N">{_items("e")}<text:list-item text:start-value="7">'
        "<text:p>f</text:p><text:p>more</text:p></text:list-item><text:list-header><text:p>head</text:p></text:list-header></text:list>"
    )
    assert _texts(body, NUMBERS) == ["1. a", "2. b", "2.a) c", "3. d", "1. e", "7. f", "more", "head"]


def test_odt_elements_for_spaces_tabs_and_line_breaks_become_white_space() -> None:
    body = '<text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d\n e <text:span>f</text:span>g</text:p>'
    assert _texts(body) == ["a b c\nd e fg"]


def test_preformatted_odt_text_keeps_its_spaces() -> None:
    code = '<style:style style:name="Preformatted_20_Text" style:family="paragraph"/>'
    body = '<text:p text:style-name="Preformatted_20_Text">if x:<text:s text:c="4"/>y</text:p>'
    document = _read(odt(body, styles=code))
    assert document.text == "if x:    y"
    assert document.blocks[0].kind == "code"


def test_odt_notes_and_frames_follow_their_paragraph_and_annotations_are_not_read() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>At the foot.</text:p>"
        "</text:note-body></text:note>"
    )
    frame = "<draw:frame><draw:text-box><text:p>In a frame.</text:p></draw:text-box></draw:frame>"
    body = f"<text:p>Word{note} on.{frame}<office:annotation><text:p>No.</text:p></office:annotation></text:p>"
    deleted = "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
    contents = "<text:table-of-content><text:p>A ... 1</text:p></text:table-of-content>"
    section = "<text:section><text:p>In a section.</text:p></text:section>"
    expected = ["Word[1] on.", "In a frame.", "[1] At the foot.", "In a section."]
    assert _texts(deleted + contents + body + section) == expected


def test_a_hidden_section_of_an_odt_file_is_skipped_with_a_note() -> None:
    document = _read(odt('<text:section text:display="none"><text:p>x</text:p></text:section><text:p>y</text:p>'))
    assert (document.text, document.notes) == ("y", ("holds hidden text, which is not read",))


def test_struck_out_text_of_an_odt_file_is_skipped_with_a_note() -> None:
    def look(name: str, family: str, line: str) -> str:
        line = f'<style:text-properties style:text-line-through-style="{line}"/>'
        return f'<style:style style:name="{name}" style:family="{family}">{line}</style:style>'

    styles = look("T1", "text", "solid") + look("T2", "text", "none") + look("P1", "paragraph", "solid")
    body = (
        '<text:p>Means <text:span text:style-name="T1">24 <text:span>months</text:span></text:span>36 months.</text:p>'
        '<text:p text:style-name="P1">Gone, but <text:span text:style-name="T2">kept.</text:span></text:p>'
    )
    document = _read(odt(body, automatic=styles))
    assert document.text == "Means 36 months.\n\nkept."
    assert document.notes == ("holds struck-out text, which is not read",)


def test_a_raised_number_of_an_odt_file_does_not_run_into_the_number_before_it() -> None:
    look = '<style:text-properties style:text-position="super 58%"/>'
    styles = f'<style:style style:name="T1" style:family="text">{look}</style:style>'
    raised = '<text:span text:style-name="T1">{}</text:span>'
    power, area = raised.format("3") + raised.format("2"), raised.format("2")
    assert _read(odt(f"<text:p>2{power} bytes, 5 m{area}</text:p>", automatic=styles)).text == "2^32 bytes, 5 m2"


def test_embedded_objects_of_an_odt_file_are_noted() -> None:
    document = _read(odt("<text:p>x<draw:frame><draw:object/><draw:image/></draw:frame></text:p>"))
    assert (document.text, document.notes) == ("x", ("holds an embedded object, which is not read",))


def test_odt_table_rows_repeat_the_text_of_merged_cells() -> None:
    covered = "<table:covered-table-cell/>"
    header = (
        f"<table:table-header-rows>{_row(_cell('Club') + _cell('Town') + _cell('Since'))}</table:table-header-rows>"
    )
    wide, down = 'table:number-columns-spanned="2"', 'table:number-rows-spanned="2"'
    rows = _row(_cell("A", down) + _cell("B", wide) + covered) + _row(covered + _cell("C") + _cell("D"))
    document = _read(odt(f"<table:table>{header}{rows}</table:table>"))
    read = [(document.text[block.start : block.end], block.header) for block in document.blocks]
    assert read == [("Club | Town | Since", "")] + [
        (text, "Club | Town | Since") for text in ("A | B | B", "A | C | D")
    ]


def test_the_number_of_repeated_odt_table_cells_is_limited() -> None:
    rows = _row(_cell("x") + _cell("", 'table:number-columns-repeated="999999"'), 'table:number-rows-repeated="999999"')
    rows += _row(_cell("", 'table:number-columns-repeated="16384"'), 'table:number-rows-repeated="1048576"')
    assert _texts(f"<table:table>{rows}</table:table>") == ["x"] * 100


def test_bold_text_is_recognised_from_odt_styles_and_their_base_styles() -> None:
    term = '<text:span text:style-name="T">Club</text:span>'
    body = f'<text:p text:style-name="B">Scope</text:p><text:p>{term}: all.</text:p>'
    document = _read(odt(body, automatic=BOLD))
    assert [(block.kind) for block in document.blocks] == ["heading", "definition"]


def test_the_title_of_an_odt_file_is_taken_from_its_properties_or_its_title_paragraph() -> None:
    title = '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>'
    styles = '<style:style style:name="Title" style:family="paragraph"/>'
    meta = (
        "<meta:initial-creator>A</meta:initial-creator><dc:creator>B</dc:creator><dc:date>2022-03-01T00:00:00</dc:date>"
    )
    document = _read(odt('<text:p text:style-name="P1">Rules</text:p>', automatic=title, styles=styles, meta=meta))
    assert document.title == "Rules"
    assert document.metadata == {"authors": "A", "year": 2022}
    named = _read(odt("<text:p>x</text:p>", meta=f"<dc:title>Named</dc:title>{meta}"))
    assert named.title == "Named"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (odt("", manifest="<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"), "is encrypted"),
        (docx(""), "is not an OpenDocument text"),
        (b"words", "not a zip package"),
    ],
)
def test_files_that_are_not_opendocument_texts_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        _read(data)


@given(
    st.recursive(
        st.sampled_from(["<text:p>x</text:p>", "y"]),
        lambda inner: st.builds(
            lambda tag, children: f"<{tag}>{''.join(children)}</{tag}>",
            st.sampled_from(
                [
                    "text:p",
                    "text:h",
                    "text:list",
                    "text:list-item",
                    "table:table",
                    "table:table-row",
                    "table:table-cell",
                    "table:covered-table-cell",
                    "draw:frame",
                    "text:note",
                    "text:note-body",
                    "text:span",
                ]
            ),
            st.lists(inner, max_size=4),
        ),
        max_leaves=20,
    )
)
def test_any_nesting_of_odt_elements_is_read(body: str) -> None:
    document = _read(odt(body))
    assert document.blocks or not document.text


def test_real_odt_files_have_the_same_text_as_their_pdf_editions(datasets: Path) -> None:
    twins = sorted((datasets / "handbooks").glob("**/*.odt"))
    assert len(twins) == 3
    for path in twins:
        read = set(re.findall(r"\w+", OdtReader().read(path).text.casefold()))
        printed = set(re.findall(r"\w{3,}", PdfReader().read(path.with_suffix(".pdf")).text.casefold()))
        assert len(printed & read) >= 0.95 * len(printed)
