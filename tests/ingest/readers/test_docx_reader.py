"""The docx reader keeps the order of Word files and computes the numbers of headings and lists as Word does."""

import tempfile
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.docx import DocxReader
from file_formats.office import cell, core, docx, paragraph, style
from hypothesis import given
from hypothesis import strategies as st

CONTAINER = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
HEADINGS = "".join(style(f"H{level}", f"heading {level}") for level in (1, 2, 3))


def _read(data: bytes) -> ParsedDocument:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written.docx"
        path.write_bytes(data)
        return DocxReader().read(path)


def _blocks(data: bytes) -> list[tuple[str, str]]:
    document = _read(data)
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def _titles(document: ParsedDocument) -> list[tuple[int, str]]:
    return [(section.level, section.title) for section in document.sections]


def _numbering(*levels: tuple[str, str], more: str = "") -> str:
    written = "".join(
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{shown}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for level, (shown, text) in enumerate(levels)
    )
    abstract = f'<w:abstractNum w:abstractNumId="7">{written}</w:abstractNum>'
    return f'{abstract}<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>{more}'


def _item(text: str, level: int = 0, list_id: int = 1) -> str:
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>')


def test_headings_are_recognised_by_style_name_base_style_and_outline_level() -> None:
    styles = (
        style("berschrift1", "heading 1")
        + style("Own", "Our heading", '<w:basedOn w:val="berschrift1"/>')
        + style("Level", "Level two", '<w:pPr><w:outlineLvl w:val="1"/></w:pPr>')
        + style("Body", "Body", '<w:basedOn w:val="berschrift1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr>')
        + style("Loop", "Loop", '<w:basedOn w:val="Loop"/>')
    )
    body = "".join(paragraph(name, f'<w:pStyle w:val="{name}"/>') for name in ("berschrift1", "Own", "Level"))
    body += paragraph("Direct", '<w:outlineLvl w:val="2"/>')
    body += "".join(paragraph(name, f'<w:pStyle w:val="{name}"/>') for name in ("Body", "Loop", "Unknown"))
    document = _read(docx(body, styles=styles))
    assert _titles(document) == [(1, "berschrift1"), (1, "Own"), (2, "Level"), (3, "Direct")]
    assert document.text.endswith("Body\n\nLoop\n\nUnknown")


def test_headings_have_the_numbers_that_word_displays() -> None:
    levels = "".join(
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:pStyle w:val="H{level + 1}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for level, text in enumerate(("%1", "%1.%2", "%1.%2.%3."))
    )
    numbering = f'<w:abstractNum w:abstractNumId="1">{levels}</w:abstractNum>'
    numbering += '<w:num w:numId="4"><w:abstractNumId w:val="1"/></w:num>'
    numbered = '<w:pPr><w:numPr><w:numId w:val="4"/></w:numPr></w:pPr>'
    styles = "".join(style(f"H{level}", f"heading {level}", numbered) for level in (1, 2, 3))
    order = (1, 2, 3, 3, 1, 3, 2)
    body = "".join(paragraph(f"T{place}", f'<w:pStyle w:val="H{level}"/>') for place, level in enumerate(order))
    body += paragraph("Bare", '<w:pStyle w:val="H1"/><w:numPr><w:numId w:val="0"/></w:numPr>')
    titles = [title for _, title in _titles(_read(docx(body, styles=styles, numbering=numbering)))]
    assert titles == ["1 T0", "1.1 T1", "1.1.1. T2", "1.1.2. T3", "2 T4", "2.1.1. T5", "2.2 T6", "Bare"]


def test_docx_list_items_are_numbered_in_the_format_of_their_list_and_bullets_depend_on_the_level() -> None:
    numbering = _numbering(("lowerLetter", "%1)"), ("upperRoman", "%2."), ("bullet", "\uf0b7"))
    body = _item("a") + _item("b") + _item("c", 1) + _item("d", 1) + _item("e", 2) + _item("f") + _item("g", 1)
    texts = [text for _, text in _blocks(docx(body, numbering=numbering))]
    assert texts == ["a) a", "b) b", "I. c", "II. d", "\u25aa e", "c) f", "I. g"]


