"""XML with declarations, external references or too deep nesting is refused."""

from contextlib import suppress
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.archive import open_archive
from elt_llm_ingest.parsing.xml_guard import check_prolog, check_xml_members, is_comment, parse_xml
from file_formats.workbooks import package
from hypothesis import given
from hypothesis import strategies as st

LAUGHS = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>'
STRANGER = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'
FETCHED = '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><a/>'
XHTML = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN"\n "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd"><html/>'


@pytest.mark.parametrize("text", [LAUGHS, STRANGER, FETCHED, "<!-- x --><?y z?>\n" + LAUGHS, XHTML])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_xml_with_a_document_type_is_refused_in_any_encoding(text: str, encoding: str) -> None:
    with pytest.raises(UnreadableDocument, match="DOCTYPE"):
        parse_xml(text.encode(encoding))


@pytest.mark.parametrize("text", ["<!DOCTYPE html><html/>", XHTML, "<!doctype html><html/>"])
def test_an_xml_document_type_without_declarations_can_be_allowed(text: str) -> None:
    if text.startswith("<!DOC"):
        assert parse_xml(text.encode(), plain_doctype=True).tag == "html"
    assert check_prolog(text.encode(), plain_doctype=True) == text.encode()


@pytest.mark.parametrize("text", [LAUGHS, STRANGER, "<!DOCTYPE a [\n]><a/>", "<!DOCTYPE a <b"])
def test_an_xml_document_type_with_declarations_is_always_refused(text: str) -> None:
    with pytest.raises(UnreadableDocument, match="DOCTYPE"):
        parse_xml(text.encode(), plain_doctype=True)


def test_xml_with_a_second_document_type_is_refused() -> None:
    with pytest.raises(UnreadableDocument, match="DOCTYPE"):
        parse_xml(b"<!DOCTYPE html>" + LAUGHS.encode(), plain_doctype=True)


@pytest.mark.parametrize("declared", ["UTF-7", "cp037", "utf-32", "x" * 40])
def test_xml_in_an_encoding_that_can_hide_markup_is_refused(declared: str) -> None:
    with pytest.raises(UnreadableDocument, match="unsupported encoding"):
        parse_xml(f'<?xml version="1.0" encoding="{declared}"?><a/>'.encode())


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-be", "cp037"])
def test_xml_bytes_that_do_not_match_the_declared_encoding_are_refused(encoding: str) -> None:
    with pytest.raises(UnreadableDocument):
        parse_xml(f'<?xml version="1.0"?>{LAUGHS}'.encode(encoding))


@pytest.mark.parametrize(("encoding", "codec"), [("iso-8859-1", "latin-1"), ("UTF-16", "utf-16"), ("utf-8", "utf-8")])
def test_xml_in_supported_encodings_is_read(encoding: str, codec: str) -> None:
    root = parse_xml(f'<?xml version="1.0" encoding="{encoding}"?><a>\u00e4</a>'.encode(codec))
    assert root.text == "\u00e4"


def test_xml_text_that_mentions_a_document_type_is_read() -> None:
    assert parse_xml(b"<!-- <!DOCTYPE --><a><![CDATA[<!DOCTYPE a [<!ENTITY]]></a>").text == "<!DOCTYPE a [<!ENTITY"


def test_xml_with_too_deep_nesting_is_refused() -> None:
    with pytest.raises(UnreadableDocument, match="damaged XML"):
        parse_xml(b"<a>" * 100_000)
    with pytest.raises(UnreadableDocument, match="depth"):
        parse_xml(b"<a>" * 300 + b"</a>" * 300)


def test_xinclude_elements_are_not_expanded() -> None:
    root = parse_xml(b'<a xmlns:x="http://www.w3.org/2001/XInclude"><x:include href="/etc/hostname" parse="text"/></a>')
    assert "".join(str(text) for text in root.itertext()) == ""
    assert len(root) == 1


def test_xml_comments_are_distinguished_from_elements() -> None:
    assert [is_comment(child) for child in parse_xml(b"<a><!--b--><c/><?d?></a>")] == [True, False, True]


def test_every_xml_member_of_an_archive_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(package({"a.xhtml": XHTML, "b.bin": LAUGHS, "word/c.xml": "<a/>"}))
    with open_archive(path) as archive:
        check_xml_members(archive)
    path.write_bytes(package({"a.xhtml": XHTML, "word/c.XML": LAUGHS}))
    with (
        open_archive(path) as archive,
        pytest.raises(UnreadableDocument, match=r"'word/c\.XML': it holds XML with a DOCTYPE"),
    ):
        check_xml_members(archive)


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_parsed_as_xml_or_refused(data: bytes, plain: bool) -> None:
    with suppress(UnreadableDocument):
        assert parse_xml(data, plain_doctype=plain) is not None


@given(st.text("<!-?>DOCTYPEa [&;\n", max_size=60))
def test_an_xml_entity_declaration_is_refused_after_any_text(text: str) -> None:
    with pytest.raises(UnreadableDocument):
        parse_xml((text + LAUGHS).encode())
