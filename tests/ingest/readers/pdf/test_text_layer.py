"""Right-to-left text is read in logical order, and a text layer without meaning is named instead of indexed."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from elt_llm_ingest.readers.pdf.reader import PdfReader
from elt_llm_ingest.readers.pdf.text_layer import is_meaningless

Shown = tuple[float, str]
WriteFontPdf = Callable[..., Path]
_WIDTH = 6.0
_ENGLISH = (
    "The quick brown fox jumps over the lazy dog and all of the other animals in the big forest watch him do it again."
)


def _to_unicode(meanings: Sequence[str]) -> str:
    rows = "".join(f"<{code:02X}> <{text.encode('utf-16-be').hex()}>\n" for code, text in enumerate(meanings, 33))
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Made def /CMapType 2 def "
        f"1 begincodespacerange <00> <FF> endcodespacerange {len(meanings)} beginbfchar\n{rows}endbfchar "
        "endcmap end end"
    )


def _font_objects(meanings: Sequence[str]) -> list[str]:
    widths = " ".join(["600"] * (len(meanings) + 1))
    cmap = _to_unicode(meanings)
    return [
        f"<</Type/Font/Subtype/Type1/BaseFont/Courier/FirstChar 32/LastChar {32 + len(meanings)}/Widths[{widths}]"
        "/ToUnicode 6 0 R/Encoding/WinAnsiEncoding>>",
        f"<</Length {len(cmap)}>>stream\n{cmap}\nendstream",
    ]


def _write(path: Path, content: str, fonts: Sequence[str]) -> Path:
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 1/Kids[3 0 R]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        *fonts,
    ]
    body, offsets = "%PDF-1.4\n", []
    for number, written in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{written}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    tail = f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF\n"
    path.write_text(f"{body}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{tail}", encoding="latin-1")
    return path


def _drawn_line(glyphs: Sequence[str], meanings: Sequence[str], height: float, drawn_from: str) -> str:
    """Draw a line of glyphs, each at its own position, from the left or right. `glyphs` are ordered from the left."""
    places = list(enumerate(glyphs))
    if drawn_from == "right":
        places.reverse()
    left = 550 - _WIDTH * len(glyphs)
    return "".join(
        f"1 0 0 1 {left + _WIDTH * place:.1f} {height} Tm <{33 + meanings.index(glyph):02X}> Tj "
        for place, glyph in places
        if glyph != " "
    )


def _write_lines(path: Path, lines: Sequence[Sequence[str]], drawn_from: str) -> Path:
    meanings = sorted({glyph for line in lines for glyph in line if glyph != " "})
    drawn = "".join(_drawn_line(line, meanings, 700 - 14 * number, drawn_from) for number, line in enumerate(lines))
    return _write(path, f"BT /F1 10 Tf {drawn} ET", _font_objects(meanings))


def _as_displayed(*logical: str) -> list[str]:
    """Return glyphs from left to right; each argument is one glyph or a word of single letters, in logical order."""
    return list(reversed(logical))


@pytest.mark.parametrize("drawn_from", ["left", "right"])
def test_an_arabic_line_is_read_in_logical_order_with_its_ligatures(tmp_path: Path, drawn_from: str) -> None:
    line = _as_displayed("لا", " ", *"يجوز", " ", *"حذف", " ", *"السج", "لا", "ت")
    document = PdfReader().read(_write_lines(tmp_path / "ar.pdf", [line], drawn_from))
    assert document.text == "لا يجوز حذف السجلات"


@pytest.mark.parametrize("drawn_from", ["left", "right"])
def test_numbers_and_latin_words_in_an_arabic_line_keep_their_direction(tmp_path: Path, drawn_from: str) -> None:
    # A bidirectional display puts the Latin words and each number from left to right.
    line = [*"2.5", " ", *")Data Owner(", " ", *"10", " ", *reversed("بعد موافقة الإدارة")]
    document = PdfReader().read(_write_lines(tmp_path / "mixed.pdf", [line], drawn_from))
    assert document.text == "بعد موافقة الإدارة 10 (Data Owner) 2.5"


@pytest.mark.parametrize(
    ("displayed", "logical"),
    [
        (["ISO 27001", " ", "رايعم"], "معيار ISO 27001"),
        (["01-05-2024", " ", "خيرات"], "تاريخ 2024-05-01"),
        (["10:30", " ", "ةعاسلا"], "الساعة 10:30"),
        (["2024-05-01", " ", "ךיראת"], "תאריך 2024-05-01"),
        (["3D", " ", "جذومن"], "نموذج 3D"),
        (["5%", " ", "רועיש"], "שיעור 5%"),
    ],
)
def test_numbers_dates_and_names_follow_the_bidirectional_algorithm(
    tmp_path: Path, displayed: list[str], logical: str
) -> None:
    # More letters than in the Latin words, so that the line counts as right to left.
    padding = logical.split(" ", 1)[0]
    line = [*"".join(displayed), " ", *padding[::-1], " ", *padding[::-1]]
    document = PdfReader().read(_write_lines(tmp_path / "bidi.pdf", [line], "left"))
    assert document.text == f"{padding} {padding} {logical}"


@pytest.mark.parametrize("drawn_from", ["left", "right"])
def test_a_hebrew_paragraph_of_two_lines_is_read_as_one_paragraph(tmp_path: Path, drawn_from: str) -> None:
    first = list(reversed("אין למחוק רשומות לפני שעברו עשר שנים ממועד"))
    second = list(reversed("הסגירה של התיק."))
    document = PdfReader().read(_write_lines(tmp_path / "he.pdf", [first, second], drawn_from))
    assert document.text == "אין למחוק רשומות לפני שעברו עשר שנים ממועד הסגירה של התיק."


def test_a_right_to_left_word_in_an_english_line_is_read_in_place(tmp_path: Path) -> None:
    line = [*"The term ", *reversed("بيانات"), *" means data"]
    document = PdfReader().read(_write_lines(tmp_path / "word.pdf", [line], "left"))
    assert document.text == "The term بيانات means data"


def test_an_arabic_vowel_mark_stays_with_its_letter(tmp_path: Path) -> None:
    meanings = ["ك", "\u064f", "ل"]
    # The mark is drawn above the letter kaf, which is right of lam.
    places = [(506.0, 0), (506.5, 1), (500.0, 2)]
    drawn = "".join(f"1 0 0 1 {left} 700 Tm <{33 + code:02X}> Tj " for left, code in places)
    path = _write(tmp_path / "mark.pdf", f"BT /F1 10 Tf {drawn} ET", _font_objects(meanings))
    assert PdfReader().read(path).text == "ك\u064fل"


def test_a_note_names_a_font_that_maps_its_letters_to_wrong_characters(tmp_path: Path) -> None:
    letters = sorted({letter for letter in _ENGLISH if letter != " "})
    shifted = [chr(ord(letter) - 29) if ord(letter) > 64 else "!" for letter in letters]
    codes = {letter: 33 + number for number, letter in enumerate(letters)} | {" ": 32}
    line = "".join(f"{codes[letter]:02X}" for letter in _ENGLISH)
    content = "BT /F1 5 Tf 14 TL 40 700 Td " + f"<{line}> Tj T* " * 4 + "ET"
    document = PdfReader().read(_write(tmp_path / "shift.pdf", content, _font_objects(shifted)))
    assert document.text == ""
    assert document.notes == (
        "page 1 has an unreadable text layer and is left out; for OCR, set ingest.ocr: true and install tesseract-ocr",
    )


def test_a_note_names_a_font_without_a_map_to_unicode(tmp_path: Path) -> None:
    line = "".join(f"{ord(letter) - 29:04X}" for letter in _ENGLISH)
    fonts = [
        "<</Type/Font/Subtype/Type0/BaseFont/ABCDEF+Made/Encoding/Identity-H/DescendantFonts[6 0 R]>>",
        "<</Type/Font/Subtype/CIDFontType2/BaseFont/ABCDEF+Made/DW 500/FontDescriptor 7 0 R"
        "/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>",
        "<</Type/FontDescriptor/FontName/ABCDEF+Made/Flags 4/FontBBox[0 0 1000 1000]/ItalicAngle 0/Ascent 800"
        "/Descent -200/StemV 80>>",
    ]
    content = f"BT /F1 5 Tf 40 700 Td <{line}> Tj ET"
    document = PdfReader().read(_write(tmp_path / "identity.pdf", content, fonts))
    assert document.text == ""
    assert document.notes == (
        "page 1 has an unreadable text layer and is left out; for OCR, set ingest.ocr: true and install tesseract-ocr",
    )


def test_a_font_with_unknown_glyph_names_but_plain_letters_is_read(tmp_path: Path) -> None:
    names = " ".join(f"{ord(letter)} /g{ord(letter)}" for letter in sorted(set(_ENGLISH)))
    widths = " ".join(["500"] * 91)
    fonts = [
        f"<</Type/Font/Subtype/Type1/BaseFont/ABCDEF+Made/Encoding<</Type/Encoding/Differences[{names}]>>"
        f"/FirstChar 32/LastChar 122/Widths[{widths}]/FontDescriptor 6 0 R>>",
        "<</Type/FontDescriptor/FontName/ABCDEF+Made/Flags 4/FontBBox[0 0 1000 1000]/ItalicAngle 0/Ascent 800"
        "/Descent -200/StemV 80>>",
    ]
    document = PdfReader().read(_write(tmp_path / "names.pdf", f"BT /F1 5 Tf 40 700 Td ({_ENGLISH}) Tj ET", fonts))
    assert document.text == _ENGLISH
    assert document.notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "Contents\n" + "\n".join(f"Section {number} ........................ {number * 7}" for number in range(12)),
        "\n".join(f"{number} {number * 37:06} {number * 91:08}" for number in range(40)),
        "Name ____________________ Datum ____________________ Unterschrift ____________________\n" * 6,
        "Jeder Spieler muss die Regeln kennen und darf das Feld nur mit Erlaubnis verlassen. " * 5,
        "Strč prst skrz krk, řekl pán, a všichni se smáli, protože to bylo velmi vtipné a pravdivé. " * 5,
        "所有数据必须在十年后删除。" * 30,
        "class Store:\n    def __init__(self, path: str) -> None:\n        self._path = path\n" * 8,
    ],
)
def test_tables_of_contents_forms_tables_code_and_other_languages_are_not_mistaken_for_meaningless_text(
    text: str,
) -> None:
    assert not is_meaningless(text)


@pytest.mark.parametrize(
    "text", ["".join(chr(ord(letter) - 29) for letter in _ENGLISH * 3 if letter != " "), "!\"#$ %&'( )*+, -/:; " * 20]
)
def test_words_without_vowels_and_rows_of_signs_are_recognised_as_meaningless_text(text: str) -> None:
    assert is_meaningless(text)