def test_docx_lists_restart_or_continue_their_numbers() -> None:
    more = (
        '<w:num w:numId="2"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/>'
        '</w:lvlOverride></w:num><w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num>'
    )
    body = _item("a") + _item("b") + _item("c", list_id=2) + _item("d", list_id=2) + _item("e", list_id=3)
    blocks = _blocks(docx(body, numbering=_numbering(("decimal", "%1."), more=more)))
    assert [text for _, text in blocks] == ["1. a", "2. b", "5. c", "6. d", "7. e"]
    assert {kind for kind, _ in blocks} == {"list"}


def test_a_numbered_paragraph_becomes_a_block_of_kind_rule() -> None:
    numbering = _numbering(("decimal", "%1"), ("decimal", "%1.%2"))
    body = _item("Rules") + _item("The club must register.", 1) + paragraph("12.3.1 Written by hand is a rule too.")
    assert _blocks(docx(body, numbering=numbering))[1:] == [
        ("rule", "1.1 The club must register."),
        ("rule", "12.3.1 Written by hand is a rule too."),
    ]


def test_tracked_insertions_content_controls_and_links_are_read_but_tracked_deletions_are_not() -> None:
    def run(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    body = (
        f"<w:p><w:ins>{run('in ')}</w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        f"<w:moveFrom>{run('away')}</w:moveFrom><w:sdt><w:sdtPr><w:alias/></w:sdtPr><w:sdtContent>{run('held ')}"
        f"</w:sdtContent></w:sdt><w:hyperlink>{run('link')}</w:hyperlink><w:r><w:tab/><w:t>tab</w:t><w:br/>"
        "<w:t>line</w:t><w:noBreakHyphen/><w:instrText>PAGE</w:instrText></w:r></w:p>"
        f"<w:sdt><w:sdtContent>{paragraph('In a block control.')}</w:sdtContent></w:sdt>"
    )
    assert [text for _, text in _blocks(docx(body))] == ["in held link tab\nline-", "In a block control."]


def test_hidden_text_is_skipped_with_a_note_and_tables_of_contents_are_skipped_without_a_note() -> None:
    body = paragraph("Secret", run="<w:vanish/>") + paragraph("Chapter 1 .... 3", '<w:pStyle w:val="T1"/>')
    document = _read(docx(body + paragraph("Shown."), styles=style("T1", "toc 1")))
    assert document.text == "Shown."
    assert document.notes == ("holds hidden text, which is not read",)


@pytest.mark.parametrize("strike", ["<w:strike/>", "<w:dstrike/>"])
def test_struck_out_text_is_skipped_with_a_note_in_sentences_and_table_rows(strike: str) -> None:
    def run(text: str, properties: str = "") -> str:
        return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'

    def row(*texts: str, properties: str = "") -> str:
        return f"<w:tr>{''.join(f'<w:tc><w:p>{run(text, properties)}</w:p></w:tc>' for text in texts)}</w:tr>"

    off = strike.replace("/>", ' w:val="0"/>')
    body = (
        f"<w:p>{run('Means ')}{run('24 months', strike)}{run('36 months after')}{run(' the old ', strike)}"
        f"{run('closure')}{run('.', off)}</w:p>"
        f"<w:tbl>{row('Record', 'Period')}{row('Invoice', '5 years', properties=strike)}"
        f"{row('Bill', '6 years')}</w:tbl>"
    )
    document = _read(docx(body))
    assert [text for _, text in _blocks(docx(body))] == [
        "Means 36 months after closure.",
        "Record | Period",
        "Bill | 6 years",
    ]
    assert document.notes == ("holds struck-out text, which is not read",)
    assert _read(docx(f"<w:p>{run('Kept.')}{run(' ', strike)}</w:p>")).notes == ()


def test_text_that_a_style_strikes_out_is_skipped_with_a_note_unless_its_run_says_otherwise() -> None:
    off = '<w:rPr><w:strike w:val="0"/></w:rPr>'
    styles = style("S", "Struck", "<w:rPr><w:strike/></w:rPr>", "character")
    styles += style("P", "Old", '<w:basedOn w:val="S"/>')
    body = (
        '<w:p><w:r><w:t xml:space="preserve">Means </w:t></w:r><w:r><w:rPr><w:rStyle w:val="S"/></w:rPr><w:t>24</w:t>'
        "</w:r><w:r><w:t>36 months.</w:t></w:r></w:p>"
        + paragraph("Gone.", '<w:pStyle w:val="P"/>')
        + f'<w:p><w:pPr><w:pStyle w:val="P"/></w:pPr><w:r>{off}<w:t>Kept.</w:t></w:r></w:p>'
    )
    document = _read(docx(body, styles=styles))
    assert document.text == "Means 36 months.\n\nKept."
    assert document.notes == ("holds struck-out text, which is not read",)


def test_a_text_box_is_read_once_after_its_paragraph() -> None:
    def box(text: str) -> str:
        return f"<w:txbxContent>{paragraph(text)}</w:txbxContent>"

    body = (
        f"<w:p><w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:txbx>{box('Box.')}</wps:txbx>"
        f"</w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox>{box('Box.')}</v:textbox></w:pict></mc:Fallback>"
        f"</mc:AlternateContent></w:r><w:r><w:t>Around.</w:t></w:r></w:p>"
        f"<w:p><w:r><w:pict><v:textbox>{box('Old box.')}</v:textbox></w:pict></w:r></w:p>"
    )
    assert [text for _, text in _blocks(docx(body))] == ["Around.", "Box.", "Old box."]


def test_footnotes_and_endnotes_follow_the_block_that_refers_to_the_note() -> None:
    def note(kind: str, text: str) -> str:
        return f'<w:{kind} w:id="2">{paragraph(text)}</w:{kind}>'

    body = (
        '<w:p><w:r><w:t>Word</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t> and</w:t></w:r>'
        '<w:r><w:endnoteReference w:id="2"/></w:r></w:p>' + paragraph("Next.")
    )
    written = docx(body, footnotes=note("footnote", "At the foot."), endnotes=note("endnote", "At the end."))
    texts = [text for _, text in _blocks(written)]
    assert texts == ["Word[1] and[i]", "[1] At the foot.", "[i] At the end.", "Next."]


def test_docx_table_rows_have_the_header_row_and_repeat_the_text_of_merged_cells() -> None:
    wide, down, covered = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    nested = f"<w:tbl><w:tr>{cell('n1')}{cell('n2')}</w:tr></w:tbl>"
    body = (
        f"<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>{cell('Club')}{cell('Town')}{cell('Since')}</w:tr>"
        f"<w:tr>{cell('A', down)}{cell('B', wide)}</w:tr>"
        f"<w:tr>{cell('<w:p/>', covered)}{cell('C')}{cell(nested)}</w:tr>"
        f"<w:tr><w:trPr><w:del/></w:trPr>{cell('gone')}{cell('gone')}</w:tr></w:tbl>"
    )
    document = _read(docx(body))
    rows = [(document.text[block.start : block.end], block.header) for block in document.blocks]
    assert rows == [
        ("Club | Town | Since", ""),
        ("A | B | B", "Club | Town | Since"),
        ("A | C | n1 | n2", "Club | Town | Since"),
    ]


def test_a_bold_first_row_is_a_header_row_but_a_plain_first_row_is_not() -> None:
    def table(run: str) -> str:
        first = "".join(cell(paragraph(text, run=run)) for text in ("Club", "Town"))
        return f"<w:tbl><w:tr>{first}</w:tr><w:tr>{cell('A')}{cell('B')}</w:tr></w:tbl>"

    assert [block.header for block in _read(docx(table("<w:b/>"))).blocks] == ["", "Club | Town"]
    assert [block.header for block in _read(docx(table(""))).blocks] == ["", ""]


def test_the_cells_of_a_layout_table_become_separate_blocks() -> None:
    content = paragraph("Title", '<w:pStyle w:val="H1"/>') + paragraph("Words.")
    body = f"<w:tbl><w:tr>{cell(content)}</w:tr></w:tbl>"
    assert _blocks(docx(body, styles=HEADINGS)) == [("heading", "Title"), ("prose", "Words.")]


def test_pages_are_recorded_only_if_page_breaks_and_page_count_agree() -> None:
    broken = "<w:p><w:r><w:t>It goes</w:t></w:r><w:r><w:lastRenderedPageBreak/><w:t>on.</w:t></w:r></w:p>"
    body = paragraph("First.") + broken + paragraph("Last.")
    document = _read(docx(body, pages=2))
    assert document.text == "First.\n\nIt goes on.\n\nLast."
    assert document.pages == (0, document.text.index("on."))
    assert _read(docx(body, pages=3)).pages == ()
    assert _read(docx(body)).pages == ()


def test_pages_can_start_inside_tables_and_tables_of_contents() -> None:
    breaking = "<w:r><w:lastRenderedPageBreak/></w:r>"
    contents = f'<w:p><w:pPr><w:pStyle w:val="T1"/></w:pPr>{breaking}</w:p>'
    late = f"<w:p>{breaking}<w:r><w:t>c</w:t></w:r></w:p>"
    table = f"<w:tbl><w:tr>{cell('a')}{cell('b')}</w:tr><w:tr>{cell(late)}{cell('d')}</w:tr></w:tbl>"
    document = _read(docx(contents + table, styles=style("T1", "toc 1"), pages=3))
    assert document.pages == (0, 0, document.text.index("c | d"))


def test_title_authors_and_year_are_taken_from_the_docx_properties() -> None:
    document = _read(docx(paragraph("x"), properties=core("Our rules", "A; B", "2021-03-04T00:00:00Z")))
    assert document.title == "Our rules"
    assert document.metadata == {"authors": "A; B", "year": 2021}


def test_the_paragraph_in_title_style_is_the_title_if_the_docx_properties_are_missing() -> None:
    body = paragraph("Our rules", '<w:pStyle w:val="Titel"/>') + paragraph("Words.")
    assert _read(docx(body, styles=style("Titel", "Title"), properties=core("Microsoft Word - x"))).title == "Our rules"


def test_bold_lines_are_headings_in_a_docx_file_without_heading_styles() -> None:
    bold = paragraph("Scope", run="<w:b/>") + paragraph("Words.")
    assert _titles(_read(docx(bold))) == [(1, "Scope")]
    styled = paragraph("Real", '<w:pStyle w:val="H1"/>') + bold
    assert _titles(_read(docx(styled, styles=HEADINGS))) == [(1, "Real")]


def test_a_bold_term_with_its_explanation_is_a_definition() -> None:
    term = "<w:r><w:rPr><w:b/></w:rPr><w:t>Club</w:t></w:r><w:r><w:t> means any member.</w:t></w:r>"
    assert _blocks(docx(f"<w:p>{term}</w:p>")) == [("definition", "Club means any member.")]


def test_a_strict_ooxml_file_gives_the_same_document_as_a_transitional_ooxml_file(
    tmp_path: Path, datasets: Path
) -> None:
    document = DocxReader().read(datasets / "docs" / "Strict.docx")
    assert document.text == "Some text"


def test_page_headers_and_footers_of_a_docx_file_are_not_read(datasets: Path) -> None:
    assert DocxReader().read(datasets / "docs" / "docx-hdrftr.docx").text == "Main document"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            CONTAINER + "WordDocument".encode("utf-16-le"),
            "old binary Word file: save it as .docx",
        ),
        (CONTAINER + "EncryptedPackage".encode("utf-16-le"), "is encrypted"),
        (CONTAINER, "old binary Office file"),
        (b"{\\rtf1 words}", "Rich Text"),
        (b"words", "not a zip package"),
        (docx("").replace(b"word/document.xml", b"word/document.xxx"), "not an Office document"),
    ],
)
@pytest.mark.parametrize("suffix", [".docx", ".doc"])
def test_word_files_in_other_formats_are_refused_and_the_error_names_the_format_to_save_as(
    tmp_path: Path, suffix: str, data: bytes, reason: str
) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(data)
    with pytest.raises(UnreadableDocument, match=reason):
        DocxReader().read(path)


