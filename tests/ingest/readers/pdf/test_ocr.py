"""Scanned pages are noted if OCR is off, and are read by tesseract if OCR is on."""

from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pytest
from elt_llm_core.settings.tree import IngestSettings
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import ReaderOptions, create_reader
from elt_llm_ingest.readers.pdf.layout import HYPHEN_AT_LINE_END
from elt_llm_ingest.readers.pdf.reader import ocr_paragraphs
from elt_llm_ingest.readers.tesseract import installed_version
from elt_llm_ingest.sandbox.guards import ParseLimits
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.sandbox.pool import ParsePool
from malformed.seeds import one_page, pdf, stream

pytestmark = pytest.mark.halved


LINES = ("The keeper writes down every ship", "that passes, by name and hour.")


@pytest.fixture
def options() -> ReaderOptions:
    """Return options with OCR on. The test is skipped if tesseract is not installed."""
    chosen = ReaderOptions.of(IngestSettings(ocr=True))
    if not chosen.ocr_engine:
        pytest.skip("needs tesseract: apt-get install tesseract-ocr")
    return chosen


@pytest.fixture
def scan(tmp_path: Path) -> Iterator[Path]:
    """Write a PDF of two pages, the first of which is a picture of text, rotated by 90 degrees."""
    text = b" 0 -40 Td ".join(b"(%s) Tj" % line.encode() for line in LINES)
    source = pypdfium2.PdfDocument(pdf(one_page(stream(b"BT /F 28 Tf 60 700 Td " + text + b" ET"))))
    picture = source[0].render(scale=3, rotation=90)
    target = pypdfium2.PdfDocument.new()
    page = target.new_page(792, 612)
    image = pypdfium2.PdfImage.new(target)
    image.set_bitmap(picture)
    image.set_matrix(pypdfium2.PdfMatrix().scale(792, 612))
    page.insert_obj(image)
    page.gen_content()
    target.import_pages(source)
    path = tmp_path / "scan.pdf"
    target.save(path)
    yield path
    target.close()
    source.close()


def read(path: Path, options: ReaderOptions) -> ParsedDocument:
    with ParsePool(ParseLimits(), 1) as pool:
        return pool.read(ParseRequest(path, options=options))


def test_a_note_reports_a_scanned_page_if_ocr_is_off(scan: Path) -> None:
    document = read(scan, ReaderOptions())
    assert document.notes == ("page 1 has no text layer; for OCR, set ingest.ocr: true and install tesseract-ocr",)
    assert document.page_at(document.text.index("keeper")) == 2


@pytest.mark.sampled(2, "scanned pages")
def test_a_scanned_page_is_read_in_any_orientation(scan: Path, options: ReaderOptions) -> None:
    document = read(scan, options)
    assert document.notes == (f"page 1 was read by OCR ({options.ocr_engine}, eng)",)
    first, second = document.text[: document.pages[1]], document.text[document.pages[1] :]
    assert " ".join(first.split()) == " ".join(second.split()) == " ".join(LINES)


@pytest.mark.sampled(2, "scanned pages")
def test_reading_the_same_picture_twice_gives_the_same_document(scan: Path, options: ReaderOptions) -> None:
    assert read(scan, options) == read(scan, options)


def test_missing_tesseract_is_reported_with_the_package_to_install(scan: Path) -> None:
    (note,) = read(scan, ReaderOptions(ocr=True)).notes
    assert note == "page 1 has no text layer; tesseract is not installed (install tesseract-ocr)"


def test_a_missing_language_is_reported_with_the_package_to_install(scan: Path, options: ReaderOptions) -> None:
    missing = ReaderOptions(ocr=True, ocr_languages="eng+tlh", ocr_engine=options.ocr_engine)
    (note,) = read(scan, missing).notes
    assert note == "page 1 has no text layer; tesseract has no data for tlh (install tesseract-ocr-tlh)"


def test_a_note_reports_a_page_on_which_ocr_finds_no_text(tmp_path: Path, options: ReaderOptions) -> None:
    (tmp_path / "empty.pdf").write_bytes(pdf(one_page(stream(b"60 60 m 200 200 l S"))))
    document = read(tmp_path / "empty.pdf", options)
    assert document.text == ""
    assert document.notes == ("page 1 has no text layer; OCR found nothing",)


def test_the_ocr_options_are_part_of_the_reader_identity() -> None:
    def identity(options: ReaderOptions) -> str:
        reader = create_reader(Path("a.pdf"), options)
        assert reader is not None
        return reader.identity

    on = [ReaderOptions(ocr=True, ocr_languages=name, ocr_engine=engine) for name in ("eng", "deu") for engine in "xy"]
    assert len({identity(options) for options in (ReaderOptions(), *on)}) == 5


def test_tesseract_is_looked_up_only_if_ocr_is_switched_on() -> None:
    assert ReaderOptions.of(IngestSettings()) == ReaderOptions()
    assert ReaderOptions.of(IngestSettings(ocr=True)).ocr_engine == installed_version()


def table(*words: tuple[int, int, float, str]) -> str:
    """Return tesseract's table for words given as (paragraph, line, confidence, text)."""
    return "\n".join(
        "\t".join(map(str, (5, 1, 1, paragraph, line, 1, 0, 0, 9, 9, confidence, text)))
        for paragraph, line, confidence, text in words
    )


def test_words_recognised_by_ocr_are_joined_to_lines_and_lines_to_paragraphs() -> None:
    words = [(1, 1, 90.0, "The"), (1, 1, 91.0, "har-"), (1, 2, 95.0, "bour"), (2, 1, 90.0, "Next"), (3, 1, 9.0, "~|_")]
    assert [paragraph.text.replace(HYPHEN_AT_LINE_END, "") for paragraph in ocr_paragraphs(table(*words))] == [
        "The harbour",
        "Next",
    ]


def test_list_items_and_numbered_rules_recognised_by_ocr_start_new_paragraphs() -> None:
    found = ocr_paragraphs(
        table((1, 1, 90.0, "Take:"), (1, 2, 90.0, "• rope"), (1, 3, 90.0, "• tar"), (1, 4, 90.0, "too"))
    )
    assert [(paragraph.text, paragraph.kind) for paragraph in found] == [
        ("Take:", "prose"),
        ("• rope", "list"),
        ("• tar too", "list"),
    ]


@pytest.mark.sampled(2, "scanned pages")
def test_a_real_rotated_scan_is_read_by_ocr(datasets: Path, options: ReaderOptions) -> None:
    document = read(datasets / "docs" / "ocr_test_rotated_90.pdf", options)
    assert document.text.startswith("Docling bundles PDF document conversion to JSON and Markdown")
    assert document.page_at(0) == 1
