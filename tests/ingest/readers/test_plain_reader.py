"""The plain text reader detects charsets, line ends, pages and headings."""

from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_core.text.outline import Outline
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers.plain import PlainTextReader

GERMAN = "Der Schiedsrichter prüft die Größe des Balls. Die Spieler müssen höflich grüßen, auch wenn es stört.\n"


def _read(folder: Path, data: bytes) -> ParsedDocument:
    path = folder / "note.txt"
    path.write_bytes(data)
    return PlainTextReader().read(path)


@pytest.mark.parametrize(
    "charset", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"]
)
def test_a_text_file_gives_the_same_text_in_every_character_encoding(tmp_path: Path, charset: str) -> None:
    assert _read(tmp_path, GERMAN.encode(charset)).text == GERMAN


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("cp932", "審判はボールの大きさを確認する。選手は挨拶をする。"),
        ("cp1251", "Судья проверяет мяч и решает, кто начинает игру первым."),
    ],
)
def test_the_character_encodings_of_other_alphabets_are_detected(tmp_path: Path, charset: str, text: str) -> None:
    document = _read(tmp_path, (text * 5).encode(charset))
    assert document.text == text * 5
    assert "the charset is not declared" in document.notes[0]


def test_line_ends_are_normalised_and_byte_order_marks_removed(tmp_path: Path) -> None:
    assert _read(tmp_path, b"one\r\ntwo\rthree\n\x00".replace(b"\x00", b"\x07")).text == "one\ntwo\nthree\n"


def test_form_feeds_in_a_text_file_start_new_pages(tmp_path: Path) -> None:
    document = _read(tmp_path, b"first page\n\fsecond page\n\fthird page\n\f")
    assert [document.page_at(document.text.index(word)) for word in ("first", "second", "third")] == [1, 2, 3]
    assert _read(tmp_path, b"no page").pages == ()


def test_a_few_damaged_characters_are_replaced_with_a_note(tmp_path: Path) -> None:
    document = _read(tmp_path, (GERMAN * 5).encode() + "Grün ".encode() + b"\xff end")
    assert document.text.startswith(GERMAN)
    assert document.notes == ("1 damaged characters were replaced",)


def test_a_line_in_another_charset_does_not_change_the_other_lines(tmp_path: Path) -> None:
    lines = ["Grün hat 77 bar.", "Die zweite Pumpe heißt Öl.", "Blau ist größer."]
    first, second, third = lines
    document = _read(tmp_path, f"{first}\n".encode() + f"{second}\n".encode("cp1252") + third.encode())
    assert document.text.splitlines() == lines
    assert document.notes == ("line 2: not UTF-8, so the line is read as cp1252",)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="not text"):
        _read(tmp_path, b"\x7fELF\x02\x01\x01\0\0\0\0abc\0\0\0")


def test_underlined_lines_and_numbered_lines_of_a_text_file_are_headings(tmp_path: Path) -> None:
    source = "Handbook\n========\n\nWords.\n\nScope\n-----\nMore words.\n\n2.1 Terms\n\n2.1.1 A player is a person.\n"
    document = _read(tmp_path, source.encode())
    assert [(section.level, section.title) for section in document.sections] == [
        (1, "Handbook"),
        (2, "Scope"),
        (2, "2.1 Terms"),
    ]
    assert document.title == "Handbook"
    assert document.blocks[-1].kind == "rule"


@pytest.mark.parametrize("line", ["-----", "==========", "* * *", ".....", "---\n---", "###\n\n###\n\n###\n\n###"])
def test_a_line_that_consists_only_of_punctuation_is_not_a_heading(tmp_path: Path, line: str) -> None:
    document = _read(tmp_path, f"Above.\n\n{line}\n\nBelow.\n".encode())
    assert document.text == f"Above.\n\n{line}\n\nBelow.\n"
    assert document.sections == ()


def test_a_heading_between_two_lines_is_above_one_that_is_underlined_with_the_same_character(tmp_path: Path) -> None:
    line = "-" * 40
    chapters = [
        f"{line}\n{letter}.          {title}\n{line}\n\nWords.\n\n"
        for letter, title in (("A", "FLOOR   PLAN"), ("B", "ROOMS"))
    ]
    text = f"Contents\n--------\nA to B.\n\n{chapters[0]}Keys for the desk\n{line}\n\nTurn it.\n\n{chapters[1]}"
    document = _read(tmp_path, text.encode())
    assert Outline((), document.sections).section_at(text.index("Turn")) == "A. FLOOR PLAN > Keys for the desk"
    assert Outline((), document.sections).section_at(text.rindex("Words")) == "B. ROOMS"


def test_an_underlined_line_within_the_text_of_a_numbered_section_is_not_a_heading(tmp_path: Path) -> None:
    table = "      Phase / Explanation\n      -------------------\n      1 Request\n\n"
    text = f"The Book\n========\n\n1. Scope\n\n   Words.\n\n2. Terms\n\n{table}3. Annex\n\n   More.\n"
    document = _read(tmp_path, text.encode())
    assert [one.title for one in document.sections] == ["The Book", "1. Scope", "2. Terms", "3. Annex"]


def test_lines_in_capitals_above_indented_text_are_the_headings_of_a_manual_page(tmp_path: Path) -> None:
    page = b"LS(1)\n\nNAME\n       ls - list files\n\nOPTIONS\n       -a\n              all\n\nBUGS\n       Few.\n\n"
    document = _read(tmp_path, page + b"WARNING\n       Hot.\n")
    titles = ["NAME", "OPTIONS", "BUGS", "WARNING"]
    assert [(section.level, section.title) for section in document.sections] == [(2, title) for title in titles]
    assert _read(tmp_path, b"NAME\n       ls - list files\n\nBUGS\n       Few.\n").sections == ()