@given(
    st.recursive(
        st.sampled_from(["<w:t>x</w:t>", "y"]),
        lambda inner: st.builds(
            lambda tag, children: f"<w:{tag}>{''.join(children)}</w:{tag}>",
            st.sampled_from(
                ["p", "r", "tbl", "tr", "tc", "sdt", "sdtContent", "ins", "txbxContent", "drawing", "tblPr"]
            ),
            st.lists(inner, max_size=4),
        ),
        max_leaves=20,
    )
)
def test_any_nesting_of_docx_elements_is_read(body: str) -> None:
    document = _read(docx(body))
    assert document.blocks or not document.text


def test_the_deepest_nesting_of_docx_elements_that_the_parser_allows_is_read() -> None:
    opening, closing = "<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>"
    assert _read(docx(opening * 80 + paragraph("Deep.") + closing * 80)).text == "Deep."
    pair = f"<w:tr>{cell('a')}<w:tc>"
    assert "Deep." in _read(docx(f"<w:tbl>{pair}" * 80 + paragraph("Deep.") + closing * 80)).text


def test_a_raised_number_of_a_word_file_does_not_run_into_the_number_before_it() -> None:
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>{}</w:t></w:r>'
    power, area = raised.format("3") + raised.format("2"), "<w:r><w:t xml:space='preserve'> bytes, 5 m</w:t></w:r>"
    assert (
        _read(docx(f"<w:p><w:r><w:t>2</w:t></w:r>{power}{area}{raised.format('2')}</w:p>")).text == "2^32 bytes, 5 m2"
    )


