"""The draw.io reader turns pages, shapes, connectors and tables into text, and refuses unsafe files."""

import base64
import tempfile
import zlib
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.diagram import label_lines, label_name
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.drawio import DrawioReader
from file_formats.diagrams import cell, edge, model_xml, shape
from hypothesis import given
from hypothesis import strategies as st

BOX = model_xml(shape("a", "Box"))


def _compressed(model: str, *, quoted: bool = True) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress((quote(model) if quoted else model).encode()) + packer.flush()).decode()


def _file(*pages: str) -> str:
    inner = "".join(f'<diagram name="Page {number}">{page}</diagram>' for number, page in enumerate(pages, start=1))
    return f"<mxfile>{inner}</mxfile>"


def _read(folder: Path, content: str | bytes, name: str = "plan.drawio") -> ParsedDocument:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return DrawioReader().read(path)


def test_each_diagram_is_a_page_with_its_name_as_heading(tmp_path: Path) -> None:
    document = _read(tmp_path, _file(BOX, "", _compressed(model_xml(shape("a", "Other")))))
    assert document.text == "Page 1\n\nBox\n\nPage 3\n\nOther"
    assert [document.text[start : start + 6] for start in document.pages] == ["Page 1", "Page 3", "Page 3"]
    assert document.metadata == {"page_unit": "diagram"}
    assert document.title == "plan"


@pytest.mark.parametrize("page", [BOX, _compressed(BOX), _compressed(BOX, quoted=False)])
def test_plain_and_compressed_drawio_diagrams_give_the_same_document(tmp_path: Path, page: str) -> None:
    assert _read(tmp_path, _file(page)).text == "Page 1\n\nBox"


def test_a_drawio_file_with_a_single_unnamed_diagram_has_the_file_name_as_title(tmp_path: Path) -> None:
    document = _read(tmp_path, BOX, "plan.xml")
    assert (document.title, document.text) == ("plan", "Diagram 1\n\nBox")


def test_containers_in_a_diagram_become_headings_and_connectors_name_the_shapes_at_both_ends(tmp_path: Path) -> None:
    document = _read(
        tmp_path,
        model_xml(
            shape("lane", "Sales"),
            shape("inner", "Quotes", "lane"),
            shape("a", "Write<br>quote", "inner"),
            shape("b", "Sign", "lane"),
            shape("port", "", "b"),
            edge("e", "a", "port", value="agreed"),
            edge("f", "b", "a", style="endArrow=none"),
            edge("g", "b", ""),
            edge("h", "b", "", value="later"),
            cell("label", "e", x="0.2", value="&euro;", vertex="1"),
        ),
    )
    assert document.text == (
        "Diagram 1\n\nSales\n\nQuotes\n\nWrite\nquote\n\nSign\n\n"
        "Write quote -> Sign: agreed, €\nSign - Write quote\nSign -> (no name): later"
    )
    assert [(section.title, section.level) for section in document.sections] == [
        ("Diagram 1", 1),
        ("Sales", 2),
        ("Quotes", 3),
        ("Sign", 3),
    ]


def test_shapes_of_a_diagram_are_read_from_top_to_bottom_and_left_to_right(tmp_path: Path) -> None:
    places = {"low": (0, 90), "right": (80, 10), "left": (5, 10)}
    shapes = (
        shape(name, name).replace("></mxCell>", f'><mxGeometry x="{x}" y="{y}" as="geometry"/></mxCell>')
        for name, (x, y) in places.items()
    )
    assert _read(tmp_path, model_xml(*shapes)).text == "Diagram 1\n\nleft\n\nright\n\nlow"


