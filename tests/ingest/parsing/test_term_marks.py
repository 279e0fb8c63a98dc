"""Terms that the markup of a file marks are stored as spans, and the text does not change."""

import tempfile
from pathlib import Path

import pytest
from elt_llm_core.text.outline import MARKED_TERMS_ARTEFACT, MarkedTerms
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import create_reader
from elt_llm_ingest.run.reading import document_groups, take_group
from file_formats.office import docx, odt, paragraph, style
from file_formats.workbooks import epub
from hypothesis import given
from hypothesis import strategies as st

PARTS = (
    *("<b>", "</b>", "<i>", "</i>", "<dfn>", "</dfn>", "<dl>", "</dl>", "<dt>", "<dd>", "<p>", "<br>", "<li>"),
    *("x", "yy", "zz", "\n"),
)
ODT_STYLES = (
    '<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>'
    '<style:style style:name="Definition_20_Term" style:family="paragraph"/>'
    '<style:style style:name="Definition_20_Definition" style:family="paragraph"/>'
    '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Definition_20_Term"/>'
)


def _read(name: str, source: str | bytes) -> ParsedDocument:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"written.{name}"
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        reader = create_reader(path)
        assert reader is not None
        return reader.read(path)


def _marked(document: ParsedDocument) -> MarkedTerms:
    return MarkedTerms.from_json(document.artefacts.get(MARKED_TERMS_ARTEFACT), len(document.text))


def _pairs(document: ParsedDocument) -> list[tuple[str, str]]:
    text = document.text
    return [(text[one[0] : one[1]], text[one[2] : one[3]]) for one in _marked(document).definitions]


def _terms(document: ParsedDocument) -> list[str]:
    return [document.text[slice(*span)] for span in _marked(document).terms]


def _leading(document: ParsedDocument) -> list[str]:
    return [document.text[slice(*span)] for span in _marked(document).leading]


def test_each_term_of_a_definition_list_has_its_definition() -> None:
    document = _read("html", "<dl><dt> ledger\n book <dd>a   list<dt><p>folio</p><dd><p>one page</p><p>of it</p></dl>")
    assert _pairs(document) == [("ledger book", "a list"), ("folio", "one page\n\nof it")]


def test_several_terms_share_a_definition_and_several_dd_elements_form_one_definition() -> None:
    document = _read("html", "<dl><div><dt>a<dt>b<dd>first<dd>second</div><div><dt>c<dd>third</div></dl>")
    assert _pairs(document) == [("a", "first\nsecond"), ("b", "first\nsecond"), ("c", "third")]


def test_a_definition_includes_its_inner_lists_but_inner_definition_lists_are_separate() -> None:
    source = "<dl><dt>set<dd>one of:<ul><li>a cup<li>a plate</ul><dl><dt>cup<dd>it holds tea</dl><dt>tea<dd>leaves</dl>"
    assert _pairs(_read("html", source)) == [
        ("set", "one of:\n\n\u2022 a cup\n\u2022 a plate\n\ncup: it holds tea"),
        ("cup", "it holds tea"),
        ("tea", "leaves"),
    ]


@pytest.mark.parametrize(
    "source", ["<dl><dt>a<dt>b</dl>", "<dl><dd>no term</dl>", "<dl><dt></dt><dd>x</dl>", "<dd><li><dt>x"]
)
def test_a_term_without_definition_and_a_definition_without_term_are_ignored(source: str) -> None:
    assert _read("html", f"<body>{source}<p>more").artefacts == {}


def test_a_dfn_element_is_marked_as_a_term_anywhere_in_a_line() -> None:
    document = _read(
        "html", "<ol><li><p>The  <dfn>cost\n code </dfn>of it and <i><dfn>fee</dfn></i></ol><dfn>Last</dfn>"
    )
    assert document.text == "1. The cost code of it and fee\n\nLast"
    assert _terms(document) == ["cost code", "fee", "Last"]


def test_emphasised_words_at_the_start_of_a_paragraph_are_marked_as_a_term() -> None:
    source = (
        "<p> <b>Data </b><strong>owner</strong>: who answers<ul><li><em>Cup</em> - it</ul><p>Not <b>here</b>"
        "<b><p>Alone</p></b><p>\u201c<i>Quoted</i>\u201d means<p><b>Two<br>lines</b>"
    )
    assert _leading(_read("html", source)) == ["Data owner", "Cup", "Alone", "Quoted", "Two"]