def test_check_boxes_lists_and_symbols_of_a_word_form_are_read_and_unknown_symbols_noted() -> None:
    def field(inner: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{inner}</w:ffData></w:fldChar></w:r>'

    def symbol(font: str, code: str) -> str:
        return f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>'

    entries = "<w:result w:val='1'/><w:listEntry w:val='Red'/><w:listEntry w:val='Green'/>"
    runs = (
        field("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>"),
        field("<w:checkBox><w:default w:val='1'/><w:checked w:val='0'/></w:checkBox>"),
        field("<w:checkBox><w:default w:val='1'/></w:checkBox>"),
        field(f"<w:ddList>{entries}</w:ddList>"),
        symbol("Symbol", "F0A3") + symbol("Wingdings", "00FE") + symbol("Webdings", "F0FE") + symbol("Symbol", "2264"),
    )
    document = _read(docx(f"<w:p>{'<w:r><w:tab/></w:r>'.join(runs)}</w:p>"))
    assert document.text == "☒ ☐ ☒ Green ≤☑"
    assert document.notes == (
        "holds symbols of the font Symbol, which are not read",
        "holds symbols of the font Webdings, which are not read",
    )


def test_charts_diagrams_and_embedded_objects_of_a_word_file_are_noted() -> None:
    drawing = "<w:r><w:drawing><a:graphic><a:graphicData>{}</a:graphicData></a:graphic></w:drawing></w:r>"
    objects = drawing.format("<c:chart/>"), drawing.format("<dgm:relIds/>"), "<w:r><w:object/></w:r>"
    assert _read(docx(f"<w:p>{''.join(objects)}</w:p>")).notes == (
        "holds a chart, which is not read",
        "holds a diagram, which is not read",
        "holds an embedded object, which is not read",
    )


def test_the_words_of_word_art_are_read_in_their_paragraph_once() -> None:
    kind = '<v:shapetype><v:textpath on="t"/></v:shapetype>'
    art = f'<w:pict xmlns:v="urn:schemas-microsoft-com:vml">{kind}<v:shape>{{}}</v:shape></w:pict>'
    old = art.format('<v:textpath string="Open &amp; free"/>')
    fallback = art.format('<v:textpath string="Sale"/>')
    new = (
        f"<mc:AlternateContent><mc:Choice><w:drawing><w:txbxContent>{paragraph('Sale')}</w:txbxContent></w:drawing>"
        f"</mc:Choice><mc:Fallback>{fallback}</mc:Fallback></mc:AlternateContent>"
    )
    body = f"<w:p><w:r><w:t>Club:</w:t></w:r><w:r>{old}</w:r></w:p><w:p><w:r>{new}</w:r></w:p>"
    assert _read(docx(body)).text == "Club: Open & free\n\nSale"
