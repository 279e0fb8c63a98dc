"""The pptx reader reads each slide as a page from the top left, with tables, charts and speaker notes."""

import tempfile
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.pptx import PptxReader
from file_formats.office import NAMES, core, docx, frame, pptx, relations, shape


def _read(data: bytes) -> ParsedDocument:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "written.pptx"
        path.write_bytes(data)
        return PptxReader().read(path)


def _texts(data: bytes) -> list[str]:
    document = _read(data)
    return [document.text[block.start : block.end] for block in document.blocks]


def _line(text: str, properties: str = "", level: int = 0) -> str:
    return f'<a:p><a:pPr lvl="{level}">{properties}</a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>'


def _cell(text: str, flags: str = "") -> str:
    return f"<a:tc {flags}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"


def test_each_slide_is_a_page_with_its_title_as_heading() -> None:
    document = _read(pptx([shape("Words.") + shape("One", kind="title", top=5), shape("Two", kind="ctrTitle")]))
    assert document.text == "One\n\nWords.\n\nTwo"
    assert document.pages == (0, document.text.index("Two"))
    assert [section.title for section in document.sections] == ["One", "Two"]
    assert document.metadata["page_unit"] == "slide"
    assert document.title == "One"


def test_a_slide_without_a_title_is_a_separate_section() -> None:
    document = _read(pptx([shape("One", kind="title"), shape("Words.")]))
    assert document.section_path(document.text.index("Words.")) == ("Slide 2",)


def test_shapes_on_a_slide_are_read_from_the_top_left_and_groups_are_kept_together() -> None:
    group = "<p:grpSp><p:grpSpPr><a:xfrm><a:off x='0' y='1828800'/></a:xfrm></p:grpSpPr>{}</p:grpSp>"
    inner = shape("d", top=9) + shape("c", top=0)
    tree = shape("e", top=6) + shape("b", top=1, left=3) + group.format(inner) + shape("a", top=1)
    assert _texts(pptx([tree])) == ["Slide 1", "a", "b", "c", "d", "e"]


def test_footers_dates_and_slide_numbers_of_a_slide_are_not_read() -> None:
    tree = "".join(shape("x", kind=kind) for kind in ("ftr", "dt", "sldNum")) + shape(
        '<a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld><a:r><a:t>Words.</a:t></a:r></a:p>'
    )
    assert _texts(pptx([tree])) == ["Slide 1", "Words."]


def test_bullets_and_numbers_on_a_slide_depend_on_the_list_level() -> None:
    number, sign = '<a:buAutoNum type="alphaLcParenR"/>', '<a:buChar char="x"/>'
    lines = _line("a", number) + _line("b", number) + _line("c", sign, 1) + _line("d", number) + _line("e")
    assert _texts(pptx([shape(lines)]))[1:] == ["a) a", "b) b", "\u25e6 c", "c) d", "e"]


def test_a_placeholder_inherits_its_bullets_from_layout_and_master() -> None:
    master = '<p:txStyles><p:bodyStyle><a:lvl1pPr><a:buChar char="x"/></a:lvl1pPr></p:bodyStyle></p:txStyles>'
    extra = {
        "ppt/slides/_rels/slide1.xml.rels": relations({"slideLayout": "../slideLayouts/l.xml"}),
        "ppt/slideLayouts/l.xml": f"<p:sldLayout {NAMES}/>",
        "ppt/slideLayouts/_rels/l.xml.rels": relations({"slideMaster": "../slideMasters/m.xml"}),
        "ppt/slideMasters/m.xml": f"<p:sldMaster {NAMES}>{master}</p:sldMaster>",
    }
    tree = shape(_line("a") + _line("b", "<a:buNone/>"), kind="body") + shape(_line("c"))
    assert _texts(pptx([tree], extra=extra))[1:] == ["\u2022 a", "b", "c"]


def test_slide_table_rows_repeat_the_text_of_merged_cells() -> None:
    rows_of_cells = (
        (_cell("Club"), _cell("Town")),
        (_cell("A", 'gridSpan="2"'), _cell("", 'hMerge="1"')),
        (_cell("B", 'rowSpan="2"'), _cell("C")),
        (_cell("", 'vMerge="1"'), _cell("D")),
    )
    written = "".join(f"<a:tr>{''.join(cells)}</a:tr>" for cells in rows_of_cells)
    table = f'<a:tbl><a:tblPr firstRow="1"/>{written}</a:tbl>'
    document = _read(pptx([frame(table)]))
    rows = [(document.text[block.start : block.end], block.header) for block in document.blocks[1:]]
    assert rows == [("Club | Town", "")] + [(text, "Club | Town") for text in ("A", "B | C", "B | D")]


def test_a_chart_on_a_slide_is_read_as_a_table_of_its_categories() -> None:
    def points(role: str, *values: str) -> str:
        inner = "".join(f'<c:pt idx="{place}"><c:v>{value}</c:v></c:pt>' for place, value in enumerate(values))
        return f"<c:{role}><c:strRef><c:strCache>{inner}</c:strCache></c:strRef></c:{role}>"

    series = points("tx", "Members") + points("cat", "2020", "2021") + points("val", "5", "7")
    title = "<c:title><c:tx><c:rich><a:p><a:r><a:t>Growth</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    extra = {
        "ppt/slides/_rels/slide1.xml.rels": relations({"rId9:chart": "../charts/c.xml"}),
        "ppt/charts/c.xml": f"<c:chartSpace {NAMES}><c:chart>{title}<c:ser>{series}</c:ser></c:chart></c:chartSpace>",
    }
    assert _texts(pptx([frame('<c:chart r:id="rId9"/>')], extra=extra)) == [
        "Slide 1",
        "Chart: Growth",
        "| Members",
        "2020 | 5",
        "2021 | 7",
    ]