def test_tables_in_a_diagram_are_read_row_by_row_with_the_header_row(tmp_path: Path) -> None:
    rows = [
        shape(f"r{row}", "", "t", style="shape=tableRow")
        + "".join(
            f'<mxCell id="c{row}{column}" value="{value}" vertex="1" parent="r{row}">'
            f'<mxGeometry x="{column * 50}" as="geometry"/></mxCell>'
            for column, value in enumerate(values)
        )
        for row, values in enumerate((("Club", "Since"), ("A &amp; B", "1901")))
    ]
    document = _read(tmp_path, model_xml(shape("t", "Clubs", style="shape=table"), *rows))
    assert document.text == "Diagram 1\n\nClubs\n\nClub | Since\nA & B | 1901"
    assert [(block.kind, block.header) for block in document.blocks[2:]] == [("table", ""), ("table", "Club | Since")]


def test_a_diagram_whose_cells_contain_each_other_in_a_cycle_is_read_with_a_note(tmp_path: Path) -> None:
    document = _read(tmp_path, model_xml(shape("a", "A", "b"), shape("b", "B", "a")))
    assert {"A", "B"} <= set(document.text.split())
    assert document.notes == ("diagram 1: cells inside themselves, or nested too deeply: 2 (a, b)",)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<project/>", "not a draw.io diagram: its root element is 'project'"),
        ('<!DOCTYPE mxfile [<!ENTITY a "b">]><mxfile>&a;</mxfile>', "DOCTYPE"),
        (_file(_compressed('<!DOCTYPE mxGraphModel [<!ENTITY a "b">]><mxGraphModel/>')), "DOCTYPE"),
        ("<mxfile><diagram>", "damaged XML"),
        (_file("no base64!"), "diagram 1 cannot be decompressed"),
        (_file(BOX, "AAAA"), "diagram 2 cannot be decompressed"),
        (_file(_compressed(BOX)[:40]), "diagram 1 cannot be decompressed"),
        (_file(_compressed("<svg/>")), "is damaged: diagram 1 has the root 'svg', not mxGraphModel"),
        (_file(_compressed("0" * 30_000_000)), "holds diagram 1, which decompresses"),
        ("<a>" * 10_000, "damaged XML"),
    ],
)
def test_drawio_files_without_a_diagram_and_unsafe_drawio_files_are_refused(
    tmp_path: Path, content: str, reason: str
) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        _read(tmp_path, content)


def test_the_decompressed_size_of_all_diagrams_together_is_limited(tmp_path: Path) -> None:
    words = "".join(sha256(str(number).encode()).hexdigest() + "x" * 3000 for number in range(2500))
    page = _compressed(model_xml(shape("a", words)))
    with pytest.raises(UnreadableDocument, match="holds diagram 7, which decompresses"):
        _read(tmp_path, _file(*[page] * 9))


def test_an_empty_drawio_file_gives_an_empty_document(tmp_path: Path) -> None:
    assert _read(tmp_path, "").text == ""
    assert _read(tmp_path, "<mxfile/>").text == ""


@pytest.mark.parametrize(
    ("label", "lines"),
    [
        ("<div>One</div><div>Two</div>", "One\nTwo"),
        ("<b>M</b>ember &amp; <i>Co</i>", "Member & Co"),
        ("<style>p{}</style>Text<!-- no -->", "Text"),
        ('<span style="color: red;">a</span>&nbsp;b', "a b"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("x < y > z", "x < y > z"),
        ("<unknown>", "<unknown>"),
        ("a\r\nb", "a\nb"),
        ("", ""),
    ],
)
def test_formatted_diagram_labels_are_read_as_plain_text(label: str, lines: str) -> None:
    assert label_lines(label) == lines


def test_hostile_diagram_labels_are_read_in_linear_time() -> None:
    for label in ("<b " * 200_000, "<!--" * 200_000, "<style>" * 100_000, "&amp" * 200_000, "<" * 500_000):
        assert label_name(label)


@given(st.text(alphabet='<mxCelobjct id="1" parent=value/>&;', max_size=200), st.integers(0, 200))
def test_a_drawio_file_with_any_damage_is_read_or_refused(noise: str, place: int) -> None:
    content = _file(BOX)
    with tempfile.TemporaryDirectory() as folder:
        try:
            document = _read(Path(folder), content[:place] + noise + content[place:])
        except UnreadableDocument:
            return
    assert document.title
