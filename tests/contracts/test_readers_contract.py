"""The contract of every reader: valid, ordered and reproducible offsets; and the expected content of real files."""

import json
import os
import re
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.parsing.parsed_document import ParsedDocument
from elt_llm_ingest.readers import SUPPORTED_SUFFIXES, create_reader, has_formats, readable_suffixes
from file_formats.further import FURTHER
from file_formats.samples import SAMPLES as PLAIN_SAMPLES
from hypothesis import given
from hypothesis import strategies as st
from sampling import sampled

# The formats of the extra `formats` are tested if the extra is installed.
FURTHER_SAMPLES = {suffix: make("A", "Words of a page.") for suffix, make in FURTHER.items()} if has_formats() else {}
SAMPLES = PLAIN_SAMPLES | FURTHER_SAMPLES
DATASETS = os.environ.get("ELT_LLM_DATASETS", "")
# The probes of these files quote the table of contents, which readers leave out on purpose as navigation.
NAVIGATION_PROBES = ("wiki_duck.html",)
# The expected number of pages (sheets and slides count as pages), and the page of the probe if it is not the first.
PAGES = {"xlsx_01.xlsx": 4, "xlsx_06_edge_cases_.xlsx": 3}
PAGES |= {"powerpoint_sample.pptx": 3, "fake-power-point-table.pptx": 1, "unit_test_headers_numbered.docx": 2}
PROBE_PAGES = {"xlsx_01.xlsx": 2, "unit_test_headers_numbered.docx": 2}
needs_datasets = pytest.mark.skipif(
    not Path(DATASETS or "nowhere").is_dir(), reason="needs real data: set ELT_LLM_DATASETS to its folder"
)


def _read(path: Path) -> ParsedDocument:
    reader = create_reader(path)
    assert reader is not None
    return reader.read(path)


def _read_or_reason(path: Path) -> ParsedDocument | str:
    try:
        return _read(path)
    except UnreadableDocument as refusal:
        return str(refusal)


def check_structure(document: ParsedDocument) -> None:
    """Check that pages, blocks and sections are ordered and inside the text, and that blocks contain all text."""
    length = len(document.text)
    assert document.title
    assert list(document.pages) == sorted(document.pages)
    assert not document.pages or document.pages[0] == 0
    assert all(0 <= page <= length for page in document.pages)
    for part in document.parts:
        check_structure(part.document)
    end = 0
    for block in document.blocks:
        assert end <= block.start < block.end <= length
        assert document.text[end : block.start].strip() == ""
        end = block.end
    assert document.text[end:].strip() == ""
    assert all(before.start < after.start for before, after in pairwise(document.sections))
    assert all(section.title and section.start < length for section in document.sections)
    assert "\r" not in document.text
    assert "\0" not in document.text
    document.text.encode()


@pytest.mark.parametrize("suffix", sorted(readable_suffixes() | SUPPORTED_SUFFIXES))
def test_every_supported_suffix_has_a_reader_with_name_and_version(suffix: str) -> None:
    reader = create_reader(Path(f"x{suffix.upper()}"))
    assert reader is not None
    assert reader.name
    assert reader.version >= 1


def test_no_reader_is_created_for_an_unknown_file_suffix() -> None:
    assert create_reader(Path("x.exe")) is None


