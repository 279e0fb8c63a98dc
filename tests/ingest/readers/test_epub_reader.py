"""The EPUB reader follows the reading order, reports copy protection, and reads nothing outside the file."""

from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.epub import EpubReader
from file_formats.workbooks import epub, package

PAGE = '<item id="{0}" href="{0}.xhtml" media-type="application/xhtml+xml"/>'
OPF = (
    '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>The Book</dc:title><dc:creator>A. Writer</dc:creator><dc:creator>B. Writer</dc:creator>"
    "<dc:date>2019-03-04</dc:date><dc:language>de</dc:language><dc:publisher>Press</dc:publisher></metadata>"
    f"<manifest>{PAGE.format('one')}{PAGE.format('two')}{PAGE.format('notes')}{PAGE.format('gone')}"
    '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="nav"/><itemref idref="notes" linear="no"/><itemref idref="two"/><itemref idref="one"/>'
    '<itemref idref="gone"/></spine></package>'
)
NAV = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><nav><a href="one.xhtml#x">Part One</a>'
    '<a href="two.xhtml">No</a></nav></html>'
)
CHAPTERS = {"one.xhtml": "<p>First.</p>", "two.xhtml": "<h2>Two</h2><p>Second.</p>", "notes.xhtml": "<p>Note.</p>"}


def _read(folder: Path, data: bytes) -> ParsedDocument:
    path = folder / "book.epub"
    path.write_bytes(data)
    return EpubReader().read(path)


def test_epub_chapters_are_read_in_spine_order_and_get_missing_headings_from_the_table_of_contents(
    tmp_path: Path,
) -> None:
    document = _read(tmp_path, epub(CHAPTERS, opf=OPF, extra={"OEBPS/nav.xhtml": NAV}))
    assert document.text == "Two\n\nSecond.\n\nPart One\n\nFirst.\n\nNote."
    assert [(section.title, section.level) for section in document.sections] == [("Two", 2), ("Part One", 1)]
    assert document.title == "The Book"
    assert document.metadata == {
        "authors": "A. Writer; B. Writer",
        "year": 2019,
        "language": "de",
        "publisher": "Press",
    }
    assert document.notes == ("1 page is listed but not in the file",)


def test_an_epub_2_book_gets_chapter_titles_from_its_ncx_table_of_contents(tmp_path: Path) -> None:
    ncx = (
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Alpha</text></navLabel>'
        '<content src="one.xhtml"/></navPoint></navMap></ncx>'
    )
    listed = '<item id="t" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
    book = epub(CHAPTERS, opf=OPF.replace("</manifest>", listed), extra={"OEBPS/toc.ncx": ncx})
    assert "Alpha" in [section.title for section in _read(tmp_path, book).sections]


def test_text_after_a_self_closing_element_of_an_epub_chapter_is_read(tmp_path: Path) -> None:
    data = epub({"a.xhtml": '<script src="x.js"/><a id="p1"/><h1>A</h1><div/><p>Words.</p>'})
    assert _read(tmp_path, data).text == "A\n\nWords."


def test_struck_out_text_of_an_epub_chapter_is_not_read_and_noted(tmp_path: Path) -> None:
    document = _read(tmp_path, epub({"a.xhtml": "<p>In <del>14 days</del><ins>21 days</ins>.</p>"}))
    assert (document.text, document.notes) == ("In 21 days.", ("holds struck-out text, which is not read",))


def test_a_copy_protected_epub_book_is_refused_but_encrypted_fonts_are_allowed(tmp_path: Path) -> None:
    def protection(algorithm: str, member: str) -> str:
        return (
            '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData>'
            f'<EncryptionMethod Algorithm="{algorithm}"/><CipherData><CipherReference URI="{member}"/></CipherData>'
            "</EncryptedData></encryption>"
        )

    fonts = protection("http://www.idpf.org/2008/embedding", "OEBPS/font.otf")
    pages = protection("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OEBPS/a.xhtml")
    words = {"a.xhtml": "<p>Words.</p>"}
    assert _read(tmp_path, epub(words, extra={"META-INF/encryption.xml": fonts})).text == "Words."
    with pytest.raises(UnreadableDocument, match=r"is encrypted: .* \(DRM\)"):
        _read(tmp_path, epub(words, extra={"META-INF/encryption.xml": pages}))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (package({"x": "y"}), "is not an EPUB: it has no META-INF"),
        (package({"META-INF/container.xml": "<container/>"}), "is not an EPUB: it has no package file"),
        (package({"META-INF/container.xml": "<container>"}), "damaged XML"),
        (b"words", "not a zip package"),
    ],
)
def test_files_that_are_not_epub_books_are_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        _read(tmp_path, data)


def test_xml_entities_declared_in_an_epub_book_are_refused_before_expansion(tmp_path: Path) -> None:
    hostile = '<!DOCTYPE package [<!ENTITY a "aaaa">]><package xmlns="http://www.idpf.org/2007/opf"/>'
    with pytest.raises(UnreadableDocument, match="DOCTYPE"):
        _read(tmp_path, epub({}, opf=hostile))


def test_file_references_in_an_epub_book_cannot_lead_out_of_the_archive(tmp_path: Path) -> None:
    (tmp_path / "secret.xhtml").write_text("<p>secret</p>")
    listed = OPF.replace('href="gone.xhtml"', 'href="../../secret.xhtml"')
    assert "secret" not in _read(tmp_path, epub(CHAPTERS, opf=listed)).text