@given(st.lists(st.sampled_from(PARTS)))
def test_every_span_marked_as_a_term_contains_words_and_emphasis_does_not_change_the_text(parts: list[str]) -> None:
    document = _read("html", "<body>" + " ".join(parts))
    marked = _marked(document)
    assert marked.to_json() == document.artefacts.get(MARKED_TERMS_ARTEFACT, MarkedTerms().to_json())
    spans = [*marked.terms, *marked.leading, *(one[:2] for one in marked.definitions)]
    for start, end in [*spans, *(one[2:] for one in marked.definitions)]:
        words = document.text[start:end]
        assert words
        assert words == words.strip()
    plain = [one for one in parts if one not in ("<b>", "</b>", "<i>", "</i>", "<dfn>", "</dfn>")]
    without = _read("html", "<body>" + " ".join(plain)).text
    assert "".join(document.text.split()) == "".join(without.split())


def test_deeply_nested_emphasis_is_read_in_linear_time() -> None:
    document = _read("html", "<dfn><p>" * 20_000 + "x" + "</dfn>" * 20_000 + "<p>y" * 20_000)
    assert _terms(document) == ["x"]
    assert len(document.blocks) == 20_001


def test_the_terms_marked_in_all_chapters_of_an_epub_book_are_kept() -> None:
    chapters = {"one.xhtml": "<dl><dt>a</dt><dd>one</dd></dl>", "two.xhtml": "<dl><dt>b</dt><dd>two</dd></dl>"}
    assert _pairs(_read("epub", epub(chapters))) == [("a", "one"), ("b", "two")]


def test_the_bold_italic_or_strong_start_of_a_docx_paragraph_is_marked_as_a_term() -> None:
    rest = "<w:r><w:t> the person who answers</w:t></w:r></w:p>"
    runs = ("<w:b/>", "<w:i/>", '<w:rStyle w:val="Strong"/>', "")
    body = "".join(paragraph(f"Owner {number}:", run=run)[: -len("</w:p>")] + rest for number, run in enumerate(runs))
    heading = paragraph("Words", '<w:pStyle w:val="H1"/>')
    document = _read("docx", docx(heading + body, styles=style("H1", "heading 1")))
    assert _leading(document) == ["Owner 0:", "Owner 1:", "Owner 2:"]


def test_the_emphasised_term_after_the_number_of_a_docx_paragraph_is_marked() -> None:
    numbers = (
        '<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="%1."/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    )
    item = paragraph("1", '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>', run="<w:b/>")
    document = _read(
        "docx",
        docx(paragraph("Text.") + item.replace("</w:p>", "<w:r><w:t> is one</w:t></w:r></w:p>"), numbering=numbers),
    )
    assert document.text == "Text.\n\n1. 1 is one"
    assert _marked(document).leading == ((10, 11),)


def test_definition_styles_form_definition_lists_in_docx_and_odt() -> None:
    styles = style("DT", "Definition Term") + style("D", "Definition")
    body = "".join(
        paragraph(text, f'<w:pStyle w:val="{kind}"/>')
        for kind, text in (("DT", "a"), ("DT", "b"), ("D", "one"), ("D", "two"), ("X", "rest"), ("D", "alone"))
    )
    assert _pairs(_read("docx", docx(body, styles=styles))) == [("a", "one\n\ntwo"), ("b", "one\n\ntwo")]
    written = "".join(
        f'<text:p text:style-name="{kind}">{text}</text:p>'
        for kind, text in (("P1", "a"), ("Definition_20_Definition", "one"), ("P1", "b"), ("X", "rest"))
    )
    assert _pairs(_read("odt", odt(written, automatic=ODT_STYLES))) == [("a", "one")]


def test_the_bold_start_of_a_paragraph_of_an_opendocument_text_is_marked_as_a_term() -> None:
    body = '<text:h>Words</text:h><text:p><text:span text:style-name="B">Cost  code</text:span> means it</text:p>'
    document = _read("odt", odt(body, automatic=ODT_STYLES))
    assert _leading(document) == ["Cost code"]


def test_a_section_that_is_split_off_keeps_only_the_terms_marked_in_it() -> None:
    document = _read("html", "<h1>A</h1><dl><dt>a<dd>one</dl><h1>B</h1><p><dfn>b</dfn> is two<dl><dt>c<dd>three</dl>")
    first, second = (take_group(document, "section", group) for group in document_groups(document, "section"))
    assert (_pairs(first), _terms(first)) == ([("a", "one")], [])
    assert (_pairs(second), _terms(second)) == ([("c", "three")], ["b"])
