"""Names of uploads are made safe, and the content must fit the suffix."""

import re
import unicodedata
from pathlib import Path

import pytest
from elt_llm_api.serve.actions.uploads import LONGEST_NAME, check_content, safe_file_name
from elt_llm_api.serve.errors import UnsupportedUpload
from hypothesis import given
from hypothesis import strategies as st

UNCHANGED = {
    "report.pdf": "report.pdf",
    "../../etc/passwd.txt": "passwd.txt",
    "C:\\Users\\ann\\Plan.DOCX": "Plan.DOCX",
    "/absolute.md": "absolute.md",
    "..\\..\\x.md": "x.md",
    "Großer Plan \U0001f339.md": "Großer Plan \U0001f339.md",
    "e\u0301te\u0301.txt": "été.txt",
    "%2e%2e%2fx.txt": "%2e%2e%2fx.txt",
    "file:///etc/passwd.txt": "passwd.txt",
}
CHANGED = {
    ".hidden.md": "hidden.md",
    "a\0b.txt": "a_b.txt",
    "line\nbreak.txt": "line_break.txt",
    "right\u202eto-left.txt": "right_to-left.txt",
    "CON.txt": "_CON.txt",
    "lpt1.notes.md": "_lpt1.notes.md",
    "  spaces   inside  .md": "spaces inside.md",
    '<img src=x onerror="a">.md': "_img src=x onerror=_a__.md",
    ".md": "document.md",
    "x.pdf. ": "x.pdf",
}


@pytest.mark.parametrize(("given", "name"), UNCHANGED.items(), ids=map(ascii, UNCHANGED))
def test_the_last_part_of_a_harmless_file_name_is_kept_as_it_is(given: str, name: str) -> None:
    assert safe_file_name(given) == name


@pytest.mark.parametrize(("given", "name"), CHANGED.items(), ids=map(ascii, CHANGED))
def test_a_changed_file_name_keeps_only_harmless_characters_and_gets_a_hash(given: str, name: str) -> None:
    stem, suffix = name.rsplit(".", 1)
    assert re.fullmatch(rf"{re.escape(stem)}-[0-9a-f]{{8}}\.{suffix}", safe_file_name(given))


@pytest.mark.parametrize(
    "names",
    [
        tuple(f"{'Annual report of the board ' * 6}-{year}.md" for year in (2023, 2024)),
        tuple("\U0001f339" * 80 + f"-{year}.md" for year in (2023, 2024)),
        ("a:b*c?.md", "a_b_c_.md", "a*b:c?.md"),
        ("..md", ".md", "document.md"),
        ("CON.txt", "_CON.txt", "con.txt"),
        ("a  b.md", "a b.md", " a b.md", "a b .md", "a b.md "),
        ("\ud800.md", "\udc00.md", "_.md"),
    ],
    ids=["long", "many bytes", "forbidden characters", "no stem", "reserved", "spaces", "surrogates"],
)
def test_different_file_names_never_become_one_name(names: tuple[str, ...]) -> None:
    assert len(set(map(safe_file_name, names))) == len(names)


def test_a_changed_file_name_does_not_depend_on_its_folder() -> None:
    assert safe_file_name("C:\\plans\\a*b.md") == safe_file_name("/home/ann/a*b.md") == safe_file_name("a*b.md")


@pytest.mark.parametrize("given", ["", "..", "/", "x", "x.exe", "x.pdf/", "x.html.bin", "\0"])
def test_unsupported_file_types_are_refused(given: str) -> None:
    with pytest.raises(UnsupportedUpload, match="not supported"):
        safe_file_name(given)


@given(st.text(max_size=400), st.sampled_from([".pdf", ".md", ".DOCX"]))
def test_every_sanitised_file_name_is_one_visible_path_component(stem: str, suffix: str) -> None:
    name = safe_file_name(f"{stem}{suffix}")
    assert name == unicodedata.normalize("NFC", name)
    assert not set(name) & set('/\\\0<>:"|?*\n\r\t')
    assert not name.startswith((".", " "))
    assert name.endswith(suffix)
    assert len(name) <= LONGEST_NAME
    assert len(name.encode()) <= 255
    assert Path(name).name == name
    assert safe_file_name(name) == name


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", b"%PDF-1.7\n"),
        ("a.pdf", b"junk before\n%PDF-1.4\n"),
        ("a.docx", b"PK\x03\x04rest"),
        ("a.xls", OLE),
        ("a.md", "Großer Plan".encode()),
        ("a.txt", "Großer Plan".encode("utf-16")),
        ("a.csv", "Spalte;Wert\n".encode("utf-16-le")),
        ("a.txt", b"gr\xfc\xdfe"),
        ("a.md", b""),
        ("a.doc", b"PK\x03\x04a newer one in truth"),
    ],
)
def test_an_uploaded_file_whose_content_matches_its_suffix_is_accepted(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    check_content(tmp_path / "file", name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", b"PK\x03\x04"),
        ("a.pdf", b"<html>"),
        ("a.docx", b"%PDF-1.7"),
        ("a.docx", OLE),
        ("a.doc", b"%PDF-1.7"),
        ("a.md", b"%PDF-1.7"),
        ("a.html", b"PK\x03\x04"),
        ("a.txt", b"\x7fELF\x02\x01\x01"),
        ("a.csv", b"\x89PNG\r\n"),
        ("a.txt", b"\0\0\0\0binary"),
    ],
)
def test_an_uploaded_file_whose_content_does_not_match_its_suffix_is_refused(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UnsupportedUpload, match="content is that of another file type"):
        check_content(tmp_path / "file", name)