def test_the_text_of_smartart_diagrams_is_read() -> None:
    point = "<dgm:pt><dgm:t><a:p><a:r><a:t>{}</a:t></a:r></a:p></dgm:t></dgm:pt>"
    extra = {
        "ppt/slides/_rels/slide1.xml.rels": relations({"rId9:diagramData": "../diagrams/d.xml"}),
        "ppt/diagrams/d.xml": f"<dgm:dataModel {NAMES}>{point.format('a')}<dgm:pt/>{point.format('b')}</dgm:dataModel>",
    }
    assert _texts(pptx([frame('<dgm:relIds r:dm="rId9"/>')], extra=extra))[1:] == ["\u2022 a", "\u2022 b"]


def test_embedded_objects_of_a_slide_are_noted() -> None:
    document = _read(pptx([shape("One", kind="title"), frame("<p:oleObj/>")]))
    assert document.notes == ("slide 2 holds an embedded object, which is not read",)


def test_speaker_notes_are_read_with_a_prefix() -> None:
    notes = shape("Say hello.", kind="body") + shape("1", kind="sldNum")
    extra = {
        "ppt/slides/_rels/slide1.xml.rels": relations({"notesSlide": "../notesSlides/n.xml"}),
        "ppt/notesSlides/n.xml": f"<p:notes {NAMES}><p:cSld><p:spTree>{notes}</p:spTree></p:cSld></p:notes>",
    }
    assert _texts(pptx([shape("One", kind="title")], extra=extra)) == ["One", "Speaker notes: Say hello."]


def test_a_hidden_slide_is_read_with_a_note_and_a_missing_slide_keeps_its_number() -> None:
    data = pptx([shape("One", kind="title"), "hidden " + shape("Two", kind="title"), shape("Three", kind="title")])
    document = _read(data.replace(b"ppt/slides/slide1.xml", b"ppt/slides/slideX.xml"))
    assert document.notes == ("slide 1 is missing", "slide 2 is hidden")
    assert document.page_at(document.text.index("Two")) == 2
    assert document.page_at(document.text.index("Three")) == 3


@pytest.mark.parametrize("strike", ["sngStrike", "dblStrike"])
def test_struck_out_text_of_a_slide_is_not_read_and_noted(strike: str) -> None:
    def paragraph(old: str, new: str, look: str = strike) -> str:
        return f'<a:p><a:r><a:rPr strike="{look}"/><a:t>{old}</a:t></a:r><a:r><a:t>{new}</a:t></a:r></a:p>'

    table = f"<a:tbl><a:tr><a:tc><a:txBody>{paragraph('24 ', '36')}</a:txBody></a:tc>{_cell('months')}</a:tr></a:tbl>"
    title = shape(paragraph("Old", ""), kind="title")
    slides = [title + shape(paragraph("24 ", "36 days.")) + frame(table), shape(paragraph("Kept ", "too.", "noStrike"))]
    document = _read(pptx(slides))
    assert document.text.split("\n\n") == ["Slide 1", "36 days.", "36 | months", "Slide 2", "Kept too."]
    assert document.notes == ("slide 1 holds struck-out text, which is not read",)


def test_struck_out_speaker_notes_are_not_read_and_noted() -> None:
    struck = '<a:p><a:r><a:rPr strike="sngStrike"/><a:t>Old.</a:t></a:r></a:p>'
    extra = {
        "ppt/slides/_rels/slide1.xml.rels": relations({"notesSlide": "../notesSlides/n.xml"}),
        "ppt/notesSlides/n.xml": f"<p:notes {NAMES}><p:spTree>{shape(struck, kind='body')}</p:spTree></p:notes>",
    }
    document = _read(pptx([shape("One", kind="title")], extra=extra))
    assert (document.text, document.notes) == ("One", ("slide 1 holds struck-out text, which is not read",))


def test_a_raised_number_on_a_slide_does_not_run_into_the_number_before_it() -> None:
    raised = '<a:r><a:rPr baseline="30000"/><a:t>{}</a:t></a:r>'
    power, area = raised.format("3") + raised.format("2"), "<a:r><a:t> bytes, 5 m</a:t></a:r>"
    line = f"<a:p><a:r><a:t>2</a:t></a:r>{power}{area}{raised.format('2')}</a:p>"
    assert _texts(pptx([shape(line)]))[1:] == ["2^32 bytes, 5 m2"]


def test_title_authors_and_year_are_taken_from_the_pptx_properties() -> None:
    document = _read(pptx([shape("x")], properties=core("PowerPoint Presentation", "A", "2020-01-01T00:00:00Z")))
    assert document.title == "written"
    assert document.metadata == {"authors": "A", "year": 2020, "page_unit": "slide"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "PowerPoint Document".encode("utf-16-le"), "save it as .pptx"),
        (docx(""), "another kind of document"),
    ],
)
def test_files_that_are_not_presentations_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        _read(data)


def test_tables_lists_and_notes_of_a_real_presentation_are_read(datasets: Path) -> None:
    document = PptxReader().read(datasets / "docs" / "powerpoint_sample.pptx")
    assert "R4 | True | False | True | False | True | False" in document.text
    assert "Speaker notes: Some notes on the second slide." in document.text
    assert [section.title for section in document.sections] == ["Test Table Slide", "Second slide title", "Slide 3"]
