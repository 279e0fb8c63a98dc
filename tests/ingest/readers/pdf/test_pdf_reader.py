"""The PDF reader finds paragraphs, headings and pages, and removes hyphens, headers and footers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.readers.pdf.layout import PdfLine
from elt_llm_ingest.readers.pdf.reader import (
    PdfReader,
    format_page_numbers,
    headings_by_outline,
    headings_by_typography,
    measure_typography,
)
from malformed.seeds import one_page, pdf, stream

WritePdf = Callable[..., Path]


def _lines(*texts: str, top: float = 700, left: float = 72, size: float = 12) -> list[tuple[float, float, float, str]]:
    return [(left, top - 14 * number, size, text) for number, text in enumerate(texts)]


def test_neighbouring_lines_of_a_pdf_page_are_joined_to_paragraphs(write_pdf: WritePdf) -> None:
    page = [
        *_lines("The first paragraph runs over more than one line of text", "and ends on the second of them."),
        *_lines("The second paragraph stands below a gap.", top=650),
    ]
    document = PdfReader().read(write_pdf([page]))
    assert document.text == (
        "The first paragraph runs over more than one line of text and ends on the second of them.\n\n"
        "The second paragraph stands below a gap."
    )


def test_a_word_hyphenated_at_a_line_end_is_joined_and_a_real_hyphen_is_kept(write_pdf: WritePdf) -> None:
    page = _lines(
        "A high level of service is what the whole committee of the appoint-",
        "ments board expects, and that makes it a matter that is rather high-",
        "level for everybody who was invited to the meeting of that board.",
    )
    text = PdfReader().read(write_pdf([page])).text
    assert "appointments" in text
    assert "high-level" in text


def test_repeated_page_headers_and_footers_are_removed(write_pdf: WritePdf) -> None:
    pages = [
        [
            (72, 770, 9, "Rules of the game"),
            *_lines(f"Only page {word} says {word}.", f"It says so in {word} words.", top=600),
            (300, 30, 9, f"Page {number} of 4"),
        ]
        for number, word in enumerate(("one", "two", "three", "four"), 1)
    ]
    document = PdfReader().read(write_pdf(pages))
    assert "Rules of the game" not in document.text
    assert "of 4" not in document.text
    assert [document.page_at(document.text.index(f"page {word}")) for word in ("one", "four")] == [1, 4]


def test_varying_page_footers_with_a_page_number_are_removed(write_pdf: WritePdf) -> None:
    names = ("Ball", "Goal", "Field", "Team", "Match", "Cup", "Coach")
    pages = [
        [*_lines(f"All there is to say of {name} stands here."), (300, 30, 9, f"On {name} {number}")]
        for number, name in enumerate(names, 11)
    ]
    text = PdfReader().read(write_pdf(pages)).text
    assert text.count("stands here") == len(names)
    assert "On Ball" not in text
    assert "17" not in text


def test_edge_lines_that_differ_in_numbers_other_than_the_page_number_are_kept(write_pdf: WritePdf) -> None:
    pages = [
        [
            (72, 780, 9, "Mill and Sons"),
            (72, 765, 9, f"Invoice 2026-{100 + number}"),
            *_lines(f"All goods were sent to {town}.", top=600),
            (72, 50, 9, f"Total: {total} euro"),
            (300, 30, 9, f"Page {number} of 4"),
        ]
        for number, (town, total) in enumerate({"Ulm": 57, "Halle": 170, "Kiel": 283, "Trier": 396}.items(), 1)
    ]
    text = PdfReader().read(write_pdf(pages)).text
    assert all(line in text for line in ("Invoice 2026-101", "Invoice 2026-104", "Total: 57 euro", "Total: 396 euro"))
    assert "Mill and Sons" not in text
    assert "of 4" not in text


def test_a_page_keeps_its_lines_if_all_look_like_headers_with_a_page_number(write_pdf: WritePdf) -> None:
    text = PdfReader().read(write_pdf([[(72, 700, 11, f"Step {number}")] for number in range(1, 5)])).text
    assert all(f"Step {number}" in text for number in range(1, 5))


def test_lines_in_a_larger_font_start_new_sections(write_pdf: WritePdf) -> None:
    page = [
        (72, 740, 24, "Handbook"),
        (72, 690, 16, "Scope"),
        *_lines("These are the words of the first section, which is short.", top=660),
        (72, 600, 16, "Terms"),
        *_lines("These are the words of the second section, and it is short too.", top=570),
    ]
    document = PdfReader().read(write_pdf([page]))
    assert document.title == "Handbook"
    assert [(section.level, section.title) for section in document.sections] == [
        (1, "Handbook"),
        (2, "Scope"),
        (2, "Terms"),
    ]
    assert document.section_path(document.text.index("second section")) == ("Handbook", "Terms")


def test_numbered_rules_and_list_items_of_a_pdf_page_stay_on_separate_lines(write_pdf: WritePdf) -> None:
    page = _lines(
        "12.1 The referee decides in every matter of the game.",
        "12.2 The captain may ask for a reason of the decision.",
        "- a first item of the list",
        "- a second item of the list",
    )
    document = PdfReader().read(write_pdf([page]))
    assert [block.kind for block in document.blocks] == ["rule", "rule", "list", "list"]
    assert document.text.count("\n") == 3


def test_a_sentence_that_continues_over_a_page_break_is_joined_and_both_pages_are_recorded(write_pdf: WritePdf) -> None:
    first = _lines("The sentence begins on the first page and it is to")
    document = PdfReader().read(write_pdf([first, _lines("end on the second one.")]))
    assert document.text == "The sentence begins on the first page and it is to end on the second one."
    assert document.page_at(document.text.index("end on")) == 2


def test_a_note_reports_blank_pages(write_pdf: WritePdf) -> None:
    words = _lines("Words.")
    document = PdfReader().read(write_pdf([words, [], words, [], [], [], words]))
    assert document.notes == ("pages 2, 4-6 are blank",)
    assert len(document.pages) == 7
    empty = PdfReader().read(write_pdf([[]]))
    assert (empty.text, empty.notes, empty.title) == ("", ("page 1 is blank",), "written")


def test_a_page_with_only_a_space_is_blank_and_one_with_a_drawing_has_no_text_layer(tmp_path: Path) -> None:
    def notes(content: bytes) -> tuple[str, ...]:
        (tmp_path / "page.pdf").write_bytes(pdf(one_page(stream(content))))
        return PdfReader().read(tmp_path / "page.pdf").notes

    assert notes(b"BT /F 12 Tf 60 700 Td ( ) Tj ET") == ("page 1 is blank",)
    assert notes(b"60 60 m 200 200 l S") == (
        "page 1 has no text layer; for OCR, set ingest.ocr: true and install tesseract-ocr",
    )


def test_the_page_numbers_of_a_span_are_formatted_as_ranges() -> None:
    assert format_page_numbers([3]) == "page 3"
    assert format_page_numbers([3, 7, 8, 9]) == "pages 3, 7-9"


def test_a_file_that_is_not_a_pdf_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "fake.pdf"
    path.write_bytes(b"this is no PDF at all")
    with pytest.raises(UnreadableDocument, match="not a PDF"):
        PdfReader().read(path)


def test_a_heading_that_the_pdf_outline_lists_can_have_two_lines() -> None:
    lines = [PdfLine("3.1 Relationships between"), PdfLine("Source Packages"), PdfLine("Words of the section.")]
    assert headings_by_outline(lines, [("Relationships between source packages", 2)]) == {0: 2, 1: 2}


def test_a_heading_in_a_narrow_column_has_all_its_lines() -> None:
    texts = ["Article 12. Transparent information,", "communication and", "modalities for the", "rights of persons"]
    words = ["The controller answers within a month, and states why.", "it may extend this time by two months."]

    def line(text: str, row: int, size: float) -> PdfLine:
        return PdfLine(text, 0, 200, -20.0 * row, 18 - 20.0 * row, size, bold=size > 10)

    lines = [line(text, row, 16.0) for row, text in enumerate(texts)]
    lines += [line(text, row, 10.0) for row, text in enumerate(words * 9, len(texts) + 1)]
    assert headings_by_typography(lines, measure_typography([lines])) == dict.fromkeys(range(4), 1)
    prose = [line(text, row, 16.0) for row, text in enumerate([*texts, *["of many more words"] * 9])]
    assert headings_by_typography(prose, measure_typography([lines])) == {}


def test_an_italic_title_above_upright_text_is_a_heading_and_italic_prose_is_not() -> None:
    def line(text: str, row: int, *, italic: bool = False) -> PdfLine:
        return PdfLine(text, 0, 300, -14.0 * row, 12 - 14.0 * row, 12.0, italic=italic)

    lines = [
        line("The nuts are described below.", 0),
        line("Boots Self-Locking Nut", 1, italic=True),
        line("The Boots self-locking nut is of one piece.", 2),
        line("as told in The Old Book", 3, italic=True),
        line("Quoted Words In A Poem", 4, italic=True),
        line("Second Line Of The Poem", 5, italic=True),
    ]
    assert headings_by_typography(lines, measure_typography([lines])) == {1: 1}


def test_the_italic_headings_of_a_real_handbook_are_sections(datasets: Path) -> None:
    document = PdfReader().read(datasets / "docs" / "amt_handbook_sample.pdf")
    assert [section.title for section in document.sections] == [
        "Boots Self-Locking Nut",
        "Stainless Steel Self-Locking Nut",
        "Elastic Stop Nut",
    ]


def test_filled_form_fields_and_text_boxes_of_a_pdf_page_are_read_after_its_text(write_pdf: WritePdf) -> None:
    states = "/AP<</N<</Paid<<>>/Off<<>>>>>>"
    annotations = [
        "/Subtype/Widget/FT/Tx/T(form.name)/V(Ada Lovelace)",
        "/Subtype/Widget/FT/Tx/T(f1)/TU(Date of birth:)/V(10 December)",
        "/Subtype/Widget/FT/Tx/T(empty)",
        "/Subtype/Widget/FT/Tx/Ff 8192/T(password)/V(secret)",
        "/Subtype/Widget/FT/Tx/F 2/T(hidden)/V(unseen)",
        "/Subtype/Widget/FT/Ch/Ff 131072/T(country)/V(no)/Opt[[(se)(Sweden)][(no)(Norway)]]",
        f"/Subtype/Widget/FT/Btn/T(fee)/V/Paid/AS/Paid{states}",
        f"/Subtype/Widget/FT/Btn/T(sent)/V/Off/AS/Off{states}",
        "/Subtype/FreeText/Contents(Received on 4 May)",
        "/Subtype/Text/Contents(A comment)",
    ]
    document = PdfReader().read(write_pdf([_lines("Application"), _lines("and more")], annotations))
    entries = "name: Ada Lovelace\nDate of birth: 10 December\ncountry: Norway\nfee: Paid\nReceived on 4 May"
    assert document.text == f"Application\n\n{entries}\n\nand more\n\n{entries}"
    assert document.page_at(document.text.index("Ada")) == 1


def test_a_form_that_only_adobe_reader_can_show_is_noted(write_pdf: WritePdf) -> None:
    path = write_pdf([_lines("Please wait...")], form="/XFA[(template)<<>>]")
    path.write_bytes(path.read_bytes().replace(b"/Catalog", b"/Catalog/NeedsRendering true", 1))
    assert PdfReader().read(path).notes == ("holds an XFA form, which is not read; print it to a PDF",)


def _raised(base: str, figure: str, after: str = "", top: float = 700) -> list[tuple[float, float, float, str]]:
    """A text with a smaller, raised number behind it; 6.672 is the width of a digit, 4.4 that of a raised one."""
    left = 72 + sum(3.336 if letter in " .,:" else 6.672 for letter in base)
    right = left + sum(2.67 if letter == "-" else 4.448 for letter in figure)
    return [(72, top, 12, base), (left, top + 5, 8, figure), *([(right, top, 12, after)] if after else [])]


def test_raised_numbers_after_a_number_of_a_pdf_page_are_exponents(write_pdf: WritePdf) -> None:
    page = [*_raised("2", "32", " words"), *_raised("1.5", "6", top=600), *_raised("10", "-3", " s", top=500)]
    assert PdfReader().read(write_pdf([page])).text.split("\n") == ["2^32 words", "1.5^6", "10^-3 s"]


def test_raised_numbers_of_notes_and_fractions_of_a_pdf_page_are_not_exponents(write_pdf: WritePdf) -> None:
    page = [
        *_raised("2019", "4", " ended", top=700),
        *_raised("1,200", "5", " fees", top=650),
        *_raised("3", "1", "/2 years", top=600),
        *_raised("40", "2", " fees", top=550),
        (72, 40, 8, "2 Forty in all."),
    ]
    first, note = PdfReader().read(write_pdf([page])).text.split("\n\n")
    assert (first, note) == ("2019 [4] ended 1,200 [5] fees 31/2 years 40 [2] fees", "2 Forty in all.")