@pytest.mark.parametrize("suffix", sorted(SAMPLES))
def test_every_reader_gives_a_valid_structure_and_the_same_result_for_the_same_bytes(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"sample{suffix}"
    path.write_bytes(SAMPLES[suffix])
    document = _read(path)
    check_structure(document)
    assert document.text.strip()
    assert _read(path) == document


@pytest.mark.parametrize("suffix", sorted(SAMPLES))
def test_a_llama_index_document_made_by_a_reader_has_the_parsed_structure(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"sample{suffix}"
    path.write_bytes(SAMPLES[suffix])
    reader = create_reader(path)
    assert reader is not None
    [loaded] = reader.load_data(path)
    document = reader.read(path)
    assert loaded.text == document.text
    assert loaded.metadata["title"] == document.title
    assert loaded.metadata["pages"] == list(document.pages)
    assert len(loaded.metadata["blocks"]) == len(document.blocks)


@pytest.mark.parametrize("suffix", sorted(SAMPLES))
def test_a_missing_file_is_reported_as_an_unreadable_document(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(UnreadableDocument, match="cannot be opened"):
        _read(tmp_path / f"missing{suffix}")


@pytest.mark.parametrize("suffix", sorted(SAMPLES))
def test_an_empty_file_is_read_as_an_empty_document_or_refused_with_a_reason(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"empty{suffix}"
    path.write_bytes(b"")
    read = _read_or_reason(path)
    assert read if isinstance(read, str) else read.text == ""


def _manifest() -> list[dict[str, Any]]:
    if not Path(DATASETS or "nowhere").is_dir():
        return []
    entries: list[dict[str, Any]] = json.loads((Path(DATASETS) / "docs" / "MANIFEST.json").read_text())
    return [entry for entry in entries if Path(entry["file"]).suffix in SUPPORTED_SUFFIXES]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


@pytest.mark.sampled(10)
@needs_datasets
@pytest.mark.parametrize("entry", _manifest(), ids=lambda entry: str(entry["file"]))
def test_a_real_file_is_read_with_the_content_that_its_manifest_lists(entry: dict[str, Any]) -> None:
    path = Path(DATASETS) / "docs" / entry["file"]
    outcome: str = entry["outcome"]
    document = _read_or_reason(path)
    if isinstance(document, str):
        assert "failed" in outcome
        assert "password" not in outcome or document == "is encrypted: a password is needed"
        return
    check_structure(document)
    assert outcome.startswith(("ok", "empty"))
    if outcome.startswith("empty"):
        assert document.text == ""
        assert document.notes == (
            ()
            if path.suffix == ".xlsx"
            else ("page 1 has no text layer; for OCR, set ingest.ocr: true and install tesseract-ocr",)
        )
        return
    assert len(document.pages) == (entry.get("pages", 0) if path.suffix == ".pdf" else PAGES.get(path.name, 0))
    if entry["file"] in NAVIGATION_PROBES:
        return
    # The probe is the beginning of another parser's text; readers may leave out a running header in it.
    wanted = _words(entry["probe"])
    assert len(wanted & _words(_page(document, PROBE_PAGES.get(path.name, 1)))) >= 0.75 * len(wanted)


def _page(document: ParsedDocument, number: int) -> str:
    """The text of a page, counted from 1; the whole text where there are no pages."""
    bounds = [*(document.pages or (0,)), len(document.text)]
    return document.text[bounds[number - 1] : bounds[number]]


@needs_datasets
def test_every_handbook_file_has_valid_structure() -> None:
    found = [path for path in sorted(Path(DATASETS).glob("handbooks/**/*")) if path.suffix in SUPPORTED_SUFFIXES]
    assert len(found) > 50
    for path in sampled(found, len(found) // 3):
        check_structure(_read(path))


@pytest.mark.skipif(not has_formats(), reason="needs the extra formats")
@pytest.mark.parametrize(("suffix", "content"), [(".bib", b"@\rr"), (".eml", b"Subject: A\n\nM\rs\n")])
def test_a_carriage_return_alone_becomes_a_line_end(suffix: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / f"file{suffix}").write_bytes(content)
    check_structure(_read(tmp_path / f"file{suffix}"))


@pytest.mark.sampled(20)
@pytest.mark.parametrize("suffix", sorted(SAMPLES))
@given(damage=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=30), end=st.integers(1, 2000))
def test_a_damaged_file_is_read_or_refused(suffix: str, damage: list[tuple[int, int]], end: int) -> None:
    data = bytearray(SAMPLES[suffix])
    for position, value in damage:
        data[position % len(data)] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"damaged{suffix}"
        path.write_bytes(data[:end])
        read = _read_or_reason(path)
    if isinstance(read, str):
        assert read
    else:
        check_structure(read)
